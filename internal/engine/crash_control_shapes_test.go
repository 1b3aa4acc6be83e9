package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

func init() {
	shapes = append(shapes, exhaustedShape, retriedShape, endedByHandShape, editedShape, switchedShape, pausedRunShape)
}

// failing fails until so many attempts are on record as failed.
func failing(b *book, failures int) activity.Func[string, string] {
	return func(ctx context.Context, in string) (string, error) {
		if b.failures(ctx) < failures {
			return "", errRefused
		}
		return in + "'", nil
	}
}

// exhaustedShape is an exhausted call that is resumed, exhausted again, and then retried by
// hand.
var exhaustedShape = shape{
	name: "paused-when-exhausted",
	flow: func(*book) workflow.Func[string, string] {
		return func(wf *workflow.Context, in string) (string, error) {
			return workflow.Call(wf, work, in, activity.Retry(retry.Policy{
				MaxAttempts: 2, Backoff: retry.Fixed(10 * time.Second), Jitter: retry.NoJitter, OnExhausted: retry.Pause,
			}))
		}
	},
	bodies: func(b *book) bodies { return bodies{"work": failing(b, 3)} },
	meddle: func(t *testing.T, env *perduretest.Env) {
		onceItIs(env, "work", "paused", 2)
		do(t, env, "resume", ops.Resume())
		onceItIs(env, "work", "paused", 3)
		do(t, env, "again", ops.RetryNow())
	},
}

// retriedShape is a call in a long backoff that is paused, resumed, paused again,
// and tried again by hand.
var retriedShape = shape{
	name: "paused-and-retried-by-hand",
	flow: func(*book) workflow.Func[string, string] {
		return func(wf *workflow.Context, in string) (string, error) {
			out, err := workflow.Call(wf, work, in, exactly(10*time.Hour, 5))
			if err != nil {
				return "", err
			}
			return workflow.Call(wf, more, out)
		}
	},
	bodies: func(b *book) bodies { return bodies{"work": failing(b, 2), "more": after(time.Second)} },
	meddle: func(t *testing.T, env *perduretest.Env) {
		onceItIs(env, "work", "backoff", 1)
		do(t, env, "pause", ops.Pause())
		time.Sleep(time.Minute)
		do(t, env, "resume", ops.Resume())
		do(t, env, "hurry", ops.RetryNow())
		onceItIs(env, "work", "backoff", 2)
		do(t, env, "pause again", ops.Pause())
		time.Sleep(20 * time.Hour)
		do(t, env, "hurry again", ops.RetryNow())
	},
}

// endedByHandShape skips a call in backoff and an attempt in flight, and fails a
// paused call.
var endedByHandShape = shape{
	name: "skipped-and-failed-by-hand",
	flow: func(*book) workflow.Func[string, string] {
		return func(wf *workflow.Context, in string) (string, error) {
			first, err := workflow.Call(wf, work, in, exactly(10*time.Hour, 5))
			if err != nil {
				return "", err
			}
			second, err := workflow.Call(wf, more, first)
			if err != nil {
				return "", err
			}
			_, err = workflow.Call(wf, cleanup, second, exactly(10*time.Hour, 5))
			if !errors.Is(err, errRefused) {
				return "", fmt.Errorf("cleanup ended with %w", err)
			}
			return second, workflow.Sleep(wf, time.Minute)
		}
	},
	bodies: func(b *book) bodies {
		return bodies{"work": failing(b, 9), "more": untilCanceled, "cleanup": failing(b, 9)}
	},
	meddle: func(t *testing.T, env *perduretest.Env) {
		onceItIs(env, "work", "backoff", 1)
		do(t, env, "skip", ops.Skip("first"))
		onceItIs(env, "more", "running", 0)
		do(t, env, "skip it too", ops.Skip("second"))
		onceItIs(env, "cleanup", "backoff", 1)
		do(t, env, "pause", ops.Pause())
		do(t, env, "fail", ops.FailNow(errRefused))
	},
}

// editedShape gets another policy while it waits, and is exhausted by that.
var editedShape = shape{
	name: "edited-policy",
	flow: func(*book) workflow.Func[string, string] {
		return func(wf *workflow.Context, in string) (string, error) {
			_, err := workflow.Call(wf, work, in, exactly(time.Hour, 50))
			var exhausted *retry.ExhaustedError
			if !errors.As(err, &exhausted) {
				return "", fmt.Errorf("work ended with %w", err)
			}
			return fmt.Sprint(exhausted.Attempts, exhausted.Max), nil
		}
	},
	bodies: func(b *book) bodies { return bodies{"work": failing(b, 9)} },
	meddle: func(t *testing.T, env *perduretest.Env) {
		onceItIs(env, "work", "backoff", 1)
		do(t, env, "edit", ops.EditPolicy(retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter}))
	},
}

// pausedRunShape is a run that is paused while a call is in backoff: the signal that
// comes meanwhile, and a timer that fires, are seen when it is resumed.
var pausedRunShape = shape{
	name: "paused-run",
	flow: func(*book) workflow.Func[string, string] {
		return func(wf *workflow.Context, in string) (string, error) {
			out := workflow.Async(wf, work, in, exactly(time.Hour, 5))
			if err := workflow.Sleep(wf, 30*time.Minute); err != nil {
				return "", err
			}
			v, err := workflow.Receive(wf, poke)
			if err != nil {
				return "", err
			}
			s, err := out.Get(wf)
			if err != nil {
				return "", err
			}
			return workflow.Call(wf, more, s+v)
		}
	},
	bodies: func(b *book) bodies { return bodies{"work": failing(b, 1), "more": after(time.Second)} },
	meddle: func(t *testing.T, env *perduretest.Env) {
		onceItIs(env, "work", "backoff", 1)
		doToRun(t, env, "hold", ops.PauseRun())
		if err := poke.SendOnce(t.Context(), env.Workflow(theID), "it", "!"); err != nil {
			t.Error(err)
		}
		time.Sleep(5 * time.Hour)
		doToRun(t, env, "go on", ops.ResumeRun())
	},
}

// doToRun carries an operation out on the run.
func doToRun(t *testing.T, env *perduretest.Env, id string, op ops.RunOperation) {
	t.Helper()
	r, err := env.ControlRun(theID, op, ops.RequestID(id), ops.By("ann"), ops.Why("for "+id))
	if err != nil || r.Outcome != "applied" {
		t.Errorf("%s: %+v, %v", id, r, err)
	}
}

// onceItIs waits until a call is in a state after so many failures.
func onceItIs(env *perduretest.Env, name, state string, failures int) {
	for range 1000 {
		d := env.Workflow(theID).Describe()
		if d.Status != "running" {
			return
		}
		for _, p := range d.Pending {
			if p.Name == name && p.State == state && p.Failures >= failures {
				// The row tells of an attempt before its body has begun, which a person
				// who acts in that very moment of virtual time would prevent.
				time.Sleep(2 * time.Millisecond)
				return
			}
		}
		time.Sleep(time.Second)
	}
}

// do carries an operation out on whatever is pending. One that ended the run is not
// found by the second try.
func do(t *testing.T, env *perduretest.Env, id string, op ops.Operation) {
	t.Helper()
	records, err := env.Control(theID, view.CallFilter{}, op, ops.RequestID(id), ops.By("ann"), ops.Why("for "+id))
	if err != nil {
		t.Errorf("%s: %v", id, err)
		return
	}
	for _, r := range records {
		if r.Outcome != "applied" {
			t.Errorf("%s: %+v", id, r)
		}
	}
}

// switchedShape calls an activity that is paused in the whole group for a while.
var switchedShape = shape{
	name: "paused-activity",
	flow: func(*book) workflow.Func[string, string] {
		return func(wf *workflow.Context, in string) (string, error) {
			out, err := workflow.Call(wf, work, in)
			if err != nil {
				return "", err
			}
			return workflow.Call(wf, more, out, activity.Retry(retry.Policy{QueueTimeout: 10 * time.Minute}))
		}
	},
	bodies: func(*book) bodies { return bodies{"work": after(time.Minute), "more": after(time.Second)} },
	meddle: func(t *testing.T, env *perduretest.Env) {
		throw(t, env, ops.PauseActivity, "off")
		time.Sleep(time.Hour)
		throw(t, env, ops.ResumeActivity, "on")
	},
}

// throw throws the switch of an activity, however often the process dies over it.
func throw(t *testing.T, env *perduretest.Env, set func(context.Context, *perdure.Engine, string, ...ops.ControlOption) (view.SwitchRecord, error), id string) {
	t.Helper()
	for range 1000 {
		if _, err := set(t.Context(), env.Engine(), more.Name(), ops.RequestID(id), ops.By("ann")); err == nil {
			break
		}
		time.Sleep(time.Second)
	}
	log, err := ops.Switches(t.Context(), env.Engine())
	for err != nil { // an outage ends
		time.Sleep(time.Second)
		log, err = ops.Switches(t.Context(), env.Engine())
	}
	n := 0
	for _, r := range log {
		if r.Request == id {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%s is on record %d times: %+v", id, n, log)
	}
}
