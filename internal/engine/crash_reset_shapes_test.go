package engine_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

func init() { shapes = append(shapes, resetShape, resetEndedShape, forkedShape) }

// ownAttempts are the attempts that a run made itself.
func ownAttempts(all []view.Attempt) []view.Attempt {
	return slices.DeleteFunc(slices.Clone(all), func(a view.Attempt) bool { return a.RunID != "" })
}

// ownEvents leaves out of a history the calls that had ended in another run.
func ownEvents(t *testing.T, all []view.Event) []view.Event {
	t.Helper()
	var start history.Start
	raw, err := all[0].MarshalJSON()
	if err == nil {
		err = json.Unmarshal(raw, &start)
	}
	if err != nil {
		t.Fatal(err)
	}
	if start.Base == nil {
		return all
	}
	kept := map[int64]bool{}
	for _, ev := range all {
		switch history.Kind(ev.Kind) {
		case history.CallCompleted, history.CallFailed, history.CallCanceled:
			kept[ev.Call] = kept[ev.Call] || ev.Turn <= start.Base.LastCut()
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(ev view.Event) bool { return kept[ev.Call] })
}

// threeCalls makes call 1, begins call 2, waits for a signal as call 3 and makes call 4;
// all of it is in its result.
func threeCalls(*book) workflow.Func[string, string] {
	return func(wf *workflow.Context, in string) (string, error) {
		first, err := workflow.Call(wf, work, in)
		if err != nil {
			return "", err
		}
		pending := workflow.Async(wf, cleanup, first, exactly(10*time.Hour, 5))
		told, err := workflow.Receive(wf, poke)
		if err != nil {
			return "", err
		}
		second, err := workflow.Call(wf, more, first+told+" of "+workflow.GetInfo(wf).RunID, once)
		if err != nil {
			return "", err
		}
		third, err := pending.Get(wf)
		return second + " " + third, err
	}
}

// resetShape is sent back to where it waited for the signal, while the call before that,
// which then begins afresh, is in its backoff and the one behind runs.
var resetShape = shape{
	name: "reset",
	flow: threeCalls,
	bodies: func(b *book) bodies {
		return bodies{"work": after(time.Second), "more": after(20 * time.Minute), "cleanup": failing(b, 1)}
	},
	meddle: func(t *testing.T, env *perduretest.Env) {
		if err := poke.SendOnce(t.Context(), env.Workflow(theID), "it", "!"); err != nil {
			t.Error(err)
		}
		onceItIs(env, "more", "running", 0)
		time.Sleep(time.Minute)
		doToRun(t, env, "back", ops.ResetRun(3))
	},
}

// resetEndedShape is sent back to its last call when it has failed, and fails again.
var resetEndedShape = shape{
	name: "reset-ended", outlived: true,
	flow: threeCalls,
	bodies: func(b *book) bodies {
		return bodies{"work": after(time.Second), "cleanup": untilCanceled, "more": func(ctx context.Context, in string) (string, error) {
			if _, err := after(time.Minute)(ctx, in); err != nil {
				return "", err
			}
			return failing(b, 1)(ctx, in)
		}}
	},
	meddle: func(t *testing.T, env *perduretest.Env) {
		if err := poke.SendOnce(t.Context(), env.Workflow(theID), "it", "!"); err != nil {
			t.Error(err)
		}
		untilNobodyRuns(env)
		until(t, "back", func() error {
			_, err := ops.ControlRun(t.Context(), env.Engine(), theID, ops.ResetRun(4), ops.RequestID("back"), ops.By("ann"), ops.Why("for back"))
			return err
		})
		untilNobodyRuns(env)
	},
}

// forkedShape goes on as another workflow, too, while it waits for the signal.
var forkedShape = shape{
	name: "forked", outlived: true,
	flow: threeCalls,
	bodies: func(b *book) bodies {
		return bodies{"work": after(time.Second), "more": after(time.Second), "cleanup": failing(b, 1)}
	},
	meddle: func(t *testing.T, env *perduretest.Env) {
		onceItIs(env, "cleanup", "backoff", 1)
		until(t, "fork", func() error {
			_, err := ops.Fork(t.Context(), env.Engine(), ops.ForkSpec{WorkflowID: theID, NewID: "fork", Call: 3})
			return err
		})
		for _, id := range []string{theID, "fork"} {
			if err := poke.SendOnce(t.Context(), env.Workflow(id), "it", "!"); err != nil {
				t.Error(err)
			}
		}
	},
}

// until tries until it works, however often the process dies over it.
func until(t *testing.T, what string, f func() error) {
	t.Helper()
	var err error
	for range 1000 {
		if err = f(); err == nil {
			return
		}
		time.Sleep(time.Second)
	}
	t.Errorf("%s: %v", what, err)
}

// untilNobodyRuns waits until no run is open.
func untilNobodyRuns(env *perduretest.Env) {
	for range 1000 {
		if d := env.Workflow(theID).Describe(); d.Status != "running" {
			return
		}
		time.Sleep(time.Second)
	}
}
