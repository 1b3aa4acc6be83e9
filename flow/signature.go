package flow

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/flow/check"
)

// signature is which arguments an action takes, as far as its input type tells.
func signature(d activity.Definition) check.Action {
	t := d.InputType()
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case readsItself(t), t.Kind() == reflect.Interface, t.Kind() == reflect.Map:
		return check.Action{Open: true}
	case t.Kind() != reflect.Struct:
		return check.Action{Off: fmt.Sprintf("The activity takes a %s; a file gives named arguments, so its input has to be a struct or a map.", t)}
	}
	return check.Action{Parameters: parameters(t)}
}

// parameters are the fields of a struct as encoding/json names them.
func parameters(t reflect.Type) (out []check.Parameter) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case name == "-" && options == "":
		case f.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			out = append(out, parameters(inner)...)
		case f.IsExported():
			if name == "" {
				name = f.Name
			}
			optional := f.Type.Kind() == reflect.Pointer || strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
			out = append(out, check.Parameter{Name: name, Required: !optional, Kind: kind(f.Type, options)})
		}
	}
	return out
}

// readsItself reports whether a type has its own way to read JSON.
func readsItself(t reflect.Type) bool {
	for _, reader := range []reflect.Type{reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()} {
		if t.Implements(reader) || reflect.PointerTo(t).Implements(reader) {
			return true
		}
	}
	return false
}

// kind is which values encoding/json reads into a type, as far as that is one kind.
func kind(t reflect.Type, options string) check.Kind {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case readsItself(t) || strings.Contains(options, "string"):
		return ""
	case t.Kind() == reflect.String && t != reflect.TypeFor[json.Number]():
		return check.KindText
	case t.Kind() == reflect.Bool:
		return check.KindTruth
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Uintptr:
		return check.KindWhole
	case t.Kind() == reflect.Float32, t.Kind() == reflect.Float64:
		return check.KindNumber
	case (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && t.Elem().Kind() != reflect.Uint8:
		return check.KindList
	case t.Kind() == reflect.Map, t.Kind() == reflect.Struct:
		return check.KindDict
	}
	return ""
}
