package retry

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/perdure/perdure/internal/errname"
	"github.com/perdure/perdure/internal/mark"
)

// Built-in type names. They cannot be registered for other errors.
const (
	// TypeError is the type of plain errors.New and fmt.Errorf values.
	TypeError = "Error"
	// TypeTimeout is the type of an attempt that ran too long.
	TypeTimeout = "Timeout"
	// TypeHeartbeatTimeout is the type of an attempt that was silent too long.
	TypeHeartbeatTimeout = "HeartbeatTimeout"
	// TypeQueueTimeout is the type of an attempt that waited too long to start.
	TypeQueueTimeout = "QueueTimeout"
	// TypePanic is the type of a *PanicError.
	TypePanic = "Panic"
	// TypeWorkerLost is the type of a *WorkerLostError.
	TypeWorkerLost = "WorkerLost"
	// TypeCanceled is the type of context.Canceled and of *AbortedError. It is
	// never retried.
	TypeCanceled = "Canceled"
	// TypeExhausted is the type of *ExhaustedError, when one call is made in
	// an attempt of another.
	TypeExhausted = "Exhausted"
	// TypeRefused is the type of a *RefusedError.
	TypeRefused = "Refused"
	// TypeDeadlineExceeded is the type of context.DeadlineExceeded: some
	// deadline other than the policy's own timeouts.
	TypeDeadlineExceeded = "DeadlineExceeded"
	// TypeUnknown is the type of an *UnknownError.
	TypeUnknown = "UnknownOutcome"
)

// TypeName returns the type name of one error, without looking at what it
// wraps:
//
//   - what its method ErrorType() string returns, if it has one and the result
//     is not empty; an empty result of an error that wraps something says that
//     it only adds text to that;
//   - else the name it is registered under (RegisterError, RegisterErrorType);
//   - else Error, for values of errors.New, fmt.Errorf and errors.Join;
//   - else its Go type without the star of a pointer, such as "fs.PathError".
//
// The marks Terminal, After, Unknown and NotDone have the name of the error they mark. The name
// of nil is empty. Classify gives the names of the whole tree.
func TypeName(err error) string {
	for isMark(err) {
		err = errors.Unwrap(err)
	}
	if err == nil {
		return ""
	}
	return cmp.Or(ownName(err), TypeError)
}

// isMark reports whether an error only marks the one that it wraps.
func isMark(err error) bool {
	switch err.(type) {
	case *mark.Terminal, *mark.After, *mark.Outcome:
		return true
	}
	return false
}

// ownName is TypeName, except that it is empty for errors that only add
// something to those they wrap.
func ownName(err error) string {
	if isMark(err) {
		return ""
	}
	if e, ok := err.(interface{ ErrorType() string }); ok {
		if name := e.ErrorType(); name != "" {
			return name
		}
		if wraps(err) {
			return ""
		}
	}
	if name, ok := errname.Of(err); ok {
		return name
	}
	t := reflect.TypeOf(err)
	switch t {
	case plainType:
		return TypeError
	case wrapType, wrapsType, joinType:
		return ""
	}
	return goTypeName(t)
}

// wraps reports whether there is an error below err.
func wraps(err error) bool {
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return e.Unwrap() != nil
	case interface{ Unwrap() []error }:
		return len(e.Unwrap()) > 0
	}
	return false
}

// The types behind errors.New (and fmt.Errorf without %w), fmt.Errorf with one
// and with several %w, and errors.Join. None of them is exported.
var (
	plainType = reflect.TypeOf(errors.New(""))
	wrapType  = reflect.TypeOf(fmt.Errorf("%w", errors.ErrUnsupported))
	wrapsType = reflect.TypeOf(fmt.Errorf("%w%w", errors.ErrUnsupported, errors.ErrUnsupported))
	joinType  = reflect.TypeOf(errors.Join(errors.ErrUnsupported))
)

// goTypeName is the type as Go prints it, without the star of a pointer.
func goTypeName(t reflect.Type) string {
	return strings.TrimLeft(t.String(), "*")
}
