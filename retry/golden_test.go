package retry_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/golden"
	"github.com/perdure/perdure/retry"
)

var update = flag.Bool("update", false, "rewrite the expectations of testdata/decisions.golden")

// TestR16_GoldenDecide plays the golden table with Decide alone.
func TestR16_GoldenDecide(t *testing.T) {
	table, err := golden.Load()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		rewriteGolden(t, table)
	}
	for _, c := range table.Cases {
		t.Run(c.Name, func(t *testing.T) {
			if got := c.Simulate(); got.String() != c.Want.String() {
				t.Errorf("Decide says\n%swant\n%s", got, c.Want)
			}
		})
	}
}

// rewriteGolden writes what Decide says into the table.
func rewriteGolden(t *testing.T, table *golden.Table) {
	t.Helper()
	for _, c := range table.Cases {
		c.Want = c.Simulate()
	}
	path, err := golden.Path()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(table.Format()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestR16_GoldenDo plays the golden table with Do in virtual time.
func TestR16_GoldenDo(t *testing.T) {
	table, err := golden.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range table.Cases {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if c.EngineOnly {
					mustRefuse(t, c)
					return
				}
				if got, want := playDo(t.Context(), c), c.Want.WithoutRules(); got.String() != want.String() {
					t.Errorf("Do does\n%swant\n%s", got, want)
				}
			})
		})
	}
}

// playDo plays a case with Do.
func playDo(ctx context.Context, c *golden.Case) golden.Trace {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	switch {
	case c.CancelAt == 0:
		cancel()
	case c.CancelAt > 0:
		defer time.AfterFunc(c.CancelAt, cancel).Stop()
	}

	var trace golden.Trace
	first, n := time.Now(), 0
	current := func() golden.Attempt { return c.Attempts[n-1] }
	err := retry.Do(ctx, c.Policy, func(ctx context.Context) error {
		n++
		trace.Starts = append(trace.Starts, time.Since(first))
		return c.Run(ctx, n, first, func() { retry.Heartbeat(ctx) })
	},
		retry.WithRandom(func() float64 { return current().U }),
		retry.WithGates(func() (retry.Gates, error) {
			return openGate{func() bool { return !current().Denied }, func(n int) bool { return c.Attempts[n-1].Probe }}, nil
		}),
		retry.WithSink(func(r retry.Record) {
			if r.Reason == retry.ReasonSucceeded {
				return
			}
			j := golden.Judgment{Action: golden.Stop, Delay: r.Delay, Reason: r.Reason, Rule: -1}
			if r.Reason.Retries() {
				j.Action = golden.Retry
			}
			trace.Judgments = append(trace.Judgments, j)
		}),
	)
	trace.End = golden.End(err)
	return trace
}

// openGate lets every attempt pass, some as probes of its breaker, and has a retry budget.
type openGate struct {
	allows func() bool
	probes func(attempt int) bool
}

func (g openGate) Enter(_ context.Context, a retry.GateAsk) (probe bool, err error) {
	return g.probes != nil && g.probes(a.Attempt), nil
}
func (g openGate) Retry(int, time.Time) bool { return g.allows() }
func (openGate) Leave(retry.Reason)          {}

// mustRefuse checks that Do does not run what it cannot honor.
func mustRefuse(t *testing.T, c *golden.Case) {
	t.Helper()
	err := retry.Do(t.Context(), c.Policy, func(context.Context) error {
		t.Error("the function ran")
		return nil
	})
	if _, ok := errors.AsType[*retry.ConfigError](err); !ok {
		t.Errorf("got %v, want a *ConfigError", err)
	}
}

// TestR16_GoldenCoversEveryReason finds reasons and policy fields that no case
// is about.
func TestR16_GoldenCoversEveryReason(t *testing.T) {
	table, err := golden.Load()
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Cases) < 60 {
		t.Errorf("the table has %d cases, want 60 or more", len(table.Cases))
	}
	seen := map[retry.Reason]bool{}
	for _, c := range table.Cases {
		for _, j := range c.Want.Judgments {
			seen[j.Reason] = true
		}
	}
	for _, reason := range []retry.Reason{
		retry.ReasonBackoff, retry.ReasonImmediate, retry.ReasonServerDelay, retry.ReasonProbe, retry.ReasonCanceled,
		retry.ReasonTerminal, retry.ReasonStopRule, retry.ReasonNonRetryable, retry.ReasonTimeout,
		retry.ReasonNotRetryable, retry.ReasonMaxAttempts, retry.ReasonWithin, retry.ReasonBudget,
	} {
		if !seen[reason] {
			t.Errorf("no case gives the reason %s", reason)
		}
	}
}
