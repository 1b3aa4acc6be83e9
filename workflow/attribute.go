package workflow

import (
	"github.com/perdure/perdure/retry"
)

// SetAttribute gives the run an attribute by which List and all that takes a Filter find
// it, besides those of its start (see Attributes), or another value to one that
// it has. It takes effect with the turn: who finds the run by it finds what the code
// did until then. Runs that follow it in its chain have it, too, and it stays when the
// run has ended. Each change is an event of the run's history; setting what is set
// already is none.
//
// A run has at most 16 attributes; a name has at most 64 bytes, a value 256. What does
// not keep to that is refused with an error that no retry repeats, and the attributes
// are as they were.
func SetAttribute(wf *Context, name, value string) error {
	wf.enter()
	if err := wf.instance.run.SetAttribute(name, value); err != nil {
		return retry.Terminal(err)
	}
	return nil
}

// RemoveAttribute takes an attribute from the run, whether from its start or from
// SetAttribute. If the run has none of that name nothing happens.
func RemoveAttribute(wf *Context, name string) {
	wf.enter()
	wf.instance.run.RemoveAttribute(name)
}
