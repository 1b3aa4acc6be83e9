package retry

import (
	"cmp"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/errname"
	"github.com/perdure/perdure/internal/mark"
)

// Failure is what Decide needs to know about an error. It is plain data: a
// durable runner can store it and judge it again later.
type Failure struct {
	// Types are the names of the error and of all it wraps, outermost first,
	// each once.
	Types []string

	// Canceled says that the error is a cancellation: it has the type
	// Canceled, or wraps one that has.
	Canceled bool

	// Terminal says that the error was marked with Terminal.
	Terminal bool

	// Timeout is the kind of timeout, empty if it is none.
	Timeout TimeoutKind

	// Asked says that the error asks for its own delay: until At or, if that
	// is the zero time, for the time After.
	Asked bool
	After time.Duration
	At    time.Time

	// Unknown says that the attempt may have had its effect (see IsUnknown), and NotDone that
	// an error says that it had none.
	Unknown, NotDone bool
}

// Type returns the name of the outermost error that has a name of its own, and Error if
// there is none.
func (f Failure) Type() string {
	if len(f.Types) > 0 {
		return f.Types[0]
	}
	return TypeError
}

// maxNodes bounds the walk over an error tree: an Unwrap method may return
// anything, its receiver included.
const maxNodes = 1000

// Classify returns what Decide needs to know about err. It looks at err and everything it
// wraps, joined errors included, outermost first. For nil it returns the zero Failure.
//
// Errors that only add text or a mark have no type: fmt.Errorf with %w, errors.Join,
// Terminal, After, Unknown and NotDone. So fmt.Errorf("charge: %w", declined) has the type of declined, and
// not the type Error in addition.
//
// A *TimeoutError hides the cancellation that it wraps: an error that a body returns
// because its timeout ended its context does not cancel the call. If a method of an error
// panics, Classify uses what it found before.
func Classify(err error) Failure {
	var w walk
	w.classify(err)
	if w.Types == nil && err != nil {
		w.Types = slices.Clone(w.types())
	}
	return w.Failure
}

// classify is Classify, but for the names of the types: see types.
func (w *walk) classify(err error) {
	w.left = maxNodes
	if err != nil {
		w.guarded(err)
		if w.found == 0 {
			w.add(TypeError)
		}
	}
	if !w.marked {
		w.Unknown = w.Timeout.leavesUnknown()
	}
}

// walk collects a Failure.
type walk struct {
	Failure
	left   int
	marked bool      // an error above says whether the attempt had its effect
	few    [4]string // the names of the types, while that is room enough: no allocation
	found  int       // how many there are
}

// types returns the names of the types.
func (w *walk) types() []string {
	if w.Types != nil {
		return w.Types
	}
	return w.few[:w.found]
}

// add adds the name of a type.
func (w *walk) add(name string) {
	switch {
	case slices.Contains(w.types(), name):
		return
	case w.found < len(w.few):
		w.few[w.found] = name
	case w.Types == nil:
		w.Types = append(append(make([]string, 0, 2*len(w.few)), w.few[:]...), name)
	default:
		w.Types = append(w.Types, name)
	}
	w.found++
}

// guarded is visit for errors whose methods may panic.
func (w *walk) guarded(err error) {
	defer func() { _ = recover() }()
	w.visit(err, false)
}

// visit takes in one error and then what it wraps. timedOut says that a
// TimeoutError was above.
func (w *walk) visit(err error, timedOut bool) {
	if err == nil || w.left == 0 {
		return
	}
	w.left--

	switch e := err.(type) {
	case *mark.Terminal:
		w.Terminal = true
	case *mark.After:
		if !w.Asked {
			w.Asked, w.After, w.At = true, e.Delay, e.At
		}
	case *mark.Outcome:
		if !w.marked {
			w.marked, w.Unknown, w.NotDone = true, e.Unknown, !e.Unknown
		}
	case *TimeoutError:
		w.Timeout, timedOut = cmp.Or(w.Timeout, e.Kind), true
	}
	if name := ownName(err); name != "" && !(timedOut && hiddenByTimeout(name)) {
		w.Canceled = w.Canceled || name == TypeCanceled
		w.add(name)
		ofSentinel, ofType := errname.Ruled(err)
		for _, name := range [...]string{ofSentinel, ofType} {
			if name != "" {
				w.add(name)
			}
		}
	}

	switch e := err.(type) {
	case interface{ Unwrap() error }:
		w.visit(e.Unwrap(), timedOut)
	case interface{ Unwrap() []error }:
		for _, child := range e.Unwrap() {
			w.visit(child, timedOut)
		}
	}
}

// hiddenByTimeout are the names of the errors that a context gives to a body
// whose time is up.
func hiddenByTimeout(name string) bool {
	return name == TypeCanceled || name == TypeDeadlineExceeded
}
