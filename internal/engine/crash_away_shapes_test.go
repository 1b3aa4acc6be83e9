package engine_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/workflow"
)

func init() { shapes = append(shapes, codeAway) }

// codeAway is a run whose code is away whenever what it waits for comes: every second
// engine is one without it, and so are those that start after a crash of such an engine.
var codeAway = shape{
	name: "code-away-while-inputs-come", redeployed: true,
	flow: func(*book) workflow.Func[string, string] { return awaitThree },
	child: func(*book) workflow.Func[string, string] {
		return func(wf *workflow.Context, in string) (string, error) {
			return in + "+", workflow.Sleep(wf, time.Hour)
		}
	},
	bodies: func(*book) bodies { return bodies{"work": after(time.Second)} },
	meddle: leaveAndReturn,
}

// awaitThree waits for a signal, a timer and a child.
func awaitThree(wf *workflow.Context, in string) (string, error) {
	v, err := workflow.Receive(wf, poke)
	if err != nil {
		return "", err
	}
	if err := workflow.Sleep(wf, time.Hour); err != nil {
		return "", err
	}
	out, err := workflow.RunChild(wf, theChild, in+v, workflow.ChildID("a"))
	if err != nil {
		return "", err
	}
	return workflow.Call(wf, work, out)
}

// leaveAndReturn takes the code away for the signal, for the timer and for the child. It
// is then replaced by an activity of its name, so that no workflow has that name.
func leaveAndReturn(t *testing.T, env *perduretest.Env) {
	for _, input := range []string{"signal", "timer", "child"} {
		time.Sleep(10 * time.Minute)
		env.Register(activity.New(theFlow.Name(), after(0)))
		env.Restart()
		if input == "signal" {
			if err := poke.SendOnce(t.Context(), env.Workflow(theID), "it", "!"); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(2 * time.Hour)
		if got := env.Workflow(theID).Describe().Status; got == "completed" || got == "failed" {
			t.Errorf("While its code is away for the %s the run %s.", input, got)
		}
		env.Register(theFlow.Impl(awaitThree))
		env.Restart()
	}
}
