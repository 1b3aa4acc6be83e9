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
	names     map[any]string // of sentinels and, by reflect.Type, of types
	sentinels map[string]error
	types     map[string]registeredType

	// A rule that is written by value holds the name that its error has then, or one that is made
	// for it. Such rules are mostly package variables, which are made before any init function
	// registers names. So a made name may be replaced, and the error also goes by that of the rule.
	made    map[string]bool // names that nobody has registered
	ruled   map[any]string  // names in rules, as in names
	isRuled atomic.Bool     // there are some
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
		names:     map[any]string{},
		sentinels: map[string]error{},
		types:     map[string]registeredType{},
		made:      map[string]bool{},
		ruled:     map[any]string{},
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
func Make(name string, sentinel error) {
	register("retry.On", name, sentinel, true)
	registry.rule(sentinel, name)
}

func register(by, name string, sentinel error, made bool) {
	by = fmt.Sprintf("%s(%q)", by, name)
	if sentinel == nil || !reflect.ValueOf(sentinel).Comparable() {
		panic(by + ": the sentinel is nil or cannot be compared; register a value made with errors.New.")
	}
	if fault := registry.claim(sentinel, name, made, func() { registry.sentinels[name] = sentinel }); fault != nil {
		panic(by + ": " + fault())
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
	enter := func() { registry.types[name] = registeredType{goType: t, decode: decodeAs[T]} }
	if fault := registry.claim(t, name, made, enter); fault != nil {
		panic(by + ": " + fault())
	}
}

// claim gives a sentinel or a type a name, and enters it, unless it has that already. It returns what
// is wrong if it cannot have it: as a function, because the text of an error may ask for names.
func (r *errorRegistry) claim(thing any, name string, made bool, enter func()) (fault func() string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	other, has := r.names[thing]
	if has && other == name {
		r.made[name] = r.made[name] && made
		return nil
	}
	if fault := r.taken(name); fault != nil {
		return fault
	}
	if has && !r.made[other] {
		return func() string {
			what := "type"
			if sentinel, is := thing.(error); is {
				what = fmt.Sprintf("error %q", sentinel)
			}
			return fmt.Sprintf("the %s already has the name %q; it has one name.", what, other)
		}
	}
	r.names[thing], r.made[name] = name, made
	enter()
	return nil
}

// RuleType notes that a rule holds for a type by a name.
func RuleType(t reflect.Type, name string) { registry.rule(t, name) }

func (r *errorRegistry) rule(thing any, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ruled[thing] = name
	r.isRuled.Store(true)
}

// Ruled returns the names by which rules hold for err itself and for its type, empty if none does.
func Ruled(err error) (ofSentinel, ofType string) {
	if !registry.isRuled.Load() {
		return "", ""
	}
	registry.mu.RLock()
	defer registry.mu.RUnlock()
	if isKey(err) {
		ofSentinel = registry.ruled[err]
	}
	return ofSentinel, registry.ruled[reflect.TypeOf(err)]
}

// isKey reports whether an error can be looked up in a map without a panic.
func isKey(err error) bool {
	return err != nil && (reflect.TypeOf(err).Kind() == reflect.Pointer || reflect.ValueOf(err).Comparable())
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
	if !isKey(err) {
		return "", false
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
	name, ok = registry.names[t]
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

// taken returns why a name cannot be given, nil if it can. The caller holds mu.
func (r *errorRegistry) taken(name string) (fault func() string) {
	sentinel, isSentinel := r.sentinels[name]
	t, isType := r.types[name]
	switch {
	case builtin[name]:
		return func() string { return "the name is built in; choose another." }
	case !isIdentifier(name):
		return func() string {
			return "the name is not an identifier; use letters, digits, _ . and /, beginning with a letter or _."
		}
	case isSentinel:
		return func() string { return fmt.Sprintf("the name already means the error %q; choose another.", sentinel) }
	case isType:
		return func() string { return fmt.Sprintf("the name already means the type %s; choose another.", t.goType) }
	}
	return nil
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
