package lossy

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// Unreadable finds a field that JSON cannot read: a value of the type would come back without
// its data, or not at all. It returns "" if there is none.
func Unreadable(t reflect.Type) (field string, of reflect.Type) {
	for f := range fieldsOf(t) {
		if f.unreadable {
			return f.path, f.of
		}
	}
	return "", nil
}

// Lost lists the fields that are left out of JSON without an error: those that are not
// exported, and those with the tag `json:"-"`. Types that write or read themselves are taken
// to know what they do, and messages of Protocol Buffers to need no more than their exported
// fields.
func Lost(t reflect.Type) (fields []string) {
	for f := range fieldsOf(t) {
		if !f.unreadable && !slices.Contains(fields, f.path) {
			fields = append(fields, f.path)
		}
	}
	return fields
}

// field is one that does not come back.
type field struct {
	path       string
	of         reflect.Type
	unreadable bool // or left out
}

// fieldsOf yields the fields of a type, and of what it consists of, that do not come back.
func fieldsOf(t reflect.Type) func(yield func(field) bool) {
	return func(yield func(field) bool) {
		w := walk{yield: yield, seen: map[reflect.Type]bool{}}
		w.visit(t, "")
	}
}

type walk struct {
	yield func(field) bool
	seen  map[reflect.Type]bool
}

// visit reports whether to go on.
func (w *walk) visit(t reflect.Type, path string) bool {
	if w.seen[t] || t == nil || knowsItself(t) {
		return true
	}
	w.seen[t] = true
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Complex64, reflect.Complex128:
		return w.unreadable(t, path)
	case reflect.Interface:
		return t.NumMethod() == 0 || w.unreadable(t, path)
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return w.visit(t.Elem(), path)
	case reflect.Struct:
		for i := range t.NumField() {
			if !w.field(t.Field(i), path) {
				return false
			}
		}
	}
	return true
}

func (w *walk) unreadable(t reflect.Type, path string) bool {
	delete(w.seen, t) // its next field is one more
	if path == "" {
		path = "(it has none)"
	}
	return w.yield(field{path, t, true})
}

func (w *walk) field(f reflect.StructField, path string) bool {
	path = strings.TrimPrefix(path+"."+f.Name, ".")
	switch {
	case f.Name == "_":
		return true
	case f.Tag.Get("json") == "-", !f.IsExported() && !f.Anonymous:
		return w.yield(field{path, f.Type, false})
	}
	return w.visit(f.Type, path)
}

// knowsItself reports whether a type, or a pointer to it, has a method of its own by which JSON
// reads it, or is a message of Protocol Buffers.
func knowsItself(t reflect.Type) bool {
	for _, reader := range []reflect.Type{reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()} {
		if t.Implements(reader) || reflect.PointerTo(t).Implements(reader) {
			return true
		}
	}
	_, message := reflect.PointerTo(t).MethodByName("ProtoReflect")
	return message
}
