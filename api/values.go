package api

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/view"
)

// span is a duration as text: "30s", "1h30m", "7d".
type span = param.Span

const (
	defaultWait = span(20 * time.Second)
	maxWait     = span(time.Minute)
)

// place is the place of an event in a history.
type place struct{ view.Place }

// UnmarshalText parses a place.
func (p *place) UnmarshalText(text []byte) error {
	if p.Place.UnmarshalText(text) != nil {
		return badRequest("%q is not the number of a turn or event; take next of the page before, or the number of a turn", text)
	}
	return nil
}

// attemptPlace is the place of an attempt among those of a run.
type attemptPlace struct{ view.AttemptPlace }

// UnmarshalText parses a place.
func (p *attemptPlace) UnmarshalText(text []byte) error {
	if p.AttemptPlace.UnmarshalText(text) != nil {
		return badRequest("%q is not the number of a step or attempt; take next of the page before, or the number of a call", text)
	}
	return nil
}

// params returns the fields of a query that are read from an address: those with a tag.
func params(t reflect.Type) (fields []reflect.StructField) {
	for _, f := range reflect.VisibleFields(t) {
		if f.Tag.Get("query") != "" {
			fields = append(fields, f)
		}
	}
	return fields
}

// decodeQuery decodes the parameters of an address into a struct.
func decodeQuery[Q any](r *http.Request) (query Q, err error) {
	err = decodeQueryInto(r, &query)
	return query, err
}

func decodeQueryInto(r *http.Request, query any) error {
	given, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	into, known := reflect.ValueOf(query).Elem(), []string{}
	for _, f := range params(into.Type()) {
		name := f.Tag.Get("query")
		known = append(known, name)
		if values, found := given[name]; found {
			if err := setParam(into.FieldByIndex(f.Index), name, values); err != nil {
				return err
			}
			delete(given, name)
		}
	}
	for name := range given {
		if len(known) == 0 {
			return badRequest("there is no parameter %q here; the address takes none", name)
		}
		return badRequest("there is no parameter %q; there are %s", name, strings.Join(known, ", "))
	}
	return nil
}

// setParam sets a field to the values of a parameter.
func setParam(field reflect.Value, name string, values []string) error {
	switch field.Interface().(type) {
	case []string:
		var all []string
		for _, v := range values {
			all = append(all, strings.Split(v, ",")...)
		}
		field.Set(reflect.ValueOf(slices.DeleteFunc(all, func(s string) bool { return s == "" })))
		return nil
	case param.Pairs:
		for _, v := range values {
			if err := field.Addr().Interface().(*param.Pairs).Add(v); err != nil {
				return err
			}
		}
		return nil
	}
	if len(values) > 1 {
		return badRequest("the parameter %q is given %d times; give it once", name, len(values))
	}
	text := values[0]
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	if u, ok := field.Addr().Interface().(interface{ UnmarshalText([]byte) error }); ok {
		return u.UnmarshalText([]byte(text))
	}
	var err error
	switch field.Kind() {
	case reflect.String:
		field.SetString(text)
	case reflect.Bool:
		var b bool
		b, err = strconv.ParseBool(text)
		field.SetBool(b)
	case reflect.Int, reflect.Int64:
		var n int64
		n, err = strconv.ParseInt(text, 10, 64)
		if n < 0 {
			err = strconv.ErrRange
		}
		field.SetInt(n)
	default:
		panic("api: the parameter " + name + " has a type without a form; give it one here")
	}
	if err != nil {
		return badRequest("%q is no value for %q, which is a %s", text, name, kindName(field.Kind()))
	}
	return nil
}

func kindName(k reflect.Kind) string {
	switch k {
	case reflect.Bool:
		return "truth value: true or false"
	case reflect.Int, reflect.Int64:
		return "number from 0"
	}
	return k.String()
}
