package history

import (
	"fmt"
	"maps"
	"slices"
)

// Limits of a run's attributes. Each attribute is a row with entries in two indexes.
const (
	MaxAttributes     = 16
	maxAttributeName  = 64  // bytes
	maxAttributeValue = 256 // bytes
)

// CheckAttributes returns an error if no run could be found by the attributes.
func CheckAttributes(all map[string]string) error {
	if len(all) > MaxAttributes {
		return &InputError{What: "attributes", Problem: fmt.Sprintf("are %d; the limit is %d", len(all), MaxAttributes)}
	}
	if len(all) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := CheckAttribute(name, all[name]); err != nil {
			return err
		}
	}
	return nil
}

// CheckAttribute returns an error if no run could be found by the attribute.
func CheckAttribute(name, value string) error {
	if err := CheckName("attribute name", name); err != nil {
		return err
	}
	switch space := Reserved(name); {
	case space != "":
		return &InputError{What: "attribute name", Problem: fmt.Sprintf("begins with %q: such names are reserved; choose another one", space)}
	case len(name) > maxAttributeName:
		return &InputError{What: fmt.Sprintf("attribute name %q", name), Problem: fmt.Sprintf("is %d bytes long; the limit is %d", len(name), maxAttributeName)}
	case len(value) > maxAttributeValue:
		return &InputError{What: fmt.Sprintf("attribute %q", name), Problem: fmt.Sprintf("has a value of %d bytes; the limit is %d", len(value), maxAttributeValue)}
	case value == "":
		return nil
	}
	return CheckID(fmt.Sprintf("value of attribute %q", name), value)
}
