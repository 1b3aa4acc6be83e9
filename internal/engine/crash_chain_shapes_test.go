package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// continueAsNew is a chain of three runs that are sent signals, all of them while
// the first works, be the database away for a while or not.
var continueAsNew = shape{
	name: "continue-as-new",
	flow: func(*book) workflow.Func[string, string] {
		return func(wf *workflow.Context, in string) (string, error) {
			out, err := workflow.Call(wf, work, in)
			if err != nil {
				return "", err
			}
			v, err := workflow.Receive(wf, poke)
			if err != nil {
				return "", err
			}
			if out += v; strings.Count(out, "'") < 3 {
				return workflow.ContinueAsNew(wf, theFlow, out)
			}
			return out, nil
		}
	},
	bodies: func(*book) bodies { return bodies{"work": after(3 * time.Minute)} },
	meddle: func(t *testing.T, env *perduretest.Env) {
		for _, v := range []string{"1", "2", "3"} {
			for _, value := range []string{v, "again"} { // a second one of its ID, which is none
				if err := poke.SendOnce(t.Context(), env.Workflow(theID), "the "+v, value); err != nil {
					t.Error(err)
				}
				time.Sleep(4 * time.Second)
			}
		}
	},
}

// continueAtOnce is a chain of runs that end with their first turn.
var continueAtOnce = shape{
	name: "continue-at-once",
	flow: func(*book) workflow.Func[string, string] {
		return func(wf *workflow.Context, in string) (string, error) {
			if len(in) < 5 {
				return workflow.ContinueAsNew(wf, theFlow, in+"+")
			}
			return workflow.Call(wf, work, in)
		}
	},
	bodies: func(*book) bodies { return bodies{"work": after(time.Second)} },
}

// lateForTheNext is a chain whose first run leaves an activity that lost against a
// timer, a signal that came and was not read, and a timer. All of them are late.
var lateForTheNext = shape{
	name: "late-for-the-next-run",
	flow: func(*book) workflow.Func[string, string] {
		return func(wf *workflow.Context, in string) (string, error) {
			if in != "in" {
				v, err := workflow.Receive(wf, poke)
				if err != nil {
					return "", err
				}
				if err := workflow.Sleep(wf, time.Hour); err != nil {
					return "", err
				}
				return workflow.Call(wf, more, in+v)
			}
			workflow.ReceiveAsync(wf, poke) // nobody reads it
			workflow.NewTimer(wf, 5*time.Minute)
			out := workflow.Async(wf, work, in)
			if workflow.Select(wf, out, workflow.NewTimer(wf, 2*time.Minute)) == 0 {
				return "", fmt.Errorf("work was faster")
			}
			workflow.Async(wf, cleanup, in) // it runs when the run ends
			return workflow.ContinueAsNew(wf, theFlow, in+"2")
		}
	},
	bodies: func(*book) bodies {
		deaf := func(_ context.Context, in string) (string, error) {
			time.Sleep(4 * time.Minute)
			return in + "'", nil
		}
		return bodies{"work": deaf, "cleanup": deaf, "more": after(time.Second)}
	},
	meddle: func(t *testing.T, env *perduretest.Env) {
		time.Sleep(time.Second)
		if err := poke.SendOnce(t.Context(), env.Workflow(theID), "it", "!"); err != nil {
			t.Error(err)
		}
	},
}

func runPolicy(attempts int, first time.Duration) *retry.Policy {
	return &retry.Policy{MaxAttempts: attempts, Backoff: retry.Exponential(first, 2, 24*time.Hour), Jitter: retry.NoJitter, Within: 48 * time.Hour}
}

// failingRuns is a run whose second call fails for good in all attempts but the last.
func failingRuns(last int) func(*book) workflow.Func[string, string] {
	return func(*book) workflow.Func[string, string] {
		return func(wf *workflow.Context, in string) (string, error) {
			attempt := workflow.GetInfo(wf).Attempt
			out, err := workflow.Call(wf, work, fmt.Sprint(in, attempt))
			if err != nil || attempt == last {
				return out, err
			}
			return workflow.Call(wf, more, out, once)
		}
	}
}

func neverMore(*book) bodies {
	return bodies{
		"work": after(time.Second),
		"more": func(context.Context, string) (string, error) { return "", errRefused },
	}
}

// retryOfARun waits for three seconds and for six, which is near and far.
var retryOfARun = shape{name: "retry-of-a-run", policy: runPolicy(5, 3*time.Second), flow: failingRuns(3), bodies: neverMore}

var retryUsedUp = shape{name: "retry-of-a-run-used-up", policy: runPolicy(3, time.Hour), flow: failingRuns(0), bodies: neverMore}

// cancelBetweenRuns is canceled while it waits for its second attempt.
var cancelBetweenRuns = shape{
	name: "cancel-between-runs", policy: runPolicy(3, time.Hour), flow: failingRuns(0), bodies: neverMore,
	meddle: func(t *testing.T, env *perduretest.Env) {
		for range 1000 {
			if len(chainOf(env, theID)) > 1 {
				break
			}
			time.Sleep(time.Second)
		}
		if err := env.Workflow(theID).Cancel("enough"); err != nil {
			t.Error(err)
		}
	},
}

// chainOf returns the runs of the latest chain of a workflow ID, oldest first.
func chainOf(env *perduretest.Env, id string) []view.ChainRun {
	d := env.Workflow(id).Describe()
	if d.Chain == nil {
		return []view.ChainRun{{RunID: d.RunID}}
	}
	return d.Chain
}

// chainsOf returns the runs that a workflow ID has had, oldest first.
func chainsOf(t *testing.T, env *perduretest.Env, id string) []view.ChainRun {
	t.Helper()
	runs := chainOf(env, id)
	all, err := env.Engine().List(t.Context(), view.Filter{IDPrefix: id, Limit: 1000}) // the newest first
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if r.WorkflowID == id && !slices.ContainsFunc(runs, func(c view.ChainRun) bool { return c.RunID == r.RunID }) {
			runs = append([]view.ChainRun{{RunID: r.RunID}}, runs...)
		}
	}
	return runs
}

// lateness is how long after its backoff the code of a run did something, if it
// had one and did.
func lateness(run view.ChainRun, events []view.Event) []time.Duration {
	if run.FirstTurn == nil {
		return nil
	}
	for _, e := range events {
		if e.Kind == "ActivityScheduled" {
			return []time.Duration{e.Time.Sub(*run.FirstTurn)}
		}
	}
	return nil
}

// timeoutOfARun is closed as timed out in the middle of an attempt, then while it
// waits for a signal, and is retried; the third run is in time.
var timeoutOfARun = shape{
	name: "timeout-of-a-run", policy: runPolicy(5, 3*time.Second),
	start: []perdure.StartOption{workflow.RunTimeout(5 * time.Minute)},
	flow: func(*book) workflow.Func[string, string] {
		return func(wf *workflow.Context, in string) (string, error) {
			switch workflow.GetInfo(wf).Attempt {
			case 1:
				return workflow.Call(wf, cleanup, in)
			case 2:
				return workflow.Receive(wf, poke)
			}
			return workflow.Call(wf, work, in)
		}
	},
	bodies: func(*book) bodies { return bodies{"work": after(time.Second), "cleanup": untilCanceled} },
}

// timeoutOfAChain is closed as timed out in its second run.
var timeoutOfAChain = shape{
	name:  "timeout-of-a-chain",
	start: []perdure.StartOption{workflow.ChainTimeout(20 * time.Minute)},
	flow: func(*book) workflow.Func[string, string] {
		return func(wf *workflow.Context, in string) (string, error) {
			if in == "in" {
				if err := workflow.Sleep(wf, 10*time.Minute); err != nil {
					return "", err
				}
				return workflow.ContinueAsNew(wf, theFlow, in+"2")
			}
			return workflow.Call(wf, work, in)
		}
	},
	bodies: func(*book) bodies { return bodies{"work": untilCanceled} },
}
