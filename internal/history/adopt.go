package history

import (
	"reflect"
)

// adopt puts wrapped errors back into a rebuilt value of a registered type: into its only
// exported field of type error or []error, which JSON omits. If the value would then wrap
// less than the original did, adopt leaves it unchanged.
func adopt(err error, causes []error) error {
	if len(causes) == 0 || carries(err, len(causes)) {
		return err
	}
	whole := reflect.New(reflect.TypeOf(err)).Elem()
	whole.Set(reflect.ValueOf(err))
	fields := whole
	if fields.Kind() == reflect.Pointer {
		fields = fields.Elem()
	}
	if fields.Kind() != reflect.Struct {
		return err
	}
	field, want := reflect.Value{}, reflect.ValueOf(causes)
	if len(causes) == 1 {
		field, want = only(fields, reflect.TypeFor[error]()), reflect.ValueOf(&causes[0]).Elem()
	}
	if !field.IsValid() {
		field, want = only(fields, reflect.TypeFor[[]error]()), reflect.ValueOf(causes)
	}
	if !field.IsValid() {
		return err
	}
	field.Set(want)
	if full := whole.Interface().(error); carries(full, len(causes)) {
		return full
	}
	field.SetZero()
	return err
}

// only returns the exported field of a type if there is exactly one.
func only(s reflect.Value, t reflect.Type) (found reflect.Value) {
	for i := range s.NumField() {
		if f := s.Type().Field(i); !f.IsExported() || f.Type != t {
			continue
		}
		if found.IsValid() {
			return reflect.Value{}
		}
		found = s.Field(i)
	}
	return found
}

// carries reports whether a rebuilt value wraps as much as the original did.
func carries(err error, causes int) (is bool) {
	defer func() {
		if recover() != nil { // its Unwrap fails on what JSON omitted
			is = false
		}
	}()
	n := 0
	for _, c := range unwrap(err) {
		if c != nil {
			n++
		}
	}
	return n == causes
}
