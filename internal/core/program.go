package core

import "github.com/perdure/perdure/internal/history"

// Program is the code of a run as the machine sees it. While Advance runs, the
// code calls the command methods of its Run; at no other time.
type Program interface {
	// Advance lets the code go on until all of it waits or it has ended. An error
	// means that it panicked.
	Advance() error
	// Canceled tells the code that the run was asked to cancel. It is called once,
	// right before an Advance.
	Canceled(reason string)
	// Validate returns why an update is not accepted, or nil. It is called between
	// two turns of the code and changes nothing.
	Validate(update string, input history.Payload) error
	// Accept lets the handler of an update begin with the next Advance, before all
	// else; false if there is none.
	Accept(id, update string, input history.Payload) bool
	// Unread are the receptions that are done and whose signals the code has not
	// read. It is called when the run is continued.
	Unread() []*Call
	// Halt stops the code from inside a command, for good: it does not return.
	Halt()
}
