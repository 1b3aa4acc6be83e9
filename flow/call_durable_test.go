package flow_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// TestW8_GoCallsAreEnforced: what the options of Call say happens, to the part of a
// second, and what cannot be used is refused before anything runs.
func TestW8_GoCallsAreEnforced(t *testing.T) {
	const half = 500 * time.Millisecond
	for name, c := range map[string]struct {
		action  string
		args    map[string]any
		options []flow.CallOption
		runs    int
		waits   []time.Duration // nominal
		took    time.Duration   // exactly, if it is not zero
		kind    string          // of the error; empty for none
	}{
		"once":              {action: "broken", args: map[string]any{"type": "A"}, runs: 1, kind: "A"},
		"attempts":          {action: "broken", args: map[string]any{"type": "A"}, options: []flow.CallOption{flow.Attempts(3), flow.BackoffSeconds(0.5)}, runs: 3, waits: []time.Duration{half, 2 * half}, kind: "A"},
		"its type":          {action: "broken", args: map[string]any{"type": "A"}, options: []flow.CallOption{flow.Attempts(2), flow.Exceptions("B", "A")}, runs: 2, waits: []time.Duration{0}, kind: "A"},
		"another type":      {action: "broken", args: map[string]any{"type": "A"}, options: []flow.CallOption{flow.Attempts(9), flow.Exceptions("B")}, runs: 1, kind: "A"},
		"the second helps":  {action: "flaky", args: map[string]any{"type": "A", "times": 1, "x": "ok"}, options: []flow.CallOption{flow.Attempts(2)}, runs: 2, waits: []time.Duration{0}},
		"a timeout":         {action: "hang", options: []flow.CallOption{flow.Timeout(1500 * time.Microsecond), flow.Attempts(5)}, runs: 1, took: 1500 * time.Microsecond, kind: "Timeout"},
		"a timeout by name": {action: "hang", options: []flow.CallOption{flow.Timeout(half), flow.Attempts(3), flow.Exceptions("Timeout")}, runs: 3, waits: []time.Duration{half, half}, took: 3 * half, kind: "Timeout"},
		"refused":           {action: "echo", options: []flow.CallOption{flow.Attempts(0), flow.BackoffSeconds(-1)}, kind: "Error"},
	} {
		t.Run(name, func(t *testing.T) {
			perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
				w := newWorld()
				defer close(w.hang)
				env.Register(w.runtime(t).Definitions()...)
				caller := workflow.New("caller", func(wf *workflow.Context, _ int) (string, error) {
					return flow.Call[string](wf, c.action, c.args, c.options...)
				})
				env.Register(caller)
				began := time.Now()
				out, err := perduretest.Run(env, caller, "run", 0)
				if took := time.Since(began); c.took != 0 && took != c.took {
					t.Errorf("it took %s, want %s", took, c.took)
				}
				if run, ok := errors.AsType[*perdure.RunError](err); ok {
					err = run.Err
				}
				if gaveUp, ok := errors.AsType[*retry.ExhaustedError](err); ok {
					err = gaveUp.Err
				}
				switch {
				case c.kind == "" && (err != nil || out != "ok"):
					t.Errorf("%q, %v", out, err)
				case c.kind != "" && (err == nil || retry.Classify(err).Type() != c.kind):
					t.Errorf("%v (%v), want %s", err, retry.Classify(err).Types, c.kind)
				}
				if name == "refused" && (!strings.Contains(err.Error(), "flow.Attempts is 0") || !strings.Contains(err.Error(), "flow.BackoffSeconds is -1")) {
					t.Errorf("%v does not name what is wrong", err)
				}
				starts := w.started() // a body that hangs may still be there
				if len(starts) != c.runs {
					t.Fatalf("%d executions, want %d", len(starts), c.runs)
				}
				for i, want := range c.waits {
					if waited := starts[i+1].Sub(starts[i]); waited < want*9/10 || waited > want*11/10 {
						t.Errorf("wait %d was %s, asked for %s", i+1, waited, want)
					}
				}
			})
		})
	}
}
