package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/retry"
)

// TestF13_AnEditKeepsTheRest: an edit that names a field keeps the others, through a
// crash too; the policy that comes of it is on record, and one that cannot be is refused.
func TestF13_AnEditKeepsTheRest(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		f := newFragile(retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(10 * time.Minute), Jitter: retry.NoJitter, Within: 5 * time.Hour})
		e := w.start(f.flow, f.activity)
		begin(t, e, f.flow, "x", 1)
		pass(time.Minute)
		next := *onlyCall(t, e, "x").Next
		change := core.Control{Operation: core.EditPolicy, Change: "[retry: 20]", By: "ann"}
		if r := control(t, e, "x", change); r[0].Outcome != core.Applied || !strings.Contains(string(r[0].Policy), `"10m"`) {
			t.Errorf("%+v", r)
		}
		same(t, "again", verdicts(control(t, e, "x", change)), "[edit-policy unchanged]")
		w.kill(e)
		e = w.start(f.flow, f.activity)
		settle()
		c := onlyCall(t, e, "x")
		same(t, "policy", c.Policy, "[retry: 20, fixed: 10m, jitter: none] [within: 5h, on-timeout: retry]")
		same(t, "next", *c.Next, next)
		same(t, "max", c.Max, 21)
		for _, bad := range []string{`[retry: x]`, `{}`, `{"max_attempts": -7}`} {
			in := core.Control{Operation: core.EditPolicy, Change: bad}
			if r, err := e.Control(t.Context(), "x", "", in); err == nil {
				t.Errorf("%s: %+v", bad, r)
			}
		}
		same(t, "policy", onlyCall(t, e, "x").Policy, c.Policy)
	})
}
