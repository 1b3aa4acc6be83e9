package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// Attribute is a name and a value by which a run can be found.
type Attribute struct{ Name, Value string }

// SortAttributes returns attributes in the form in which stores keep and return them: sorted
// by name and value, without duplicates, nil if there are none.
func SortAttributes(all []Attribute) []Attribute {
	if len(all) == 0 {
		return nil
	}
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Attribute) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value)) })
	return slices.Compact(all)
}

// DecodeAttributes decodes the attributes of a run as queries of the SQL stores return them: a
// JSON list of pairs, or nothing.
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

// checkAttributes returns an error if no store can keep the attributes.
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
