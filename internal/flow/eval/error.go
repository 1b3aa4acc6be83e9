package eval

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/flow/syntax"
	"github.com/perdure/perdure/retry"
)

// Error is what goes wrong in a program itself.
type Error struct {
	Type    string `json:"type"` // one of ErrorTypes, or what the program gave to fail
	Message string `json:"message"`
	File    string `json:"file,omitempty"` // the name of the file, empty if it has none
	Line    int    `json:"line,omitempty"` // where, from 1; 0 if that is not known
	Column  int    `json:"column,omitempty"`
}

// The types of errors.
const (
	TypeType     = "TypeError"
	TypeValue    = "ValueError"
	TypeName     = "NameError"
	TypeKey      = "KeyError"
	TypeIndex    = "IndexError"
	TypeZero     = "ZeroDivisionError"
	TypeOverflow = "OverflowError"
	TypeLimit    = "LimitError"
	TypeSteps    = "StepLimit"
	TypeFailed   = "Failed"
)

// ErrorTypes are the types of errors that a program can make by itself.
var ErrorTypes = []struct{ Type, Meaning string }{
	{TypeType, "values of the wrong kind, wrong arguments"},
	{TypeValue, "an unusable value of the right kind"},
	{TypeName, "a variable without a value"},
	{TypeKey, "a missing key"},
	{TypeIndex, "an index beyond the end"},
	{TypeZero, "a division by zero"},
	{TypeOverflow, "a number too large"},
	{TypeLimit, "a value too large, calls nested too deep"},
	{TypeSteps, "too much work without a wait (it cannot be caught)"},
	{TypeFailed, "made by fail(), unless it is given a type"},
}

func init() { retry.RegisterErrorType[*Error]("flow.Error") }

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return where(e.File, e.Line, e.Column) + e.Message
}

// where is a place in front of a message.
func where(file string, line, column int) string {
	if file != "" {
		file += ":"
	}
	return fmt.Sprintf("%s%d:%d: ", file, line, column)
}

// ErrorType returns the type.
func (e *Error) ErrorType() string { return e.Type }

// at gives an error of this package the place at which it came up, if it has none.
func (f *frame) at(n syntax.Node, err error) error {
	e, ok := err.(*Error)
	if !ok || e.Line > 0 {
		return err
	}
	p := f.m.file.Position(n.Range().From)
	return &Error{Type: e.Type, Message: e.Message, File: f.m.file.Name, Line: p.Line, Column: p.Column}
}

// CallError is the error of an action with the place of its call. It has no type of
// its own: it is caught by the types of what it wraps.
type CallError struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Action string `json:"action"`
	Err    error  `json:"-"`
}

func init() { retry.RegisterErrorType[*CallError]("flow.CallError") }

// Place is the place and the action, such as "nightly.flow:7:5: @http.get: ".
func (e *CallError) Place() string { return where(e.File, e.Line, e.Column) + "@" + e.Action + ": " }

func (e *CallError) Error() string {
	if e.Err == nil {
		return e.Place() + "it failed"
	}
	text := e.Err.Error()
	if gaveUp, ok := e.Err.(*retry.ExhaustedError); ok {
		text = strings.TrimPrefix(text, gaveUp.Name+": ") // the place names the action
	}
	return e.Place() + text
}

// ErrorType returns nothing: see [retry.TypeName].
func (e *CallError) ErrorType() string { return "" }

// Unwrap returns the error of the action.
func (e *CallError) Unwrap() error { return e.Err }

// placed gives the error of an action the place of its call. A cancellation is none
// of the action.
func (f *frame) placed(x *syntax.Action, err error) error {
	if err == nil || retry.Classify(err).Canceled {
		return err
	}
	if _, own := err.(*Error); own {
		return f.at(x, err)
	}
	p := f.m.file.Position(x.From)
	return &CallError{f.m.file.Name, p.Line, p.Column, x.Name.Name, err}
}

// Wider returns the type that all errors of a type have besides it, such as HTTPError5xx
// for HTTPError503; it is empty if there is none.
func Wider(kind string) string {
	status, http := strings.CutPrefix(kind, "HTTPError")
	switch {
	case http && len(status) == 3 && !strings.HasSuffix(status, "xx"):
		if status[0] >= '5' {
			return "HTTPError5xx"
		}
		return "HTTPError4xx"
	case strings.HasPrefix(kind, "ShellError") && kind != "ShellError":
		return "ShellError"
	case kind == "NotExist" || kind == "Permission":
		return "FileError"
	}
	return ""
}

// fault makes an error.
func fault(kind, format string, args ...any) error {
	return &Error{Type: kind, Message: fmt.Sprintf(format, args...)}
}

// fatal reports whether an error cannot be caught.
func fatal(err error) bool {
	if _, paused := err.(*Paused); paused {
		return true
	}
	e, ok := errors.AsType[*Error](err)
	return ok && e.Type == TypeSteps
}

// catches reports whether an except with these types catches an error. Without any
// it catches all but a cancellation: that is no failure, and only caught by name.
func catches(types []syntax.Ident, f retry.Failure) bool {
	if len(types) == 0 {
		return !f.Canceled
	}
	return slices.ContainsFunc(types, func(t syntax.Ident) bool { return slices.Contains(f.Types, t.Name) })
}

// exception is an error as a value. Of an action that was given up the program sees
// its last failure.
func exception(err error) *Exception {
	if e, is := err.(*Carried); is && e.as != nil {
		return e.as
	}
	x := &Exception{Err: err}
	if e, is := err.(*CallError); is {
		err = e.Err
	}
	last := err
	if e, ok := errors.AsType[*retry.ExhaustedError](err); ok {
		x.Attempts = int64(e.Attempts)
	} else if e, ok := errors.AsType[*retry.AbortedError](err); ok {
		x.Attempts = int64(e.Attempt)
	} else if _, own := errors.AsType[*Error](err); !own {
		x.Attempts = 1
	}
	// Of what was given up the last failure counts, even of a block around an action.
	for {
		if e, is := errors.AsType[*retry.ExhaustedError](last); is && e.Err != nil {
			last = e.Err
		} else if e, is := last.(*CallError); is {
			last = e.Err
		} else {
			break
		}
	}
	x.Type, x.Message = retry.Classify(last).Type(), last.Error()
	if e, ok := last.(*Error); ok {
		x.Message = e.Message
	}
	return x
}
