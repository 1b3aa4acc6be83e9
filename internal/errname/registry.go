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
	"sync/atomic"
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

	// A rule that is written by value gives what it matches a name, until it is registered by
	// another one. Such rules are mostly package variables, which are made before any init function
	// registers a name, so the rule's name stays a second one.
	made    map[string]bool // names that nobody has registered
	second  map[any]string  // by sentinel and by reflect.Type
	seconds atomic.Bool     // there are some
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
		made:      map[string]bool{},
		second:    map[any]string{},
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
func Register(name string, sentinel error) { register("retry.RegisterError", name, sentinel, false) }

// Make gives a sentinel that has no name one for a rule, which Register may replace.
func Make(name string, sentinel error) { register("retry.On", name, sentinel, true) }

func register(by, name string, sentinel error, made bool) {
	by = fmt.Sprintf("%s(%q)", by, name)
	if sentinel == nil || !reflect.ValueOf(sentinel).Comparable() {
		panic(by + ": the sentinel is nil or cannot be compared; register a value made with errors.New.")
	}
	registry.mu.Lock()
	defer registry.mu.Unlock()
	other, has := registry.names[sentinel]
	if registry.claim(by, fmt.Sprintf("error %q", sentinel), sentinel, name, other, has, made) {
		registry.sentinels[name] = sentinel
		registry.names[sentinel] = name
	}
}

// RegisterType gives an error type a name; see retry.RegisterErrorType.
func RegisterType[T error](name string) { registerType[T]("retry.RegisterErrorType", name, false) }

// MakeType gives a type that has no name one for a rule, which RegisterType may replace.
func MakeType[T error](name string) { registerType[T]("retry.OnType", name, true) }

func registerType[T error](by, name string, made bool) {
	t := reflect.TypeFor[T]()
	by = fmt.Sprintf("%s[%s](%q)", by, t, name)
	if t.Kind() == reflect.Interface {
		panic(by + ": the type is an interface; register the concrete type.")
	}
	if field, of := lossy.Unreadable(t); field != "" {
		panic(fmt.Sprintf("%s: the field %s is of type %s, which cannot be read from JSON; give it the tag `json:\"-\"`, or the type its own MarshalJSON and UnmarshalJSON. What Unwrap returns is kept in any case.", by, field, of))
	}
	registry.mu.Lock()
	defer registry.mu.Unlock()
	other, has := registry.typeNames[t]
	if registry.claim(by, "type", t, name, other, has, made) {
		registry.types[name] = registeredType{goType: t, decode: decodeAs[T]}
		registry.typeNames[t] = name
	}
}

// claim reports whether a name is new for a sentinel or a type, which may have another one. It
// panics if it cannot have this one. The caller holds mu.
func (r *errorRegistry) claim(by, what string, thing any, name, other string, has, made bool) bool {
	if has && other == name {
		r.made[name] = r.made[name] && made
		return false
	}
	r.mustBeFree(by, name)
	if has && !r.made[other] {
		panic(fmt.Sprintf("%s: the %s already has the name %q; it has one name.", by, what, other))
	}
	if has {
		r.second[thing] = other
		r.seconds.Store(true)
	}
	r.made[name] = made
	return true
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

// Second returns the name that a rule gave err before it was registered, or its type.
func Second(err error) string {
	if !registry.seconds.Load() {
		return ""
	}
	registry.mu.RLock()
	defer registry.mu.RUnlock()
	t := reflect.TypeOf(err)
	if name := registry.second[t]; name != "" || t.Kind() != reflect.Pointer && !reflect.ValueOf(err).Comparable() {
		return name
	}
	return registry.second[err]
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
func (r *errorRegistry) mustBeFree(by, name string) {
	if builtin[name] {
		panic(by + ": the name is built in; choose another.")
	}
	if !isIdentifier(name) {
		panic(by + ": the name is not an identifier; use letters, digits, _ . and /, beginning with a letter or _.")
	}
	if sentinel, ok := r.sentinels[name]; ok {
		panic(fmt.Sprintf("%s: the name already means the error %q; choose another.", by, sentinel))
	}
	if t, ok := r.types[name]; ok {
		panic(fmt.Sprintf("%s: the name already means the type %s; choose another.", by, t.goType))
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
