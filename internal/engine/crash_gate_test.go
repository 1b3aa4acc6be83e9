package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

func init() { shapes = append(shapes, gateShapes...) }

// through is a gate with a name of its own for each of its modes.
func through(limit int, mode gate.Mode) *gate.Gate {
	return gate.New("the "+string(mode), limit, gate.WithMode(mode))
}

// counted is a body that blames the engine if more of its kind run at a time than
// the gate lets pass. One that is no longer wanted does not count.
func counted(b *book, name string, limit int, body activity.Func[string, string]) activity.Func[string, string] {
	return func(ctx context.Context, in string) (string, error) {
		b.enter(name, limit)
		leave := context.AfterFunc(ctx, func() { b.leave(name) })
		defer func() {
			if leave() {
				b.leave(name)
			}
		}()
		return body(ctx, in)
	}
}

// failsOnce is a body that fails, a second after it began, until that is on record.
func failsOnce(b *book) activity.Func[string, string] {
	return func(ctx context.Context, in string) (string, error) {
		if out, err := after(time.Second)(ctx, in); err != nil || b.failures(ctx) > 0 {
			return out, err
		}
		return "", errRefused
	}
}

// crowd sends a few items through gates, two calls each.
func crowd(opts ...activity.Option) func(*book) workflow.Func[string, string] {
	return func(*book) workflow.Func[string, string] {
		return func(wf *workflow.Context, in string) (string, error) {
			out, err := workflow.Map(wf, []string{"a", "b", "c"}, func(wf *workflow.Context, item string) (string, error) {
				first, err := workflow.Call(wf, work, item, opts...)
				if err != nil {
					return "", err
				}
				return workflow.Call(wf, more, first, opts...)
			})
			return in + ":" + strings.Join(out, ","), err
		}
	}
}

func crowded(limit int, name string) func(*book) bodies {
	return func(b *book) bodies {
		return bodies{
			"work": counted(b, name, limit, failsOnce(b)),
			"more": counted(b, name, limit, after(2*time.Second)),
		}
	}
}

// editedGateShape is a gate that people edit, probe and reset while calls are at it. What
// was acknowledged is in force, and in the log.
var editedGateShape = shape{
	gated: true, name: "gate-edited", anyOrder: true,
	flow:   crowd(activity.Through(gate.New("edited", 1, gate.WithBreaker(gate.Breaker{Failures: 1, Cooldown: time.Hour, Wait: true})))),
	bodies: crowded(2, "edited"),
	meddle: func(t *testing.T, env *perduretest.Env) {
		said := func(what string, say func(e *perdure.Engine) error) {
			for range 1000 {
				if err := say(env.Engine()); err == nil {
					return
				}
				time.Sleep(time.Second)
			}
			t.Errorf("%s: nobody takes it", what)
		}
		said("edit", func(e *perdure.Engine) error {
			_, err := ops.EditGate(t.Context(), e, "edited", view.GateEdit{Limit: 2}, ops.By("ann"), ops.Why("it is slow"))
			return err
		})
		time.Sleep(time.Minute) // the breaker opens
		said("probe", func(e *perdure.Engine) error {
			_, err := ops.ProbeGate(t.Context(), e, "edited", ops.By("ann"))
			return err
		})
		time.Sleep(time.Minute)
		said("reset", func(e *perdure.Engine) error {
			_, err := ops.ResetGate(t.Context(), e, "edited", view.GateReset{Breaker: true}, ops.By("ann"))
			return err
		})
		time.Sleep(time.Minute)
		said("look", func(e *perdure.Engine) error {
			gates, err := ops.Gates(t.Context(), e)
			if err != nil || len(gates) == 0 {
				return fmt.Errorf("%d gates: %w", len(gates), err)
			}
			g, did := gates[0], map[string]bool{}
			for _, r := range g.Log {
				did[r.Operation+" "+r.By] = true
			}
			if g.Spec.Limit != 2 || g.Edited == nil || g.Edited.Why != "it is slow" || !did["edit ann"] || !did["reset ann"] {
				t.Errorf("what was acknowledged is gone: %+v", g)
			}
			return nil
		})
	},
}

// breakerShape is a gate whose breaker opens, that of all keys or of the one of the run, and closes.
func breakerShape(name, door string, perKey bool) shape {
	return shape{
		gated: true, name: name,
		flow: func(*book) workflow.Func[string, string] {
			return func(wf *workflow.Context, in string) (string, error) {
				through := activity.Through(gate.New(door, 5, gate.WithBreaker(gate.Breaker{Failures: 1, Cooldown: time.Minute, PerKey: perKey})))
				_, err := workflow.Call(wf, more, in, through, once)
				in += reasonOf(err)
				_, err = workflow.Call(wf, work, in, through)
				in += reasonOf(err)
				if err := workflow.Sleep(wf, time.Hour); err != nil {
					return "", err
				}
				return workflow.Call(wf, work, in, through)
			}
		},
		bodies: func(b *book) bodies {
			return bodies{
				"work": after(time.Second),
				"more": func(context.Context, string) (string, error) { return "", errRefused },
			}
		},
	}
}

var gateShapes = []shape{
	editedGateShape,
	{
		gated: true, name: "gate-rejoin", anyOrder: true,
		flow: crowd(activity.Through(through(1, gate.Rejoin))), bodies: crowded(1, "rejoin"),
	},
	{
		gated: true, name: "gate-hold", anyOrder: true,
		flow: crowd(activity.Through(through(1, gate.Hold))), bodies: crowded(1, "hold"),
	},
	{
		gated: true, name: "gates-two", anyOrder: true,
		flow: func(*book) workflow.Func[string, string] {
			return func(wf *workflow.Context, in string) (string, error) {
				release, hold := through(1, gate.Release), through(2, gate.Hold)
				gates := map[string][]*gate.Gate{"a": {release, hold}, "b": {hold, release}, "c": {hold}}
				out, err := workflow.Map(wf, []string{"a", "b", "c"}, func(wf *workflow.Context, item string) (string, error) {
					return workflow.Call(wf, work, item, activity.Through(gates[item]...))
				})
				return in + ":" + strings.Join(out, ","), err
			}
		},
		bodies: crowded(2, "both"),
	},
	{
		gated: true, name: "gate-waited-in-vain",
		flow: func(*book) workflow.Func[string, string] {
			return func(wf *workflow.Context, in string) (string, error) {
				through := activity.Through(through(1, gate.Rejoin))
				holds := workflow.Async(wf, work, in, through)
				if err := workflow.Sleep(wf, time.Second); err != nil {
					return "", err
				}
				_, err := workflow.Call(wf, more, in, through, activity.Retry(retry.Policy{
					MaxAttempts: 2, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter, QueueTimeout: 10 * time.Second,
				}))
				var late *retry.TimeoutError
				if !errors.As(err, &late) || late.Kind != retry.TimeoutQueue {
					return "", fmt.Errorf("more ended with %w", err)
				}
				_, err = workflow.Timeout(wf, time.Minute, func(wf *workflow.Context) (string, error) {
					return workflow.Call(wf, cleanup, in, through)
				})
				if !errors.As(err, &late) {
					return "", fmt.Errorf("cleanup ended with %w", err)
				}
				return holds.Get(wf)
			}
		},
		bodies: func(b *book) bodies {
			return bodies{
				"work":    counted(b, "gate", 1, after(3*time.Minute)),
				"more":    counted(b, "gate", 1, after(time.Second)),
				"cleanup": counted(b, "gate", 1, after(time.Second)),
			}
		},
	},
	{
		gated: true, name: "gate-budget",
		flow: func(*book) workflow.Func[string, string] {
			return func(wf *workflow.Context, in string) (string, error) {
				through := activity.Through(gate.New("thrifty", 5, gate.WithBudget(gate.Budget{Tokens: 1})))
				out, err := workflow.Call(wf, work, in, through)
				if err != nil {
					return "", err
				}
				_, err = workflow.Call(wf, more, out, through)
				return out + reasonOf(err), nil
			}
		},
		bodies: func(b *book) bodies {
			return bodies{
				"work": failsOnce(b),
				"more": func(context.Context, string) (string, error) { return "", errRefused },
			}
		},
	},
	breakerShape("gate-breaker", "fuse", false),
	breakerShape("gate-key-breaker", "fuses", true),
	{
		gated: true, name: "gate-forgotten", // it is removed between the calls
		flow: func(*book) workflow.Func[string, string] {
			return func(wf *workflow.Context, in string) (string, error) {
				through := activity.Through(through(1, gate.Rejoin))
				out, err := workflow.Call(wf, work, in, through)
				if err != nil {
					return "", err
				}
				if err := workflow.Sleep(wf, 8*24*time.Hour); err != nil {
					return "", err
				}
				return workflow.Call(wf, more, out, through)
			}
		},
		bodies: func(*book) bodies {
			return bodies{"work": after(time.Second), "more": after(time.Second)}
		},
	},
	{
		gated: true, name: "gate-canceled",
		flow: func(*book) workflow.Func[string, string] {
			return func(wf *workflow.Context, in string) (string, error) {
				through := activity.Through(through(1, gate.Rejoin))
				waiting := workflow.Async(wf, more, in, through)
				_, err := workflow.Call(wf, work, in, through)
				if wf.Err() == nil {
					return "", fmt.Errorf("nobody canceled, and work ended with %w", err)
				}
				if _, err := waiting.Get(wf); err == nil {
					return "", errors.New("more succeeded")
				}
				if _, err := workflow.Call(workflow.Shield(wf), cleanup, in, through); err != nil {
					return "", err
				}
				return "", err
			}
		},
		bodies: func(b *book) bodies {
			return bodies{"work": untilCanceled, "more": untilCanceled, "cleanup": after(time.Second)}
		},
		meddle: func(t *testing.T, env *perduretest.Env) {
			time.Sleep(time.Minute)
			if err := env.Workflow(theID).Cancel("enough"); err != nil {
				t.Error(err)
			}
		},
	},
}

// reasonOf is why a call was given up.
func reasonOf(err error) string {
	var exhausted *retry.ExhaustedError
	if !errors.As(err, &exhausted) {
		return fmt.Sprintf(" (%v)", err)
	}
	return fmt.Sprintf(" (%s after %d)", exhausted.Reason, exhausted.Attempts)
}
