package retry

import (
	"fmt"
	"runtime/debug"
)

// maxStack bounds the stack kept with a panic, in bytes; what is cut off is the
// far end, which is the runner's.
const maxStack = 16 << 10

// PanicError is the failure of an attempt that panicked. The fields are
// exported so that a codec can rebuild it.
type PanicError struct {
	// Value is the text of the value that the attempt panicked with.
	Value string

	// Stack is the stack of the panic as runtime/debug.Stack prints it, up to
	// 16 KiB.
	Stack string

	// Err is the value itself if it is an error, nil otherwise.
	Err error
}

// NewPanicError makes the error for a value that recover returned. Call it from
// the deferred function itself, so that the stack is that of the panic.
func NewPanicError(value any) *PanicError {
	stack := debug.Stack()
	// fmt survives a String or Error method that panics itself.
	e := &PanicError{Value: fmt.Sprint(value), Stack: string(stack[:min(len(stack), maxStack)])}
	e.Err, _ = value.(error)
	return e
}

// Error returns "panic: " and the value.
func (e *PanicError) Error() string { return "panic: " + e.Value }

// ErrorType returns Panic.
func (e *PanicError) ErrorType() string { return TypePanic }

// Unwrap returns the value the attempt panicked with if it is an error.
func (e *PanicError) Unwrap() error { return e.Err }
