package param

import (
	"cmp"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// Queried returns the parameters that an address can have: the fields with the tag query.
func Queried(t reflect.Type) (all []Param) {
	for _, f := range reflect.VisibleFields(t) {
		if name := f.Tag.Get("query"); name != "" {
			all = append(all, Param{Name: name, Help: cmp.Or(f.Tag.Get("doc"), f.Tag.Get("help")), field: f})
		}
	}
	return all
}

// ReadQuery reads parameters of an address into a struct. Those that are empty are not given, and
// those that it has no field for are left alone.
func ReadQuery(into any, given url.Values) error {
	for _, p := range Queried(reflect.TypeOf(into).Elem()) {
		values := slices.DeleteFunc(slices.Clone(given[p.Name]), func(text string) bool { return text == "" })
		_, pairs := p.value(into).Interface().(Pairs)
		switch _, list := p.value(into).Interface().([]string); {
		case list && len(values) > 0:
			values = []string{strings.Join(values, ",")}
		case len(values) > 1 && !pairs:
			return Bad(p.Name, "give it once", "is given %d times", len(values))
		}
		for _, text := range values {
			if err := p.Set(into, text); err != nil {
				return err
			}
		}
		if v := reflect.Indirect(p.value(into)); len(values) > 0 && p.Number() && v.CanInt() && v.Int() < 0 {
			return p.wrong(values[0], "a number from 0")
		}
	}
	return nil
}

// Query returns what a struct has, as the parameters of an address: a time as it was written.
func Query(of any) url.Values {
	v := url.Values{}
	for _, p := range Queried(reflect.TypeOf(of).Elem()) {
		if !p.Given(of) {
			continue
		}
		switch value := p.value(of).Interface().(type) {
		case []string:
			v[p.Name] = value
		case Pairs:
			v[p.Name] = strings.Split(value.String(), "\n")
		case Moment:
			v.Set(p.Name, value.Written)
		default:
			v.Set(p.Name, p.Text(of))
		}
	}
	return v
}
