package errname

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"sync"
	"unicode"

	"github.com/perdure/perdure/internal/lossy"
)

// builtin are the type names of package retry's own errors, which it exports as
// constants, and those of its kinds of failures.
var builtin = map[string]bool{
	"Error": true, "Timeout": true, "HeartbeatTimeout": true, "QueueTimeout": true, "Panic": true, "WorkerLost": true,
	canceled: true, "Exhausted": true, "Refused": true, deadlineExceeded: true, "UnknownOutcome": true,
}

const (
	canceled         = "Canceled"
	deadlineExceeded = "DeadlineExceeded"
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
		canceled:         context.Canceled,
		deadlineExceeded: context.DeadlineExceeded,
		"EOF":            io.EOF,
		"UnexpectedEOF":  io.ErrUnexpectedEOF,
		"NotExist":       fs.ErrNotExist,
		"Exist":          fs.ErrExist,
		"Permission":     fs.ErrPermission,
	} {
		r.sentinels[name] = err
		r.names[err] = name
	}
	return r
}

// Register gives a sentinel a name; see retry.RegisterError.
func Register(name string, sentinel error) {
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

// RegisterType gives an error type a name; see retry.RegisterErrorType.
func RegisterType[T error](name string) {
	t := reflect.TypeFor[T]()
	if t.Kind() == reflect.Interface {
		panic(fmt.Sprintf("retry.RegisterErrorType[%s](%q): the type is an interface; register the concrete type.", t, name))
	}
	if field, of := lossy.Unreadable(t); field != "" {
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

// Of returns the name of err itself, not that of what it wraps: as a sentinel or
// else by its type.
func Of(err error) (name string, ok bool) {
	if name, ok := OfSentinel(err); ok {
		return name, true
	}
	return OfType(err)
}

// OfSentinel returns the name under which err itself is registered.
func OfSentinel(err error) (name string, ok bool) {
	if err == nil || reflect.TypeOf(err).Kind() != reflect.Pointer && !reflect.ValueOf(err).Comparable() {
		return "", false // a map key that cannot be compared would panic
	}
	registry.mu.RLock()
	defer registry.mu.RUnlock()
	name, ok = registry.names[err]
	return name, ok
}

// OfType returns the name under which the type of err is registered.
func OfType(err error) (name string, ok bool) { return OfGoType(reflect.TypeOf(err)) }

// OfGoType returns the name under which a type is registered.
func OfGoType(t reflect.Type) (name string, ok bool) {
	registry.mu.RLock()
	defer registry.mu.RUnlock()
	name, ok = registry.typeNames[t]
	return name, ok
}

// Sentinel returns the sentinel of a name.
func Sentinel(name string) (sentinel error, ok bool) {
	registry.mu.RLock()
	defer registry.mu.RUnlock()
	sentinel, ok = registry.sentinels[name]
	return sentinel, ok
}

// All returns the names that are built in or registered.
func All() []string {
	registry.mu.RLock()
	defer registry.mu.RUnlock()
	return slices.Concat(slices.Collect(maps.Keys(builtin)), slices.Collect(maps.Keys(registry.sentinels)), slices.Collect(maps.Keys(registry.types)))
}

// Known reports whether a name is built in or registered.
func Known(name string) bool {
	registry.mu.RLock()
	defer registry.mu.RUnlock()
	return builtin[name] || registry.sentinels[name] != nil || registry.types[name].goType != nil
}

// Decode reads the JSON of a value of the type with that name. It fails if no
// type has the name or the JSON does not fit. A panic of its UnmarshalJSON is an error
// as well: errors are rebuilt where no code of users is expected to run.
func Decode(name string, data []byte) (value error, err error) {
	registry.mu.RLock()
	t, ok := registry.types[name]
	registry.mu.RUnlock()
	if !ok {
		return nil, fmt.Errorf("no error type is registered under the name %q in this process; call retry.RegisterErrorType", name)
	}
	defer func() {
		if v := recover(); v != nil {
			value, err = nil, fmt.Errorf("the error type %s, registered as %q, cannot be read from JSON: panic: %v", t.goType, name, v)
		}
	}()
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
