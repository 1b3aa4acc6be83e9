package core

import "github.com/perdure/perdure/internal/history"

// Program is the code of a run as the machine sees it. The code calls the command methods
// of its Run only while Advance runs.
type Program interface {
	// Advance runs the code until all of it waits or it has ended. An error means that the
	// code panicked.
	Advance() error
	// CancelComes says where in history the request to cancel the run stands. The code issues
	// no command for it before Canceled.
	CancelComes(reason string)
	// Canceled tells the code that the run was asked to cancel. It is called once, right
	// before an Advance.
	Canceled(reason string)
	// Validate returns why an update is not accepted, or nil. It is called between two
	// turns of the code and changes nothing.
	Validate(update string, input history.Payload) error
	// Accept makes the handler of an update begin first in the next Advance. It returns
	// false if there is no handler.
	Accept(id, update string, input history.Payload) bool
	// Unread returns the calls that received a signal which the code has not read. It is
	// called when the run continues as new.
	Unread() []*Call
	// Halt stops the code from inside a command for good. It does not return.
	Halt()
}
