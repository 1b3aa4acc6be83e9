package around

import "strings"

// String is the names of what there is, the outermost first.
func (a *Attempts) String() string {
	var names []string
	for _, m := range a.all {
		names = append(names, m.name)
	}
	return strings.Join(names, " ")
}
