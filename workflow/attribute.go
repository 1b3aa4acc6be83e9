package workflow

import (
	"github.com/perdure/perdure/retry"
)

// SetAttribute sets an attribute of the run, by which perdure.Engine.List and everything
// that takes a view.Filter find it. It adds to the attributes of the start (see
// Attributes) or changes one. It takes effect with the turn. The following runs of the
// chain have it, too, and it stays when the run has ended. Each change is an event of the
// run's history; setting the same value again is not.
//
// A run has at most 16 attributes; a name has at most 64 bytes, a value 256. Beyond these
// limits SetAttribute returns a terminal error and changes nothing.
func SetAttribute(wf *Context, name, value string) error {
	wf.enter()
	if err := wf.instance.run.SetAttribute(name, value); err != nil {
		return retry.Terminal(err)
	}
	return nil
}

// RemoveAttribute removes an attribute from the run, whether its start or SetAttribute
// set it. If the run has none of that name, nothing happens.
func RemoveAttribute(wf *Context, name string) {
	wf.enter()
	wf.instance.run.RemoveAttribute(name)
}
