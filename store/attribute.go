package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// Attribute is a name and a value that a run was given, to find it by.
type Attribute struct{ Name, Value string }

// SortAttributes returns attributes as a store keeps and returns them: by name and
// value, each once, nil if there are none.
func SortAttributes(all []Attribute) []Attribute {
	if len(all) == 0 {
		return nil
	}
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Attribute) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value)) })
	return slices.Compact(all)
}

// DecodeAttributes reads what a query of an SQL store makes of the attributes of a run:
// a JSON list of pairs, or nothing.
func DecodeAttributes(pairs []byte) ([]Attribute, error) {
	var list [][2]string
	if len(pairs) > 0 {
		if err := json.Unmarshal(pairs, &list); err != nil {
			return nil, fmt.Errorf("the attributes of a run cannot be read: %w", err)
		}
	}
	var all []Attribute
	for _, p := range list {
		all = append(all, Attribute{Name: p[0], Value: p[1]})
	}
	return SortAttributes(all), nil
}

// checkAttributes returns why no store would keep the attributes, or nil.
func checkAttributes(run string, all []Attribute) error {
	for _, a := range all {
		if a.Name == "" {
			return fmt.Errorf("run %q has an attribute without a name", run)
		}
		if err := text("attribute", a.Name, a.Value); err != nil {
			return err
		}
	}
	return nil
}
