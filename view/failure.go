package view

import (
	"encoding/json"

	"github.com/perdure/perdure/internal/errname"
	"github.com/perdure/perdure/retry"
)

// Failure is a recorded error: a tree of the error and the errors it wraps.
type Failure struct {
	// Type is the error's type name, see retry.TypeName; empty for an error that only
	// adds text to what it wraps.
	Type string `json:"type,omitempty"`
	// Name is the name under which the error or its type is registered with package
	// retry, if that is not Type.
	Name    string `json:"name,omitempty"`
	Message string `json:"message"` // text of the error with that of what it wraps, cut after 8 KiB
	// Form and Data say how the error is rebuilt for errors.Is and errors.As.
	Form   string          `json:"form,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"`
	Stack  string          `json:"stack,omitempty"`  // of a panic
	Causes []*Failure      `json:"causes,omitempty"` // the errors that it wraps, in their order
}

// TypeName returns the type of the outermost error that has one.
func (f *Failure) TypeName() string {
	if n := f.find(func(n *Failure) bool { return n.Type != "" }); n != nil {
		return n.Type
	}
	return retry.TypeError
}

// StackTrace returns the stack of the panic in the tree, empty if there is none.
func (f *Failure) StackTrace() string {
	if n := f.find(func(n *Failure) bool { return n.Stack != "" }); n != nil {
		return n.Stack
	}
	return ""
}

func (f *Failure) find(is func(*Failure) bool) *Failure {
	return errname.First(f, func(f *Failure) []*Failure { return f.Causes }, is)
}
