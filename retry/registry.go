package retry

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"sync"
	"unicode"
)

// registry is the process-global table of error names.
var registry = newErrorRegistry()

// errorRegistry maps names to sentinel errors and error types, and back. A name
// means one of the two. It is safe for concurrent use.
type errorRegistry struct {
	mu        sync.RWMutex
	sentinels map[string]error
	names     map[error]string // of sentinels
	types     map[string]registeredType
	typeNames map[reflect.Type]string
}

// registeredType is a concrete error type and how to make a value of it.
type registeredType struct {
	goType reflect.Type
	decode func(data []byte) (error, error)
}

// newErrorRegistry returns a table with the sentinels of the standard library
// that are worth a rule.
func newErrorRegistry() *errorRegistry {
	r := &errorRegistry{
		sentinels: map[string]error{},
		names:     map[error]string{},
		types:     map[string]registeredType{},
		typeNames: map[reflect.Type]string{},
	}
	for name, err := range map[string]error{
		TypeCanceled:         context.Canceled,
		TypeDeadlineExceeded: context.DeadlineExceeded,
		"EOF":                io.EOF,
		"UnexpectedEOF":      io.ErrUnexpectedEOF,
		"NotExist":           fs.ErrNotExist,
		"Exist":              fs.ErrExist,
		"Permission":         fs.ErrPermission,
	} {
		r.sentinels[name] = err
		r.names[err] = name
	}
	return r
}

// RegisterError gives a sentinel error, such as io.EOF, a name. Rules can then
// be written for it, and the durable engine gives workflows the identical value
// back, so that errors.Is and == hold after a restart.
//
// Register in an init function or a package variable, in every process that
// may see the error. Like gob.Register it panics on a mistake of the program: a
// nil or incomparable sentinel, a name that is built in or not an identifier
// (letters, digits, "_", "." and "/", not beginning with a digit), a name or a
// sentinel that is registered otherwise already. Registering the same pair
// again does nothing.
func RegisterError(name string, sentinel error) {
	if sentinel == nil || !reflect.ValueOf(sentinel).Comparable() {
		panic(fmt.Sprintf("retry.RegisterError(%q): the sentinel is nil or cannot be compared; register a value made with errors.New.", name))
	}
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if registry.sentinels[name] == sentinel {
		return
	}
	registry.mustBeFree("RegisterError", name)
	if other, ok := registry.names[sentinel]; ok {
		panic(fmt.Sprintf("retry.RegisterError(%q): the error %q already has the name %q; an error has one name.", name, sentinel, other))
	}
	registry.sentinels[name] = sentinel
	registry.names[sentinel] = name
}

// RegisterErrorType gives a concrete error type a name; T may be a pointer or a
// value type. Rules can then be written for it, and the durable engine gives
// workflows values of this type back, so that errors.As holds after a restart.
// For that, values travel as JSON. The text, and what Unwrap returns, travel beside
// it and are kept whatever the fields are; so:
//
//   - Fields that are not exported are lost; the text stays even if it was made of
//     them. A type that needs them has its own MarshalJSON and UnmarshalJSON.
//   - A field of type error (or []error) that Unwrap returns has the tag `json:"-"`.
//     If it is the only one of its kind it is filled in again.
//   - T and *T are two types.
//   - A method ErrorType decides what the error is called, in rules and in the
//     ledger; the name given here only says how it is read.
//
// It panics as RegisterError does, for an interface type, and for a type with a
// field that JSON cannot read (an interface with methods, a channel, a function)
// unless it has an UnmarshalJSON of its own.
func RegisterErrorType[T error](name string) {
	t := reflect.TypeFor[T]()
	if t.Kind() == reflect.Interface {
		panic(fmt.Sprintf("retry.RegisterErrorType[%s](%q): the type is an interface; register the concrete type.", t, name))
	}
	if field, of := unreadable(t); field != "" {
		panic(fmt.Sprintf("retry.RegisterErrorType[%s](%q): the field %s is of type %s, which cannot be read from JSON; give it the tag `json:\"-\"`, or the type its own MarshalJSON and UnmarshalJSON. What Unwrap returns is kept in any case.", t, name, field, of))
	}
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if have, ok := registry.types[name]; ok && have.goType == t {
		return
	}
	registry.mustBeFree("RegisterErrorType", name)
	if other, ok := registry.typeNames[t]; ok {
		panic(fmt.Sprintf("retry.RegisterErrorType[%s](%q): the type already has the name %q; a type has one name.", t, name, other))
	}
	registry.types[name] = registeredType{goType: t, decode: decodeAs[T]}
	registry.typeNames[t] = name
}

// SentinelName returns the name that err itself, not what it wraps, is
// registered under as a sentinel.
func SentinelName(err error) (name string, ok bool) { return registry.sentinelName(err) }

// SentinelByName returns the sentinel registered under the name.
func SentinelByName(name string) (sentinel error, ok bool) {
	registry.mu.RLock()
	defer registry.mu.RUnlock()
	sentinel, ok = registry.sentinels[name]
	return sentinel, ok
}

// RegisteredTypeName returns the name that err's own type, not that of what it
// wraps, is registered under.
func RegisteredTypeName(err error) (name string, ok bool) { return registry.typeName(err) }

// DecodeRegistered makes an error of the type registered under the name from
// the JSON of a value of that type. It fails if the name is not a registered
// type's or the JSON does not fit the type.
func DecodeRegistered(name string, data []byte) (value error, err error) {
	registry.mu.RLock()
	t, ok := registry.types[name]
	registry.mu.RUnlock()
	if !ok {
		return nil, fmt.Errorf("no error type is registered under the name %q in this process; call retry.RegisterErrorType", name)
	}
	value, err = t.decode(data)
	if err != nil {
		return nil, fmt.Errorf("the error type %s, registered as %q, cannot be read from JSON: %w", t.goType, name, err)
	}
	return value, nil
}

// decodeAs reads JSON into a new T.
func decodeAs[T error](data []byte) (error, error) {
	var value T
	if err := json.Unmarshal(data, &value); err != nil {
		return nil, err
	}
	if v := reflect.ValueOf(value); v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, fmt.Errorf("null is no value")
	}
	return value, nil
}

// known reports whether the name is built in or registered.
func (r *errorRegistry) known(name string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if builtin[name] || r.sentinels[name] != nil {
		return true
	}
	_, ok := r.types[name]
	return ok
}

// nameOf returns the name of err itself or else of its type.
func (r *errorRegistry) nameOf(err error) (string, bool) {
	if name, ok := r.sentinelName(err); ok {
		return name, true
	}
	return r.typeName(err)
}

func (r *errorRegistry) sentinelName(err error) (string, bool) {
	if err == nil || !reflect.ValueOf(err).Comparable() {
		return "", false // an incomparable map key would panic
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	name, ok := r.names[err]
	return name, ok
}

func (r *errorRegistry) typeName(err error) (string, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	name, ok := r.typeNames[reflect.TypeOf(err)]
	return name, ok
}

// mustBeFree panics unless the name may be registered. The caller holds mu.
func (r *errorRegistry) mustBeFree(function, name string) {
	if builtin[name] {
		panic(fmt.Sprintf("retry.%s(%q): the name is built in; choose another.", function, name))
	}
	if !isIdentifier(name) {
		panic(fmt.Sprintf("retry.%s(%q): the name is not an identifier; use letters, digits, _ . and /, beginning with a letter or _.", function, name))
	}
	if sentinel, ok := r.sentinels[name]; ok {
		panic(fmt.Sprintf("retry.%s(%q): the name already means the error %q; choose another.", function, name, sentinel))
	}
	if t, ok := r.types[name]; ok {
		panic(fmt.Sprintf("retry.%s(%q): the name already means the type %s; choose another.", function, name, t.goType))
	}
}

// isIdentifier reports whether the name can be written in a rule without
// quotes.
func isIdentifier(name string) bool {
	for i, c := range name {
		switch {
		case c == '_', unicode.IsLetter(c):
		case i > 0 && (c == '.' || c == '/' || unicode.IsDigit(c)):
		default:
			return false
		}
	}
	return name != ""
}
