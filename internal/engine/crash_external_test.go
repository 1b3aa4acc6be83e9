package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// external is a shape whose attempts are completed from outside. Those of "more"
// fail once, and their tokens are known for a while before their bodies return.
var external = shape{
	name: "external",
	flow: func(*book) workflow.Func[string, string] {
		p := retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(10 * time.Second), Jitter: retry.NoJitter, AttemptTimeout: 24 * time.Hour}
		return func(wf *workflow.Context, in string) (string, error) {
			out, err := workflow.Call(wf, work, in, activity.Retry(p))
			if err != nil {
				return "", err
			}
			return workflow.Call(wf, more, out, activity.Retry(p))
		}
	},
	bodies: func(b *book) bodies {
		return bodies{"work": b.pending(0), "more": b.pending(3 * time.Second)}
	},
	outside: func(t *testing.T, env *perduretest.Env, b *book) {
		done := map[string]bool{}
		for range 10_000 {
			for _, o := range b.waiting() {
				if done[o.token] {
					continue
				}
				done[o.token] = true
				if err := o.end(env, b); err != nil && !errors.Is(err, perdure.ErrStaleToken) {
					t.Error(err)
				}
			}
			if env.Workflow(theID).Describe().Status != "running" {
				return
			}
			time.Sleep(time.Second)
		}
		t.Error("the run does not end")
	},
}

func init() { shapes = append(shapes, external) }

// outsider is an attempt that was handed to somebody outside.
type outsider struct{ callID, name, token, input string }

// end says how it ends: after a failure on record with a success.
func (o outsider) end(env *perduretest.Env, b *book) error {
	if o.name == more.Name() && b.failuresOf(o.callID) == 0 {
		return env.FailAttempt(o.token, errRefused)
	}
	return env.Complete(o.token, o.input+"'")
}

// pending is a body that gives its token away and leaves the rest to others, after
// a while, whatever becomes of it meanwhile.
func (b *book) pending(d time.Duration) activity.Func[string, string] {
	return func(ctx context.Context, in string) (string, error) {
		info, _ := activity.FromContext(ctx)
		b.mu.Lock()
		b.outsiders[fmt.Sprintf("%s.%09d", info.CallID, info.Attempt)] = outsider{info.CallID, info.Activity, activity.Token(ctx), in}
		b.mu.Unlock()
		_, _ = after(d)(ctx, in)
		return "", activity.ErrPending
	}
}

// waiting are all attempts that were ever handed out, in order.
func (b *book) waiting() []outsider {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []outsider
	for _, id := range slices.Sorted(maps.Keys(b.outsiders)) {
		all = append(all, b.outsiders[id])
	}
	return all
}

func (b *book) failuresOf(callID string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.failed[callID])
}

// endedOutside reports whether what the book has of an attempt fits an end that
// somebody outside has given it.
func (x *execution) endedOutside(outcome string) bool {
	return x.outcome == "pending" && (outcome == string(core.Completed) || outcome == string(core.Failed))
}
