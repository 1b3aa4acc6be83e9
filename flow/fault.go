package flow

import (
	"errors"

	"github.com/perdure/perdure/internal/flow/syntax"
)

// Fault is one thing that is wrong with a flow file, where, and what to do about it.
type Fault struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line"`   // from 1
	Column int    `json:"column"` // from 1, in characters
	Width  int    `json:"width"`  // how many characters of the line it is about, at least 1
	Code   string `json:"code"`   // its kind, a stable word: docs/flow.md lists them
	Text   string `json:"message"`
	Hint   string `json:"hint,omitempty"`
	// Source is the line, or the part of a long line that it is about; the fault begins
	// Before characters into it.
	Source string `json:"source,omitempty"`
	Before int    `json:"before,omitempty"`
}

// String returns the fault in a few lines: FILE:LINE:COLUMN and the message, the line with
// a caret below what it is about, and the hint.
func (f Fault) String() string { return syntax.Diagnostic(f).String() }

// Faults is the error of Runtime.Load: all faults of a file, in the order of the text.
type Faults []Fault

// Error returns all faults, as Fault.String shows them.
func (f Faults) Error() string { return f.diagnostics().Error() }

// ErrorType returns FlowError.
func (f Faults) ErrorType() string { return f.diagnostics().ErrorType() }

func (f Faults) diagnostics() (all syntax.Diagnostics) {
	for _, one := range f {
		all = append(all, syntax.Diagnostic(one))
	}
	return all
}

// faultsOf returns the error of a file that cannot be loaded.
func faultsOf(err error) error {
	all, is := errors.AsType[syntax.Diagnostics](err)
	if !is {
		return err
	}
	var faults Faults
	for _, one := range all {
		faults = append(faults, Fault(one))
	}
	return faults
}
