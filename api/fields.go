package api

import (
	"cmp"
	"iter"
	"reflect"
	"strings"

	"github.com/perdure/perdure/internal/near"
)

// unknownField is the error for a field that a body of type t does not have, with the one that
// may be meant.
func unknownField(t reflect.Type, name string) error {
	if shape, found := shapes[t]; found {
		t = shape
	}
	next := cmp.Or(near.Hint(name, fieldNames(t)), "The document at /api/openapi.json has all.")
	return badRequest("the body has no field %q. %s", name, strings.TrimSuffix(next, "."))
}

// fieldNames are the names of the fields in a body, at any depth.
func fieldNames(t reflect.Type) iter.Seq[string] {
	return func(yield func(string) bool) {
		seen := map[reflect.Type]bool{}
		var walk func(t reflect.Type) bool
		walk = func(t reflect.Type) bool {
			for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
				t = t.Elem()
			}
			if t.Kind() != reflect.Struct || seen[t] {
				return true
			}
			seen[t] = true
			for f := range t.Fields() {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				if name != "" && name != "-" && !yield(name) || !walk(f.Type) {
					return false
				}
			}
			return true
		}
		walk(t)
	}
}
