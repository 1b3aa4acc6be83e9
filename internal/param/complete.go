package param

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"strings"
)

// Chooser is a struct that must have at least one of some fields, named as in JSON.
type Chooser interface {
	OneOf() (names []string, remedy string)
}

// Complete returns a *Wrong that names what a struct does not have and must have: the fields with
// the tag need, which says what to give, and one of those that it has to choose from.
func Complete(of any) error {
	v := reflect.Indirect(reflect.ValueOf(of))
	for _, f := range reflect.VisibleFields(v.Type()) {
		if need := f.Tag.Get("need"); need != "" && v.FieldByIndex(f.Index).IsZero() {
			return Bad(cmp.Or(strings.TrimPrefix(NameOf(f), "-"), f.Tag.Get("flag")), need, "is missing")
		}
	}
	c, ok := v.Interface().(Chooser)
	if !ok {
		return nil
	}
	names, remedy := c.OneOf()
	for _, name := range names {
		if Has(of, name) {
			return nil
		}
	}
	if last := len(names) - 1; last > 0 {
		return Bad(strings.Join(names[:last], ", ")+" or "+names[last], remedy, "is missing")
	}
	return nil
}

// Has reports whether a field of a struct, named as in JSON, is not zero.
func Has(of any, name string) bool {
	v := reflect.Indirect(reflect.ValueOf(of))
	for _, f := range reflect.VisibleFields(v.Type()) {
		if NameOf(f) == name {
			return !v.FieldByIndex(f.Index).IsZero()
		}
	}
	panic("param: a " + v.Type().String() + " has no field " + name)
}

// NameOf is the name of a field in JSON, empty if it has none.
func NameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// Strictly decodes JSON, which must not have other fields than a struct.
func Strictly(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}

// Over lays a value over another one, if it is given, and reports whether it is.
func Over[T any](given, over *T) bool {
	if given != nil {
		*over = *given
	}
	return given != nil
}
