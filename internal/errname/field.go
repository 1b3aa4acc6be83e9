package errname

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
)

// unreadable finds a field of a registered type that JSON cannot read: a value of
// the type would come back without its data. It returns "" if there is none.
func unreadable(t reflect.Type) (field string, of reflect.Type) {
	field, of = unreadableIn(t, "", map[reflect.Type]bool{})
	if of != nil && field == "" {
		field = "(it has none)"
	}
	return field, of
}

func unreadableIn(t reflect.Type, path string, seen map[reflect.Type]bool) (string, reflect.Type) {
	if seen[t] || readsItself(t) {
		return "", nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Complex64, reflect.Complex128:
		return path, t
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return path, t
		}
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return unreadableIn(t.Elem(), path, seen)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "-" || !f.IsExported() && !f.Anonymous {
				continue
			}
			if found, of := unreadableIn(f.Type, strings.TrimPrefix(path+"."+f.Name, "."), seen); of != nil {
				return found, of
			}
		}
	}
	return "", nil
}

// readsItself reports whether a type, or a pointer to it, has a method of its own
// by which JSON reads it.
func readsItself(t reflect.Type) bool {
	for _, reader := range []reflect.Type{reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()} {
		if t.Implements(reader) || reflect.PointerTo(t).Implements(reader) {
			return true
		}
	}
	return false
}
