package wording

import (
	"strings"

	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// Cause is one error of a failure and what it wraps.
type Cause struct {
	Type    string
	Message string // without what the next cause says
}

// Causes returns the errors of a failure from the outermost to the innermost. It omits a cause
// whose whole message and type the one before has shown.
func Causes(f *view.Failure) (all []Cause) {
	shown := "" // the end of what is shown
	for ; f != nil && len(all) <= 20; f = first(f) {
		typed := f.Type != "" && f.Type != retry.TypeError && f.Type != retry.TypeExhausted
		if len(all) > 0 && strings.HasSuffix(shown, f.Message) && !typed {
			continue
		}
		message := f.Message
		if next := first(f); next != nil && f.Type == retry.TypeExhausted {
			message = strings.TrimSuffix(message, ": "+next.Message)
		}
		all = append(all, Cause{f.Type, message})
		shown = message
	}
	return all
}

// Stack is the stack where the code of a run stands, or where it failed; empty if none is known.
func Stack(d *view.Description) string {
	if d.Stack == "" && d.Failure != nil {
		return d.Failure.StackTrace()
	}
	return d.Stack
}

func first(f *view.Failure) *view.Failure {
	if len(f.Causes) == 0 {
		return nil
	}
	return f.Causes[0]
}
