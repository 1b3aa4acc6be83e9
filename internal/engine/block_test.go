package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/code"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// absences are ways in which the code of a run is away while its inputs arrive.
var absences = map[string]func(t *testing.T, w *world, e *engine.Engine, program code.Workflow, others ...any) (back func() *engine.Engine){
	"paused": func(t *testing.T, w *world, e *engine.Engine, _ code.Workflow, _ ...any) func() *engine.Engine {
		control(t, e, "order", core.Control{ID: "p", Operation: core.PauseTheRun, By: "ann"})
		return func() *engine.Engine {
			control(t, e, "order", core.Control{ID: "r", Operation: core.ResumeTheRun, By: "ann"})
			return e
		}
	},
	"missing": func(t *testing.T, w *world, e *engine.Engine, program code.Workflow, others ...any) func() *engine.Engine {
		stop(t, e)
		without := w.start(others...)
		return func() *engine.Engine {
			stop(t, without)
			return w.start(append(others, program)...)
		}
	},
}

// TestE88_ADeadlineThatPassedFirstWinsWhenTheCodeWasAway: the success of a call that came
// after the deadline of its block is dropped, as it is if the code is there.
func TestE88_ADeadlineThatPassedFirstWinsWhenTheCodeWasAway(t *testing.T) {
	// Its second attempt succeeds, half an hour after the deadline.
	late := activity.New("late", func(ctx context.Context, _ int) (string, error) {
		if info, _ := activity.FromContext(ctx); info.Attempt == 1 {
			return "", errors.New("not yet")
		}
		return "done", nil
	}, activity.Retry(retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(90 * time.Minute), Jitter: retry.NoJitter}))
	call := func(wf *workflow.Context) (string, error) { return workflow.Call(wf, late, 0) }
	sleep := func(wf *workflow.Context) (string, error) { return "slept", workflow.Sleep(wf, 90*time.Minute) }
	in := func(fn func(*workflow.Context) (string, error)) map[string]func(*workflow.Context) (string, error) {
		return map[string]func(*workflow.Context) (string, error){
			"Timeout": func(wf *workflow.Context) (string, error) { return workflow.Timeout(wf, time.Hour, fn) },
			"Retry": func(wf *workflow.Context) (string, error) {
				return workflow.Retry(wf, retry.Policy{MaxAttempts: 1, AttemptTimeout: time.Hour}, fn)
			},
		}
	}
	for what, fn := range map[string]func(*workflow.Context) (string, error){"call": call, "sleep": sleep} {
		for verb, block := range in(fn) {
			for how, leave := range absences {
				t.Run(fmt.Sprint(what, " ", verb, " ", how), func(t *testing.T) {
					inBothModes(t, func(t *testing.T, w *world) {
						order := workflow.New("order", func(wf *workflow.Context, _ int) (string, error) {
							s, err := block(wf)
							if timeout := new(retry.TimeoutError); errors.As(err, &timeout) {
								return "timeout", nil
							}
							return s, err
						})
						e := w.start(order, late)
						begin(t, e, order, "order", 0)
						pass(time.Minute)
						back := leave(t, w, e, order, late)
						pass(3 * time.Hour)
						e = back()
						if got, err := finish[string](t, e, "order"); got != "timeout" || err != nil {
							t.Errorf("%q, %v; want the timeout", got, err)
						}
					})
				})
			}
		}
	}
}

// TestE43_R8_ABlockThatWakesUpTooLateStops: a try of a block does not begin when the time
// for it is over, because no engine was there. It ends with that reason, as a call does.
func TestE43_R8_ABlockThatWakesUpTooLateStops(t *testing.T) {
	policy := retry.Policy{MaxAttempts: 5, Within: 15 * time.Second, Backoff: retry.Fixed(10 * time.Second), Jitter: retry.NoJitter}
	for name, c := range map[string]struct {
		down  time.Duration
		tries int
	}{"in time": {12 * time.Second, 2}, "too late": {time.Hour, 1}} {
		t.Run(name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				tries := map[string]int{}
				work := activity.New("work", func(_ context.Context, who string) (string, error) {
					tries[who]++
					return "", errors.New("again")
				})
				order := workflow.New("order", func(wf *workflow.Context, byBlock bool) (string, error) {
					if byBlock {
						return workflow.Retry(wf, policy, func(wf *workflow.Context) (string, error) {
							return workflow.Call(wf, work, "block", activity.Retry(retry.Never))
						})
					}
					return workflow.Call(wf, work, "call", activity.Retry(policy))
				})
				e := w.start(order, work)
				begin(t, e, order, "block", true)
				begin(t, e, order, "call", false)
				pass(time.Second)
				stop(t, e)
				pass(c.down)
				e = w.start(order, work)
				for _, id := range []string{"block", "call"} {
					demandEnd(t, e, id)
					_, err := finish[string](t, e, id)
					exhausted := new(retry.ExhaustedError)
					if !errors.As(err, &exhausted) || exhausted.Reason != retry.ReasonWithin || exhausted.Attempts != c.tries || exhausted.Within != policy.Within || tries[id] != c.tries {
						t.Errorf("%s: %d tries, %v; want %d and the reason within", id, tries[id], err, c.tries)
					}
				}
			})
		})
	}
}
