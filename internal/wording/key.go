package wording

import "fmt"

// Key describes the key of a run.
func Key(name string, weight int) string {
	switch {
	case name == "":
		return "(none)"
	case weight > 1:
		return fmt.Sprintf("%s, weight %d", name, weight)
	}
	return name
}

// OfKey says to which run key alone something belongs; "" if the key is empty.
func OfKey(key string) string {
	if key == "" {
		return ""
	}
	return " for key " + key
}
