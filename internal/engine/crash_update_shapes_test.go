package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/workflow"
)

var amend = workflow.NewUpdate[string, string]("amend")

// amended collects what updates say, until one says that it is the end, and goes on
// in a new run when one says so.
func amended(wf *workflow.Context, in string) (string, error) {
	next := workflow.NewChannel[string](wf, 1)
	workflow.HandleUpdate(wf, amend, func(wf *workflow.Context, what string) (string, error) {
		if what == "next" || what == "end" {
			return in, next.Send(wf, what)
		}
		out, err := workflow.Call(wf, work, what)
		in += out
		return in, err
	}, workflow.Validator(func(what string) error {
		if what == "no" {
			return errRefused
		}
		return nil
	}))
	what, err := next.Receive(wf)
	if err != nil {
		return "", err
	}
	if what == "next" {
		return workflow.ContinueAsNew(wf, theFlow, in+"|")
	}
	return in, workflow.FinishUpdates(wf)
}

// updated is asked for updates one after the other, each until it is answered; a
// rejected one leaves nothing.
var updated = shape{
	name: "updates", asked: true,
	flow:   func(*book) workflow.Func[string, string] { return amended },
	bodies: func(*book) bodies { return bodies{"work": after(10 * time.Second)} },
	meddle: func(t *testing.T, env *perduretest.Env) {
		for _, u := range []struct{ what, want string }{{"1", "in1'"}, {"no", ""}, {"next", "in1'"}, {"2", "in1'|2'"}, {"end", "in1'|2'"}} {
			got, err := amend.Call(t.Context(), env.Workflow(theID), u.what)
			if got != u.want || (err != nil) != (u.want == "") || err != nil && !errors.Is(err, errRefused) {
				t.Errorf("update %s: %q, %v; want %q", u.what, got, err, u.want)
			}
		}
	},
}
