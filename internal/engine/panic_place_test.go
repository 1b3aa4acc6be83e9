package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// pitfalls are where code can panic: before, between and after all that waits, and in
// all functions that it hands to verbs. boom panics in the version with the mistake.
var pitfalls = map[string]workflow.Func[func(), string]{
	"at the beginning": func(wf *workflow.Context, boom func()) (string, error) { boom(); return workflow.Call(wf, work, "in") },
	"after a call":     after1(func(wf *workflow.Context) error { _, err := workflow.Call(wf, work, "x"); return err }),
	"after a sleep":    after1(func(wf *workflow.Context) error { return workflow.Sleep(wf, time.Second) }),
	"after a signal":   after1(func(wf *workflow.Context) error { _, err := workflow.Receive(wf, poke); return err }),
	"after a step":     after1(func(wf *workflow.Context) error { _, err := workflow.Do(wf, "step", one); return err }),
	"after a version":  after1(func(wf *workflow.Context) error { workflow.VersionOf(wf, "change", 0, 1); return nil }),
	"after a side effect": after1(func(wf *workflow.Context) error {
		workflow.SideEffect(wf, "effect", func() int { return 1 })
		return nil
	}),
	"after a race": after1(func(wf *workflow.Context) error {
		workflow.Select(wf, workflow.NewTimer(wf, time.Second), workflow.Async(wf, more, "x"))
		return nil
	}),
	"while a call runs": func(wf *workflow.Context, boom func()) (string, error) {
		call := workflow.Async(wf, work, "in")
		boom()
		return call.Get(wf)
	},
	"in another coroutine": func(wf *workflow.Context, boom func()) (string, error) {
		workflow.Go(wf, func(*workflow.Context) { boom() })
		return workflow.Call(wf, work, "in")
	},
	"in a map": func(wf *workflow.Context, boom func()) (string, error) {
		out, err := workflow.Map(wf, []string{"in", "x"}, func(wf *workflow.Context, s string) (string, error) {
			out, err := workflow.Call(wf, work, s)
			boom()
			return out, err
		})
		return out[0], err
	},
	"in a block": func(wf *workflow.Context, boom func()) (string, error) {
		return workflow.Retry(wf, retry.Policy{}, func(wf *workflow.Context) (string, error) { boom(); return workflow.Call(wf, work, "in") })
	},
	"under a deadline": func(wf *workflow.Context, boom func()) (string, error) {
		return workflow.Timeout(wf, time.Hour, func(wf *workflow.Context) (string, error) { boom(); return workflow.Call(wf, work, "in") })
	},
	"in a saga": func(wf *workflow.Context, boom func()) (string, error) {
		return workflow.Saga(wf, func(wf *workflow.Context, undo *workflow.Undo) (string, error) {
			undo.Add("undo", func(wf *workflow.Context) error { return errors.New("a panic undoes nothing") })
			boom()
			return workflow.Call(wf, work, "in")
		})
	},
	"in a compensation": func(wf *workflow.Context, boom func()) (string, error) {
		_, err := workflow.Saga(wf, func(wf *workflow.Context, undo *workflow.Undo) (string, error) {
			undo.Add("undo", func(wf *workflow.Context) error { boom(); _, err := workflow.Call(wf, more, "undone"); return err })
			return "", errRefused
		})
		if !errors.Is(err, errRefused) {
			return "", err
		}
		return workflow.Call(wf, work, "in")
	},
	"in a side effect": func(wf *workflow.Context, boom func()) (string, error) {
		workflow.SideEffect(wf, "effect", func() int { boom(); return 1 })
		return workflow.Call(wf, work, "in")
	},
	"in a deferred call": func(wf *workflow.Context, boom func()) (string, error) {
		defer boom() // also when the run leaves memory
		return workflow.Call(wf, work, "in")
	},
	"after a recovered one": func(wf *workflow.Context, boom func()) (string, error) {
		func() {
			defer func() { _ = recover() }()
			boom()
		}()
		boom()
		return workflow.Call(wf, work, "in")
	},
	"as the end": func(wf *workflow.Context, boom func()) (string, error) {
		out, err := workflow.Call(wf, work, "in")
		boom()
		return out, err
	},
}

// after1 is code that panics when something is over.
func after1(wait func(*workflow.Context) error) workflow.Func[func(), string] {
	return func(wf *workflow.Context, boom func()) (string, error) {
		if err := wait(wf); err != nil {
			return "", err
		}
		boom()
		return workflow.Call(wf, work, "in")
	}
}

func one(context.Context) (int, error) { return 1, nil }

// TestE47_PanicAtEveryPlace: wherever code panics, its run is parked with the stack,
// and goes on to its end with code that does not, from where it was: what completed
// does not run again. Another run notices nothing.
func TestE47_PanicAtEveryPlace(t *testing.T) {
	extent.Unwatched(t, "it varies the code of workflows")
	for name, code := range pitfalls {
		for mode, options := range map[string][]perduretest.Option{"evicted": nil, "resident": {perduretest.Resident()}} {
			t.Run(name+" "+mode, func(t *testing.T) {
				t.Parallel()
				perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
					version := func(name string, boom func()) workflow.Workflow[string, string] {
						return workflow.New("flow", func(wf *workflow.Context, _ string) (string, error) { return code(wf, boom) }, workflow.Version(name))
					}
					wrong := version("1", func() { panic("a mistake in the code") })
					bystander := workflow.New("bystander", func(wf *workflow.Context, in string) (string, error) { return workflow.Call(wf, cleanup, in) })
					env.Register(wrong, bystander)
					worked := perduretest.Mock(env, work, after(time.Second))
					perduretest.Mock(env, more, after(time.Minute)).Maybe()
					perduretest.Mock(env, cleanup, after(time.Hour))
					h, err := perduretest.Start(env, wrong, theID, "")
					if err != nil {
						t.Fatal(err)
					}
					if err := poke.Send(t.Context(), env.Workflow(theID), "go on"); err != nil {
						t.Fatal(err)
					}
					if got, err := perduretest.Run(env, bystander, "bystander", "in"); got != "in'" || err != nil {
						t.Errorf("the bystander: %q, %v", got, err)
					}
					d := env.Workflow(theID).Describe()
					if d.Status != "parked" || !strings.Contains(d.Reason, "a mistake in the code") || !strings.Contains(d.Stack, "panic_place_test.go") {
						t.Errorf("the run is %s: %s\n%s", d.Status, d.Reason, d.Stack)
					}
					env.Register(version("2", func() {}))
					env.Restart()
					if got, err := h.Result(); got != "in'" || err != nil {
						t.Errorf("with the right code: %q, %v", got, err)
					}
					for _, a := range env.Workflow(theID).Attempts() {
						if a.Outcome == "lost" {
							t.Errorf("attempt %d of %s was lost", a.Number, a.Name)
						}
					}
					if n := len(worked.Executions()); n != worked.Calls() {
						t.Errorf("%d executions of %d calls", n, worked.Calls())
					}
				}, options...)
			})
		}
	}
}

// TestE47_PanicOfABody: bodies of activities and steps that panic have failed, with
// the stack on record, and are retried; so do functions for the step transaction.
func TestE47_PanicOfABody(t *testing.T) {
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		tries := 0
		flow := workflow.New("flow", func(wf *workflow.Context, in string) (string, error) {
			if _, err := workflow.Do(wf, "step", func(context.Context) (int, error) {
				if tries++; tries == 1 {
					panic("a mistake in the step")
				}
				return 1, nil
			}); err != nil {
				return "", err
			}
			if _, err := workflow.Call(wf, more, in); err != nil {
				return "", err
			}
			return workflow.Call(wf, work, in)
		})
		env.Register(flow)
		perduretest.Mock(env, work, func(context.Context, string) (string, error) { panic("a mistake in the body") }, after(0))
		perduretest.Mock(env, more, func(ctx context.Context, in string) (string, error) {
			return in, activity.OnCommit(ctx, func(context.Context, any) error { panic("a mistake in the transaction") })
		}, after(0))
		if got, err := perduretest.Run(env, flow, theID, "in"); got != "in'" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		for i, d := range []perduretest.Target{perduretest.Step("step"), more, work} {
			env.ExpectAttempts(theID, d, "failed", "completed")
			if a := env.Workflow(theID).Attempts()[2*i]; !strings.Contains(a.Message, "a mistake in the") || !strings.Contains(a.Stack, "panic_place_test.go") {
				t.Errorf("%s: attempt 1 says %q\n%s", a.Name, a.Message, a.Stack)
			}
		}
	})
}
