package flow_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/internal/flow/eval"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/retry"
)

// world is what the actions of test programs act upon. It outlives processes.
type world struct {
	mu       sync.Mutex
	runs     map[string]int // executions, by action and arguments
	failures map[string]int // that were made of the ones asked for, by call
	starts   []time.Time
	hang     chan struct{}
}

func newWorld() *world {
	return &world{runs: map[string]int{}, failures: map[string]int{}, hang: make(chan struct{})}
}

// typed is an error of a type that a program names.
type typed struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func (e *typed) Error() string     { return e.Text }
func (e *typed) ErrorType() string { return e.Type }

func init() { retry.RegisterErrorType[*typed]("flow_test.typed") }

// do makes one attempt of an action. Call tells calls apart.
func (w *world) do(ctx context.Context, name, call string, args map[string]any) (any, error) {
	data, _ := json.Marshal(args)
	w.mu.Lock()
	w.runs[name+string(data)]++
	w.starts = append(w.starts, time.Now())
	w.failures[call]++
	made := w.failures[call]
	w.mu.Unlock()
	kind, _ := args["type"].(string)
	switch name {
	case "echo":
		return args["x"], nil
	case "flaky": // succeeds after some failures
		if times, _ := args["times"].(float64); made <= int(times) {
			return nil, &typed{kind, fmt.Sprintf("failure of %s", data)}
		}
		return args["x"], nil
	case "broken":
		return nil, &typed{kind, "it is broken"}
	case "hang":
		<-w.hang
		return nil, ctx.Err()
	}
	return nil, fmt.Errorf("there is no action %s", name)
}

// started is when the attempts began, so far.
func (w *world) started() []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.starts)
}

var names = []string{"echo", "flaky", "broken", "hang"}

// runtime makes the actions activities.
func (w *world) runtime(t testing.TB) *flow.Runtime {
	t.Helper()
	var actions []activity.Definition
	for _, name := range names {
		actions = append(actions, activity.New(name, func(ctx context.Context, args map[string]any) (any, error) {
			return w.do(ctx, name, activity.IdempotencyKey(ctx), args)
		}, activity.Retry(retry.Aggressive))) // which files do not use
	}
	r, err := flow.New(flow.Actions(actions...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// plain runs a program without an engine.
func (w *world) plain(t testing.TB, text string) (string, error) {
	t.Helper()
	f, err := w.runtime(t).Load("test.flow", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	calls := 0
	v, err := eval.Run(flow.TreeOf(f), nil, &counting{ctx: t.Context(), calls: &calls, world: w})
	if err != nil {
		return "", err
	}
	data, err := eval.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data), nil
}

// counting are the effects of a program that runs without an engine. They number the calls.
type counting struct {
	eval.Effects // nil: what the test programs do not use panics
	ctx          context.Context
	calls        *int
	world        *world
	turn         int64
}

func (c *counting) Watch(func() *eval.Dict)     {}
func (c *counting) Turn() int64                 { return c.turn }
func (c *counting) History() (events, most int) { return 0, 0 }
func (c *counting) Sleep(d time.Duration) error { c.turn++; time.Sleep(d); return nil }

// Instant is what the database of time zones says.
func (c *counting) Instant(zone string, wall int64) time.Time {
	return eval.Zones{}.Instant(zone, wall)
}

// ZoneName is what the database of time zones says.
func (c *counting) ZoneName(zone string, at time.Time) string { return eval.Zones{}.ZoneName(zone, at) }

func (c *counting) Offset(zone string, at time.Time) (seconds int, known bool) {
	return eval.Zones{}.Offset(zone, at)
}

func (c *counting) Act(a eval.Action) (eval.Value, error) {
	*c.calls++
	c.turn++
	call := fmt.Sprint("call ", *c.calls)
	return retry.Value(c.ctx, a.Policy, func(ctx context.Context) (eval.Value, error) {
		data, err := eval.Encode(a.Args)
		if err != nil {
			return nil, err
		}
		var in map[string]any
		if err := json.Unmarshal(data, &in); err != nil {
			return nil, err
		}
		out, err := c.world.do(ctx, a.Name, call, in)
		if err != nil {
			return nil, err
		}
		if data, err = json.Marshal(out); err != nil {
			return nil, err
		}
		return eval.Decode(data)
	}, retry.WithName(a.Name))
}

func (c *counting) ActAll(all []eval.Action) []eval.Outcome {
	out := make([]eval.Outcome, len(all))
	for i, a := range all {
		out[i].Value, out[i].Err = c.Act(a)
	}
	return out
}

func (c *counting) Retry(policy retry.Policy, do func(in eval.Effects) error) error {
	return retry.Do(c.ctx, policy, func(context.Context) error { return do(c) })
}

func (c *counting) Each(n int, do func(i int, in eval.Effects)) {
	for i := range n {
		do(i, c)
	}
}

// durable runs a program on an engine.
func (w *world) durable(t testing.TB, env *perduretest.Env, text string) (string, error) {
	t.Helper()
	r := w.runtime(t)
	env.Register(r.Definitions()...)
	out, err := perduretest.Run(env, flow.Workflow, "run", program(t, r, "test.flow", text))
	return string(out), err
}

// program is a file without inputs.
func program(t testing.TB, r *flow.Runtime, name, text string) flow.Program {
	t.Helper()
	f, err := r.Load(name, text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	p, err := f.With(nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// outcome is a result or an error, in a form in which two can be compared.
func outcome(result string, err error) string {
	if err == nil {
		return result
	}
	if run, ok := errors.AsType[*perdure.RunError](err); ok {
		err = run.Err
	}
	text := err.Error()
	if gaveUp, ok := errors.AsType[*retry.ExhaustedError](err); ok {
		text = gaveUp.Err.Error() // how many attempts were lost is not the program's business
	}
	if carried, ok := errors.AsType[*eval.Carried](err); ok { // from one run to the next, as a text
		_, last, _ := strings.Cut(carried.Text, "): ")
		text = cmp.Or(last, carried.Text)
	}
	return fmt.Sprintf("%v: %s", retry.Classify(err).Types, text)
}

// TestW8_PoliciesOfSpec1 runs the five brackets as they are written, with the exact
// waits that they ask for; only the jitter is on record, not foretold.
func TestW8_PoliciesOfSpec1(t *testing.T) {
	const minute = time.Minute
	for _, c := range []struct {
		brackets, kind string
		waits          []time.Duration // nominal
	}{
		{"[retry: 3, backoff: 60]", "Any", []time.Duration{minute, 2 * minute, 4 * minute}},
		{"[NetworkError -> retry: 5, backoff: 2m]", "NetworkError", []time.Duration{2 * minute, 4 * minute, 8 * minute, 16 * minute, 32 * minute}},
		{"[NetworkError -> retry: 5, backoff: 2m]", "OtherError", nil},
		{"[(ValueError, KeyError) -> retry: 3, backoff: 30s]", "KeyError", []time.Duration{minute / 2, minute, 2 * minute}},
		{"[RateLimitError -> retry: 10, backoff: 1m] [NetworkError -> retry: 3, backoff: 30s]", "NetworkError", []time.Duration{minute / 2, minute, 2 * minute}},
		{"[retry: 3, backoff: 60] [timeout: 2m]", "Any", []time.Duration{minute, 2 * minute, 4 * minute}},
		{"[retry: 3, backoff: 60, jitter: none]", "Any", []time.Duration{minute, 2 * minute, 4 * minute}},
		{"[retry: 2, fixed: 1.5s, jitter: none]", "Any", []time.Duration{1500 * time.Millisecond, 1500 * time.Millisecond}},
		{"[retry: 2]", "Any", []time.Duration{0, 0}},
		{"[retry: 0]", "Any", nil},
		{"", "Any", nil}, // once, whatever the activity's own policy says
	} {
		t.Run(c.brackets+" "+c.kind, func(t *testing.T) {
			perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
				w := newWorld()
				_, err := w.durable(t, env, "@broken(type=\""+c.kind+"\") "+c.brackets+"\n")
				gaveUp, ok := errors.AsType[*retry.ExhaustedError](err)
				if !ok || gaveUp.Attempts != len(c.waits)+1 || retry.Classify(gaveUp.Err).Type() != c.kind {
					t.Fatalf("%v", err)
				}
				starts := w.started()
				if len(starts) != len(c.waits)+1 {
					t.Fatalf("%d executions", len(starts))
				}
				attempts, err := env.Engine().Workflow("run").Attempts(t.Context())
				if err != nil || len(attempts) != len(starts) {
					t.Fatalf("%d attempts in the ledger, %v", len(attempts), err)
				}
				for i, want := range c.waits {
					waited := starts[i+1].Sub(starts[i])
					exact := strings.Contains(c.brackets, "jitter: none") || want == 0
					if waited != attempts[i].Delay || exact && waited != want || waited < want*9/10 || waited > want*11/10 {
						t.Errorf("wait %d was %s, on record is %s, and asked for %s", i+1, waited, attempts[i].Delay, want)
					}
				}
			})
		})
	}
}

// TestW8_TimeoutEndsAnAttempt whose action never returns, and counts as what the
// policy says.
func TestW8_TimeoutEndsAnAttempt(t *testing.T) {
	for brackets, attempts := range map[string]int{
		"[timeout: 2m]": 1, "[retry: 3] [timeout: 2m]": 1, "[Timeout -> retry: 2] [timeout: 2m] [timeout: 5m]": 3,
	} {
		perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
			w := newWorld()
			defer close(w.hang)
			began := time.Now()
			out, err := w.durable(t, env, "try:\n    @hang() "+brackets+"\nexcept Timeout as e:\n    return [e.type, e.attempts]\n")
			if want := fmt.Sprintf(`["Timeout",%d]`, attempts); out != want || err != nil {
				t.Errorf("%s: %s, %v", brackets, out, err)
			}
			if took := time.Since(began); took != time.Duration(attempts)*2*time.Minute {
				t.Errorf("%s: it took %s", brackets, took)
			}
		})
	}
}

// TestW5_Spread: each element has its own counter, results keep their order, and
// one that is given up fails the expression after the others have ended.
func TestW5_Spread(t *testing.T) {
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		w := newWorld()
		began := time.Now()
		out, err := w.durable(t, env, `
try:
    xs = spread [0, 5, 1]: n -> @flaky(x=n, times=n, type="N") [retry: 2, fixed: 1m, jitter: none]
except N as e:
    a = [e.type, e.attempts]
ok = spread [2, 0, 1]: n -> @flaky(x=n, times=n, type="N") [retry: 2, fixed: 1m, jitter: none]
return [a, ok]
`)
		if out != `[["N",3],[2,0,1]]` || err != nil {
			t.Errorf("%s, %v", out, err)
		}
		if took := time.Since(began); took != 4*time.Minute {
			t.Errorf("it took %s", took)
		}
		if n := w.runs[`flaky{"times":1,"type":"N","x":1}`]; n != 4 {
			t.Errorf("the element beside the one that failed ran %d times in both spreads, want 4", n)
		}
	})
}

// TestW6_Uncaught errors fail the run as they are.
func TestW6_Uncaught(t *testing.T) {
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		_, err := newWorld().durable(t, env, "try:\n    @broken(type=\"Bad\")\nexcept Other:\n    pass\n")
		var e *typed
		if !errors.As(err, &e) || e.Type != "Bad" {
			t.Errorf("%v", err)
		}
	})
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		_, err := newWorld().durable(t, env, "x = [1]\ny = x[3]\n")
		var e *eval.Error
		if !errors.As(err, &e) || e.Type != eval.TypeIndex || e.Line != 2 {
			t.Errorf("%v", err)
		}
	})
}

// TestW19_UncaughtErrorsNameFileLineAndAction, and are of the types that they were of;
// what except binds has the message of the action alone.
func TestW19_UncaughtErrorsNameFileLineAndAction(t *testing.T) {
	for text, want := range map[string]string{
		"x = 1\n@broken(type=\"Bad\")\n":                                                    "test.flow:2:1: @broken: it is broken",
		"xs = spread [1]: x -> @broken(type=\"Bad\")\n":                                     "test.flow:1:23: @broken: it is broken",
		"parallel:\n    @echo(x=1)\n    @broken(type=\"Bad\")\n":                            "test.flow:3:5: @broken: it is broken",
		"try:\n    @broken(type=\"Bad\")\nexcept as e:\n    fail(e)\n":                      "test.flow:2:5: @broken: it is broken",
		"try:\n    @broken(type=\"Bad\")\nexcept Bad as e:\n    fail(e.message, \"Bad\")\n": "test.flow:4:5: it is broken",
	} {
		perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
			_, err := newWorld().durable(t, env, text)
			run, ok := errors.AsType[*perdure.RunError](err)
			if !ok {
				t.Fatal(err)
			}
			shown := run.Err.Error()
			if gaveUp, is := errors.AsType[*retry.ExhaustedError](run.Err); is {
				shown = flow.Place(run.Err) + gaveUp.Err.Error()
			}
			if shown != want || !slices.Contains(retry.Classify(err).Types, "Bad") {
				t.Errorf("%s\nis %s, %v", text, shown, retry.Classify(err).Types)
			}
		})
	}
}

// TestW17_BlocksAndFunctionsHavePolicies: they are run again as a whole, by the waits of
// the policy, from the variables that they began with.
func TestW17_BlocksAndFunctionsHavePolicies(t *testing.T) {
	for text, want := range map[string]string{
		"n = 5\ntry [N -> retry: 2, fixed: 1m, jitter: none]:\n    n = n + 1\n    @broken(type=\"N\")\nexcept N as e:\n    return [n, e.type, e.message, e.attempts]\n":                                                             `[6,"N","it is broken",3]`,
		"fn main(input: [], output: [r]):\n    try:\n        f(1) [retry: 2, fixed: 1m, jitter: none]\n    except as e:\n        r = [e.type, e.attempts]\nfn f(input: [x], output: []):\n    x = x + 1\n    @broken(type=\"N\")\n": `["N",3]`,
		"try:\n    try [M -> retry: 9, fixed: 1m]:\n        @broken(type=\"N\")\nexcept N:\n    sleep 120\n    return 1\n":                                                                                                          `1`,
		"try [retry: 2, fixed: 1m, jitter: none]:\n    fail(\"a\", \"Mine\")\nexcept Mine as e:\n    return e.attempts\n":                                                                                                           `3`,
	} {
		perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
			began := time.Now()
			if out, err := newWorld().durable(t, env, text); out != want || err != nil || time.Since(began) != 2*time.Minute {
				t.Errorf("%s\nis %s, %v, after %s", text, out, err, time.Since(began))
			}
		})
	}
}

// TestW17_SignalsAndQueries: a program waits for a signal, with a timeout or without,
// and tells its variables while it waits.
func TestW17_SignalsAndQueries(t *testing.T) {
	const text = `
state = "asked"
try:
    answer = wait signal approval [timeout: 2d]
except Timeout as e:
    state = e.type
    answer = wait signal approval
return [state, answer.by, answer.n]
`
	for signalAfter, want := range map[time.Duration]string{time.Hour: `["asked","ann",1]`, 72 * time.Hour: `["Timeout","ann",1]`} {
		perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
			r := newWorld().runtime(t)
			env.Register(r.Definitions()...)
			began := time.Now()
			h, err := perduretest.Start(env, flow.Workflow, "run", program(t, r, "", text))
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(signalAfter)
			open := perdure.Attach[json.RawMessage](env.Engine(), "run")
			all, err := open.Query(t.Context(), "variables", nil)
			if state := strings.Trim(strings.Split(want, ",")[0], "["); err != nil || !strings.Contains(string(all), `"state":`+state) {
				t.Errorf("%s, %v", all, err)
			}
			if err := open.Signal(t.Context(), "approval", map[string]any{"by": "ann", "n": 1}); err != nil {
				t.Error(err)
			}
			out, err := h.Result()
			if string(out) != want || err != nil || time.Since(began) != signalAfter {
				t.Errorf("%s, %v, after %s", out, err, time.Since(began))
			}
		})
	}
}

// TestW6_Cancellation is no failure: only an except that names it catches it, and
// what it calls is not canceled.
func TestW6_Cancellation(t *testing.T) {
	for text, want := range map[string]string{
		"try:\n    sleep 3600\nexcept:\n    @echo(x=\"caught\")\n":                                            "",
		"try:\n    sleep 3600\nexcept Canceled as e:\n    y = @echo(x=\"cleaned\")\n    return [y, e.type]\n": `["cleaned","Canceled"]`,
	} {
		perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
			w := newWorld()
			r := w.runtime(t)
			env.Register(r.Definitions()...)
			h, err := perduretest.Start(env, flow.Workflow, "run", program(t, r, "", text))
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			if err := env.Workflow("run").Cancel("enough"); err != nil {
				t.Fatal(err)
			}
			out, err := h.Result()
			if string(out) != want || want == "" && !errors.Is(err, context.Canceled) {
				t.Errorf("%s, %v", out, err)
			}
			if want == "" && len(w.runs) > 0 {
				t.Error("an except without types caught a cancellation")
			}
		})
	}
}

// TestW7_LooksLikeAnError is a result all the same.
func TestW7_LooksLikeAnError(t *testing.T) {
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		w := newWorld()
		out, err := w.durable(t, env, "r = @echo(x={\"type\": \"NetworkError\", \"message\": \"no\"}) [retry: 3]\nreturn [r, isexception(r)]\n")
		if out != `[{"message":"no","type":"NetworkError"},false]` || err != nil || len(w.started()) != 1 {
			t.Errorf("%s, %v, %d executions", out, err, len(w.started()))
		}
	})
}

// TestW11_StepBudget: what was spent before a wait does not count after it, and a
// program that never waits is ended.
func TestW11_StepBudget(t *testing.T) {
	const busy = "    i = 0\n    while i < 100000:\n        i = i + 1\n"
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		out, err := newWorld().durable(t, env, "for round in range(3):\n"+busy+"    sleep 1\nreturn round\n")
		if out != "2" || err != nil {
			t.Errorf("%s, %v", out, err)
		}
	})
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		_, err := newWorld().durable(t, env, "while True:\n    try:\n        x = 1\n    except:\n        pass\n")
		var e *eval.Error
		if !errors.As(err, &e) || e.Type != eval.TypeSteps {
			t.Errorf("%v", err)
		}
	})
}

// TestSourceIsPinned: a run keeps its text, and one that is not what its hash says
// is refused.
func TestSourceIsPinned(t *testing.T) {
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		r := newWorld().runtime(t)
		env.Register(r.Definitions()...)
		start := func(id, text string) (perduretest.Handle[json.RawMessage], error) {
			return perduretest.Start(env, flow.Workflow, id, program(t, r, "", text))
		}
		h, err := start("run", "sleep 60\nreturn \"old\"\n")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := start("run", "sleep 60\nreturn \"new\"\n"); err == nil {
			t.Error("another text was attached to the run")
		}
		if _, err := start("run", "sleep 60\nreturn \"old\"\n"); err != nil {
			t.Errorf("the same text was not attached to its run: %v", err)
		}
		if out, err := h.Result(); string(out) != `"old"` || err != nil {
			t.Errorf("%s, %v", out, err)
		}
		for name, p := range map[string]flow.Program{
			"hash":     {Language: flow.Language, SHA256: "00", Source: "return 1\n"},
			"language": {Language: 99, Source: "return 1\n"},
		} {
			if _, err := perduretest.Run(env, flow.Workflow, name, p); !retry.IsTerminal(err) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestInputs(t *testing.T) {
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		r := newWorld().runtime(t)
		env.Register(r.Definitions()...)
		f, err := r.Load("f.flow", "fn main(input: [a, b], output: [sum]):\n    return a + b\n")
		if err != nil {
			t.Fatal(err)
		}
		p, err := f.With(map[string]int64{"a": 1 << 62, "b": 3})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := perduretest.Run(env, flow.Workflow, "run", p); string(out) != "4611686018427387907" || err != nil {
			t.Errorf("%s, %v", out, err)
		}
		for _, wrong := range []any{nil, map[string]int{"a": 1}, map[string]int{"a": 1, "b": 2, "c": 3}, []int{1}, make(chan int)} {
			if _, err := f.With(wrong); err == nil || !strings.Contains(err.Error(), "the input of f.flow") {
				t.Errorf("%v is accepted: %v", wrong, err)
			}
		}
	})
}
