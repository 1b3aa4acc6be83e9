package api

import (
	"reflect"
	"strings"
)

// need is a field that a body has to have. It is declared by the tag need of the field, which
// says what to give; requests are held to it, and the OpenAPI document says it.
type need struct {
	field  string // as in JSON
	remedy string // what to give
}

// missing returns the error for a field that has to be given and is zero.
func (n need) missing() error { return badRequest("the %s is missing; %s", n.field, n.remedy) }

// chooser is a body that has to have at least one of some fields.
type chooser interface {
	oneOf() (fields []string, remedy string)
}

// needsOf returns the fields that a body of type t has to have.
func needsOf(t reflect.Type) (all []need) {
	for _, f := range reflect.VisibleFields(t) {
		if remedy := f.Tag.Get("need"); remedy != "" {
			all = append(all, need{jsonName(f), remedy})
		}
	}
	return all
}

// complete returns an error that names what a body does not have and has to have.
func complete(body any) error {
	for _, n := range needsOf(reflect.TypeOf(body)) {
		if !given(body, n.field) {
			return n.missing()
		}
	}
	c, ok := body.(chooser)
	if !ok {
		return nil
	}
	fields, remedy := c.oneOf()
	for _, field := range fields {
		if given(body, field) {
			return nil
		}
	}
	last := len(fields) - 1
	return badRequest("%s or %s is missing; %s", strings.Join(fields[:last], ", "), fields[last], remedy)
}

// given reports whether a field of a body is not zero.
func given(body any, field string) bool {
	v := reflect.ValueOf(body)
	for _, f := range reflect.VisibleFields(v.Type()) {
		if jsonName(f) == field {
			return !v.FieldByIndex(f.Index).IsZero()
		}
	}
	panic("api: a " + v.Type().String() + " has no field " + field)
}

// jsonName is the name of a field in JSON, empty if it has none.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
