package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// any input that cannot be accepted must be refused with a text that says what,
// where, and what to do. The texts are for users, so they are written out here,
// to be read.

// TestI13_OptionsAreRefused: what Open says to options that cannot be honored,
// all mistakes at once.
func TestI13_OptionsAreRefused(t *testing.T) {
	body := func(context.Context, int) (int, error) { return 0, nil }
	code := func(*workflow.Context, int) (int, error) { return 0, nil }
	long := strings.Repeat("x", 201)
	for _, test := range []struct {
		name    string
		options []perdure.Option
		want    string
	}{
		{"a nil definition", []perdure.Option{perdure.Register(nil)},
			"perdure.Register: a definition is nil; pass what workflow.New and activity.New return"},
		{"a nil option", []perdure.Option{nil, perdure.Group("g")}, "perdure.Open: an option is nil; leave it out"},
		{"declared, not implemented", []perdure.Option{perdure.Register(activity.Declare[int, int]("charge"), workflow.Declare[int, int]("order"))},
			"perdure.Open: workflow \"order\" is declared but has no code; register what its Impl method returns\n" +
				`activity "charge" is declared but has no implementation; register what its Impl method returns`},
		{"a name twice", []perdure.Option{perdure.Register(activity.New("a", body), activity.New("a", body), workflow.New("w", code), workflow.New("w", code))},
			"perdure.Open: two workflows have the name \"w\"; rename one, or register it once\ntwo activities have the name \"a\"; rename one, or register it once"},
		{"the same definition twice", []perdure.Option{perdure.Register(reserve), perdure.Register(reserve)},
			`perdure.Open: two activities have the name "reserve"; rename one, or register it once`},
		{"names", []perdure.Option{perdure.Register(activity.New("", body), activity.New(long, body), workflow.New("a\xffb", code), workflow.New("a\x00b", code))},
			"perdure.Open: the workflow name is not valid UTF-8\nthe workflow name contains a NUL character\nthe activity name is empty\nthe activity name is 201 bytes long; the limit is 200"},
		{"numbers", []perdure.Option{perdure.Concurrency(-1), perdure.TurnTimeout(-time.Second)},
			"perdure.Open: the concurrency is -1: it must be at least 1, or 0 for the default (128)\nthe turn timeout is -1s: it must be positive, or 0 for the default (10s)"},
		{"the engine's policy, several faults at once", []perdure.Option{perdure.Retry(retry.Policy{MaxAttempts: -1, Backoff: retry.Exponential(time.Minute, 0.5, time.Second), Within: -time.Second})},
			"perdure.Open: the engine's retry policy: invalid retry policy: MaxAttempts is -1; allowed is 0 (the default, 5), 1 to 2147483646, or Unlimited. Backoff.Coefficient is 0.5; allowed is 0 (the default, 2) or a finite number of 1 or more. Backoff.Max is 1s; allowed is 0 (100 times the first delay), or the first delay (1m) or more. Within is -1s; allowed is 0 (no bound) or more."},
		{"an activity's policy", []perdure.Option{perdure.Register(activity.New("a", body, activity.Retry(retry.Policy{MaxAttempts: retry.Unlimited})), activity.New("b", body, activity.Retry(retry.Policy{CrashLimit: -1})))},
			"perdure.Open: activity \"a\": invalid retry policy: MaxAttempts is Unlimited without Within; allowed is Unlimited with a Within, which may be Forever.\n" +
				`activity "b": invalid retry policy: CrashLimit is -1; allowed is 0 (the default, 3) or more.`},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, err := perdure.Open(t.Context(), memory.New(), test.options...)
			if err == nil {
				e.Close()
			}
			sameText(t, err, test.want)
		})
	}
	_, err := perdure.Open(t.Context(), nil)
	sameText(t, err, "perdure.Open: no database was given; pass what sqlite.File, postgres.URL or memory.New returns")
}

func sameText(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// inAnEngine runs a test in virtual time with an engine of the root package.
func inAnEngine(t *testing.T, test func(t *testing.T, e *perdure.Engine), definitions ...perdure.Definition) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e, err := perdure.Open(t.Context(), memory.New(), perdure.Register(definitions...),
			perdure.NodeName("node"), perdure.Logger(slog.New(slog.NewTextHandler(io.Discard, nil))))
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
		test(t, e)
	})
}

// TestI13_IDsAreRefused: in every verb that takes one.
func TestI13_IDsAreRefused(t *testing.T) {
	once := workflow.New("once", func(*workflow.Context, int) (int, error) { return 0, nil })
	inAnEngine(t, func(t *testing.T, e *perdure.Engine) {
		ctx := t.Context()
		for id, problem := range map[string]string{
			"":                         "is empty",
			strings.Repeat("x", 1001):  "is 1001 bytes long; the limit is 1000",
			strings.Repeat("ä", 501):   "is 1002 bytes long; the limit is 1000",
			"a\x00b":                   "contains a NUL character",
			"a\xff":                    "is not valid UTF-8",
			strings.Repeat("\xff", 99): "is not valid UTF-8",
		} {
			short := id
			for verb, do := range map[string]func() error{
				"start":     func() error { _, err := perdure.Start(ctx, e, once, id, 1); return err },
				"run":       func() error { _, err := perdure.Run(ctx, e, once, id, 1); return err },
				"result":    func() error { _, err := perdure.Attach[int](e, id).Result(ctx); return err },
				"signal":    func() error { return proceed.Send(ctx, e.Workflow(id), "x") },
				"cancel":    func() error { return e.Workflow(id).Cancel(ctx, "") },
				"terminate": func() error { return e.Workflow(id).Terminate(ctx, "") },
				"describe":  func() error { _, err := e.Workflow(id).Describe(ctx); return err },
				"attempts":  func() error { _, err := e.Workflow(id).Attempts(ctx); return err },
				"history":   func() error { _, err := e.Workflow(id).History(ctx); return err },
			} {
				err := do()
				var input *view.InputError
				if !errors.As(err, &input) || !strings.HasSuffix(err.Error(), "the workflow ID "+problem) {
					t.Errorf("%s of %.20q: %v, want that the workflow ID %s", verb, short, err, problem)
				}
			}
		}
		longest := strings.Repeat("x", 1000)
		if _, err := perdure.Run(ctx, e, once, longest, 1); err != nil {
			t.Errorf("the longest ID: %v", err)
		}
	}, once)
}

// TestI13_SignalsAreRefused: names, IDs, and runs that nobody can send to.
func TestI13_SignalsAreRefused(t *testing.T) {
	once := workflow.New("once", func(*workflow.Context, int) (int, error) { return 0, nil })
	gate := workflow.New("gate", func(wf *workflow.Context, _ int) (string, error) { return workflow.Receive(wf, proceed) })
	inAnEngine(t, func(t *testing.T, e *perdure.Engine) {
		ctx := t.Context()
		if _, err := perdure.Run(ctx, e, once, "closed", 1); err != nil {
			t.Fatal(err)
		}
		if _, err := perdure.Start(ctx, e, gate, "open", 1); err != nil {
			t.Fatal(err)
		}
		sameText(t, proceed.Send(ctx, e.Workflow("nobody"), "x"), `perdure: signal "proceed": workflow "nobody": no such run`)
		sameText(t, proceed.Send(ctx, e.Workflow("closed"), "x"), `perdure: signal "proceed": workflow "closed": the run has ended`)
		sameText(t, e.Workflow("nobody").Cancel(ctx, ""), `perdure: cancel: workflow "nobody": no such run`)
		sameText(t, e.Workflow("closed").Terminate(ctx, ""), `perdure: terminate: workflow "closed": the run has ended`)
		sameText(t, workflow.NewSignal[int]("").Send(ctx, e.Workflow("open"), 1), `perdure: signal "": the signal name is empty`)
		sameText(t, workflow.NewSignal[int]("a\x00").Send(ctx, e.Workflow("open"), 1), `perdure: signal "a\x00": the signal name contains a NUL character`)
		sameText(t, proceed.SendOnce(ctx, e.Workflow("open"), strings.Repeat("i", 1001), "x"),
			`perdure: signal "proceed": the signal ID is 1001 bytes long; the limit is 1000`)
		sameText(t, e.Workflow("open").Signal(ctx, "proceed", json.RawMessage(`{"half":`)),
			`perdure: signal "proceed": the value cannot be used: a value of type json.RawMessage cannot be encoded as JSON: json: error calling MarshalJSON for type json.RawMessage: unexpected end of JSON input`)
		_, err := e.Workflow("nobody").Describe(ctx)
		sameText(t, err, `perdure: describe "nobody": no such run`)
		_, err = perdure.Attach[int](e, "nobody").Result(ctx)
		sameText(t, err, `perdure: result of "nobody": no such run`)
	}, once, gate)
}

// TestI13_UnregisteredWorkflow: a worker does not take what it could not run; a
// client does, for the workers there are.
func TestI13_UnregisteredWorkflow(t *testing.T) {
	unknown := workflow.Declare[int, int]("unknown")
	inAnEngine(t, func(t *testing.T, e *perdure.Engine) {
		_, err := perdure.Start(t.Context(), e, unknown, "x", 1)
		sameText(t, err, `perdure: start "x": the workflow "unknown" is not registered with this engine; register it where the engine is opened`)
		_, err = perdure.Start(t.Context(), e, workflow.Declare[int, int](""), "x", 1)
		sameText(t, err, `perdure: start "x": the workflow name is empty`)
	})
}

// cycle refers to itself.
type cycle struct{ Next *cycle }

// nested is a value of any depth that encoding/json can write.
func nested(depth int) any {
	return json.RawMessage(strings.Repeat("[", depth) + strings.Repeat("]", depth))
}

// TestI13_PayloadsAreRefused: values that cannot be recorded, wherever they come
// from: as the input of a run, in a signal, as input and result of an activity,
// of an inline step, of a workflow. None of them is retried, none crashes the
// process or parks the run.
func TestI13_PayloadsAreRefused(t *testing.T) {
	extent.Unwatched(t, "it varies values")
	loop := &cycle{}
	loop.Next = loop
	big := strings.Repeat("x", 2<<20)
	for name, test := range map[string]struct {
		value any
		want  string
	}{
		"channel":    {make(chan int), "a value of type chan int cannot be encoded as JSON: json: unsupported type: chan int"},
		"function":   {func() {}, "a value of type func() cannot be encoded as JSON: json: unsupported type: func()"},
		"NaN":        {math.NaN(), "a value of type float64 cannot be encoded as JSON: json: unsupported value: NaN"},
		"cycle":      {loop, "a value of type *engine_test.cycle cannot be encoded as JSON: json: unsupported value: encountered a cycle via *engine_test.cycle"},
		"too long":   {big, "a value of type string is 2097154 bytes long when encoded, and 2097152 is the limit; keep it elsewhere and pass a reference to it (see docs/limits.md#what-to-do-at-a-limit)"},
		"not JSON":   {json.RawMessage("{"), "a value of type json.RawMessage cannot be encoded as JSON: json: error calling MarshalJSON for type json.RawMessage: unexpected end of JSON input"},
		"too nested": {nested(9_999), "a value of type json.RawMessage is nested too deeply when encoded: lists and objects may be nested 5000 deep"},
	} {
		t.Run(name, func(t *testing.T) {
			ran := 0
			takes := activity.New("takes", func(context.Context, any) (int, error) { ran++; return 0, nil })
			gives := activity.New("gives", func(context.Context, int) (any, error) { ran++; return test.value, nil })
			sends := workflow.New("sends", func(wf *workflow.Context, where string) (any, error) {
				switch where {
				case "activity input":
					return workflow.Call(wf, takes, test.value)
				case "activity result":
					return workflow.Call(wf, gives, 0)
				case "step result":
					return workflow.Do(wf, "inline", func(context.Context) (any, error) { ran++; return test.value, nil })
				case "side effect":
					return workflow.SideEffect(wf, "effect", func() any { return test.value }), nil
				}
				return test.value, nil
			})
			takesAny := workflow.New("takes any", func(wf *workflow.Context, _ any) (int, error) {
				_, err := workflow.Receive(wf, workflow.NewSignal[any]("any"))
				return 0, err
			})
			inAnEngine(t, func(t *testing.T, e *perdure.Engine) {
				ctx := t.Context()
				_, err := perdure.Start(ctx, e, takesAny, "x", test.value)
				contains(t, "input of a run", err, `perdure: start "x": the input cannot be used: `+test.want)
				if _, err := perdure.Start(ctx, e, takesAny, "x", any(1)); err != nil {
					t.Fatal(err)
				}
				err = workflow.NewSignal[any]("any").Send(ctx, e.Workflow("x"), test.value)
				contains(t, "signal", err, `perdure: signal "any": the value cannot be used: `+test.want)
				for where, executions := range map[string]int{"activity input": 0, "activity result": 1, "step result": 1, "workflow result": 0} {
					ran = 0
					_, err := perdure.Run(ctx, e, sends, where, where)
					contains(t, where, err, test.want)
					if ran != executions {
						t.Errorf("%s: there were %d executions, want %d", where, ran, executions)
					}
				}
				if _, err := perdure.Start(ctx, e, sends, "side effect", "side effect"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				d, err := e.Workflow("side effect").Describe(ctx)
				if err != nil || d.Status != "parked" || !strings.Contains(d.Reason, `side effect "effect": `+test.want) {
					t.Errorf("side effect: %+v, %v", d, err)
				}
			}, takes, gives, sends, takesAny)
		})
	}
}

// TestI13_NestingIsMeasured: a value at the limit goes through a run unharmed,
// and brackets inside of texts do not count.
func TestI13_NestingIsMeasured(t *testing.T) {
	echo := workflow.New("echo", func(wf *workflow.Context, v json.RawMessage) (json.RawMessage, error) {
		return workflow.SideEffect(wf, "same", func() json.RawMessage { return v }), nil
	})
	inAnEngine(t, func(t *testing.T, e *perdure.Engine) {
		for id, value := range map[string]string{
			"at the limit": strings.Repeat(`{"a":[`, 2500) + strings.Repeat("]}", 2500),
			"in a text":    `"` + strings.Repeat(`[{\"\\`, 5000) + `"`,
			"side by side": "[" + strings.Repeat("[],", 6000) + "{}]",
		} {
			got, err := perdure.Run(t.Context(), e, echo, id, json.RawMessage(value))
			if string(got) != value || err != nil {
				t.Errorf("%s: %.100s, %v", id, got, err)
			}
		}
		_, err := perdure.Start(t.Context(), e, echo, "x", json.RawMessage(strings.Repeat("[", 5001)+strings.Repeat("]", 5001)))
		contains(t, "above it", err, "is nested too deeply when encoded")
	}, echo)
}

func contains(t *testing.T, what string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		text := "no error"
		if err != nil {
			text = err.Error()
		}
		t.Errorf("%s: got %.500s\nwant %s", what, text, want)
	}
}

// TestI13_ValuesOfAnotherType: a recorded value that does not fit the type it is
// read into is an error of the workflow, not of the engine.
func TestI13_ValuesOfAnotherType(t *testing.T) {
	old := workflow.New("order", func(wf *workflow.Context, _ string) (string, error) { return workflow.Receive(wf, proceed) })
	changed := workflow.New("order", func(wf *workflow.Context, n int) (int, error) { return n, nil })
	inAnEngine(t, func(t *testing.T, e *perdure.Engine) {
		_, err := perdure.Run(t.Context(), e, workflow.Declare[string, int]("order"), "x", "seven")
		contains(t, "input", err, `workflow "order": input: the recorded value does not fit type *int: json: cannot unmarshal string into Go value of type int`)
	}, changed)
	inAnEngine(t, func(t *testing.T, e *perdure.Engine) {
		if _, err := perdure.Start(t.Context(), e, old, "x", "seven"); err != nil {
			t.Fatal(err)
		}
		if err := workflow.NewSignal[int]("proceed").Send(t.Context(), e.Workflow("x"), 7); err != nil {
			t.Fatal(err)
		}
		_, err := perdure.Attach[string](e, "x").Result(t.Context())
		contains(t, "signal", err, `the result of "proceed": the recorded value does not fit type *string`)
	}, old)
	inAnEngine(t, func(t *testing.T, e *perdure.Engine) {
		h, err := perdure.Start(t.Context(), e, workflow.Declare[int, string]("order"), "x", 7)
		if err != nil {
			t.Fatal(err)
		}
		_, err = h.Result(t.Context())
		contains(t, "result", err, `perdure: result of "x": the recorded value does not fit type *string`)
	}, changed)
}

// TestI13_PoliciesOfCallsAreRefused: the call fails at once, the run decides.
func TestI13_PoliciesOfCallsAreRefused(t *testing.T) {
	for want, policy := range map[string]retry.Policy{
		`the retry policy of "reserve" is not usable: invalid retry policy: MaxAttempts is -1; allowed is 0 (the default, 5), 1 to 2147483646, or Unlimited. CrashLimit is -2; allowed is 0 (the default, 3) or more.`: {MaxAttempts: -1, CrashLimit: -2},
	} {
		order := workflow.New("order", func(wf *workflow.Context, n int) (int, error) {
			return workflow.Call(wf, reserve, n, activity.Retry(policy))
		})
		inAnEngine(t, func(t *testing.T, e *perdure.Engine) {
			_, err := perdure.Run(t.Context(), e, order, "x", 1)
			sameText(t, err, `workflow "x" failed: `+want)
		}, order, reserve)
	}
}

// TestI13_LifeOfAnEngine: what users are told who start twice or come too late.
func TestI13_LifeOfAnEngine(t *testing.T) {
	once := workflow.New("once", func(*workflow.Context, int) (int, error) { return 0, nil })
	e, err := perdure.Open(t.Context(), memory.New(), perdure.Register(once))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	sameText(t, e.Start(t.Context()), "perdure: start: the engine is already started; call Start once")
	for range 2 {
		if err := e.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := e.Stop(t.Context()); err != nil {
			t.Errorf("Stop: %v", err)
		}
	}
	sameText(t, e.Start(t.Context()), "perdure: start: the engine is stopped; open a new one to continue")
	sameText(t, e.Health(), "the engine is stopped; open a new one to continue")
	_, err = perdure.Start(t.Context(), e, once, "x", 1)
	sameText(t, err, `perdure: start "x": the engine is stopped; open a new one to continue`)
	for what, err := range map[string]error{
		`perdure: signal "proceed": `: proceed.Send(t.Context(), e.Workflow("x"), ""),
		`perdure: cancel: `:           e.Workflow("x").Cancel(t.Context(), ""),
		`perdure: result of "x": `:    func() error { _, err := perdure.Attach[int](e, "x").Result(t.Context()); return err }(),
		`perdure: describe "x": `:     func() error { _, err := e.Workflow("x").Describe(t.Context()); return err }(),
	} {
		if !errors.Is(err, perdure.ErrStopped) {
			t.Errorf("%s%v, want ErrStopped", what, err)
		}
		sameText(t, err, what+"the engine is stopped; open a new one to continue")
	}
}
