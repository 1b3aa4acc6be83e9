package engine_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/workflow"
)

func init() { shapes = append(shapes, pinnedShape) }

// stageBuild is the build of the engines of shapes.
const stageBuild = "build-1"

// pinnedShape is a run that stays on a build, is moved to one that no node has while what it
// waits for comes, and back.
var pinnedShape = shape{
	name: "pinned-and-moved", pinned: true,
	flow:   func(*book) workflow.Func[string, string] { return callSleepCall },
	bodies: func(*book) bodies { return bodies{"work": after(time.Second), "more": after(time.Second)} },
	meddle: func(t *testing.T, env *perduretest.Env) {
		time.Sleep(30 * time.Minute)
		doToRun(t, env, "away", ops.MoveRun(stageBuild, "build-2"))
		time.Sleep(2 * time.Hour)
		if d := env.Workflow(theID).Describe(); d.Status != "waiting-for-code" || d.Build != "build-2" {
			t.Errorf("Moved, it is %s on build %q.", d.Status, d.Build)
		}
		doToRun(t, env, "back", ops.MoveRun("", stageBuild))
	},
}

// callSleepCall calls, sleeps for an hour and calls again.
func callSleepCall(wf *workflow.Context, in string) (string, error) {
	out, err := workflow.Call(wf, work, in)
	if err != nil {
		return "", err
	}
	if err := workflow.Sleep(wf, time.Hour); err != nil {
		return "", err
	}
	return workflow.Call(wf, more, out)
}
