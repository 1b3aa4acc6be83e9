package gates_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/retry"
)

func newMachine(t *testing.T, c spec.Spec) *gates.Machine[string] {
	t.Helper()
	m, err := gates.New[string](c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func ask[K comparable](key K, attempt, priority int) gates.Ask[K] {
	return gates.Ask[K]{Key: key, Attempt: attempt, Priority: priority}
}

// granted are the keys of the step's grants, in order.
func granted(step *gates.Step[string]) string {
	var keys []string
	for _, g := range step.Granted {
		keys = append(keys, g.Key)
	}
	return strings.Join(keys, " ")
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, not %q", what, got, want)
	}
}

func TestR40_FIFOAndRepeatedInputs(t *testing.T) {
	m := newMachine(t, spec.Spec{Limit: 1, Mode: spec.Hold})
	expect(t, "a enters", granted(m.Enter(1, ask("a", 1, 0))), "a")
	expect(t, "a enters again", granted(m.Enter(1, ask("a", 1, 0))), "")
	for _, key := range []string{"b", "c", "b", "d"} {
		expect(t, key+" queues", granted(m.Enter(2, ask(key, 1, 0))), "")
	}
	expect(t, "b leaves", granted(m.Leave(3, "b")), "")
	expect(t, "a is done", granted(m.Done(4, "a", gates.Success)), "c")
	expect(t, "a is done again", granted(m.Done(5, "a", gates.Success)), "")
	expect(t, "c is done", granted(m.Done(6, "c", gates.Success)), "d")
}

// TestR41_TheThreeModes: a fails and comes back after 10; b and c came after it.
func TestR41_TheThreeModes(t *testing.T) {
	for _, tt := range []struct {
		mode                          spec.Mode
		failed, bDone, over, nextDone string
	}{
		{spec.Hold, "", "", "a", ""}, // b has to wait for all of a
		{spec.Rejoin, "b", "c", "", "a"},
		{spec.Release, "b", "c", "", "d"},
	} {
		t.Run(string(tt.mode), func(t *testing.T) {
			m := newMachine(t, spec.Spec{Limit: 1, Mode: tt.mode})
			for _, key := range []string{"a", "b", "c", "d"} {
				m.Enter(1, ask(key, 1, 0))
			}
			expect(t, "a fails", granted(m.Backoff(2, "a", 1, gates.Failure, 12)), tt.failed)
			if tt.failed != "" {
				expect(t, "b is done", granted(m.Done(3, "b", gates.Success)), tt.bDone)
			}
			if at, ok := m.Next(); !ok || at != 12 {
				t.Errorf("Next is %d, %v", at, ok)
			}
			expect(t, "a's delay is over", granted(m.Tick(12)), tt.over)
			if tt.failed != "" {
				expect(t, "c is done", granted(m.Done(13, "c", gates.Success)), tt.nextDone)
			}
		})
	}
}

func TestR44_PriorityPrecedesTheTicket(t *testing.T) {
	m := newMachine(t, spec.Spec{Limit: 1, Mode: spec.Rejoin})
	m.Enter(1, ask("a", 1, 0))
	m.Enter(2, ask("low", 1, -1))
	m.Enter(3, ask("b", 1, 0))
	m.Enter(4, ask("high", 1, 5))
	var order []string
	for last := "a"; last != ""; {
		last = granted(m.Done(5, last, gates.Success))
		order = append(order, last)
	}
	expect(t, "order", strings.Join(order, " "), "high b low ")
}

func TestR45_TooLongAHoldTurnsIntoRejoin(t *testing.T) {
	m := newMachine(t, spec.Spec{Limit: 1, Mode: spec.Hold, MaxHold: 5})
	m.Enter(0, ask("a", 1, 0))
	m.Enter(1, ask("b", 1, 0))
	m.Enter(2, ask("c", 1, 0))
	m.Backoff(10, "a", 1, gates.Failure, 30)
	s := m.Stats(12)
	if s.Depth != 2 || s.OldestWait != 11 || s.HeldInBackoff != 1 || s.Holders != 1 || s.Running != 0 || s.InBackoff != 1 {
		t.Errorf("stats in backoff: %+v", s)
	}
	if at, _ := m.Next(); at != 15 {
		t.Errorf("Next is %d", at)
	}
	expect(t, "the hold is exceeded", granted(m.Tick(15)), "b")
	expect(t, "the delay is over", granted(m.Tick(30)), "")
	expect(t, "b is done", granted(m.Done(31, "b", gates.Success)), "a")
}

func TestR46_Budget(t *testing.T) {
	m := newMachine(t, spec.Spec{Limit: 9, Mode: spec.Hold, Budget: spec.Budget{Tokens: 2, Refund: 0.5}})
	tokens := func(what string, want float64) {
		t.Helper()
		if got := m.Stats(1).Tokens; got != want {
			t.Errorf("%s: %v tokens, not %v", what, got, want)
		}
	}
	for _, key := range []string{"a", "b", "c", "d"} {
		m.Enter(1, ask(key, 1, 0))
	}
	m.Backoff(1, "a", 1, gates.Failure, 1)
	m.Backoff(1, "a", 1, gates.Failure, 1) // said twice, paid once
	tokens("one retry", 1)
	m.Backoff(1, "a", 2, gates.Neutral, 1)
	tokens("what was lost comes back for nothing", 1)
	m.Backoff(1, "b", 1, gates.Failure, 9)
	tokens("two retries", 0)
	step := m.Backoff(1, "c", 1, gates.Failure, 1)
	if len(step.Refused) != 1 || step.Refused[0].Reason != retry.ReasonBudget {
		t.Errorf("c over budget: %+v", step)
	}
	m.Done(1, "a", gates.Success)
	tokens("no first try", 0)
	m.Done(1, "d", gates.Success)
	tokens("a first try", 0.5)
	m.Leave(1, "b")
	tokens("a retry that never was", 1.5)
}

// TestR46_U5_ARetryThatComesBackPays: a call that left after a failure, and was asked about
// meanwhile.
func TestR46_U5_ARetryThatComesBackPays(t *testing.T) {
	m := newMachine(t, spec.Spec{Limit: 1, Mode: spec.Hold, Budget: spec.Budget{Tokens: 2}})
	back := ask("a", 3, 0)
	back.Retry = true
	if step := m.Enter(1, back); len(step.Granted) != 1 || m.Stats(1).Tokens != 1 {
		t.Errorf("%+v, and %v tokens are left", step, m.Stats(1).Tokens)
	}
	if m.Enter(1, back); m.Stats(1).Tokens != 1 {
		t.Error("who asks twice pays twice")
	}
	other := back
	other.Key = "b"
	if step := m.Enter(1, other); len(step.Granted) != 0 || len(step.Refused) != 0 || m.Stats(1).Tokens != 0 {
		t.Errorf("%+v, and %v tokens are left", step, m.Stats(1).Tokens)
	}
	if m.Leave(1, "b"); m.Stats(1).Tokens != 1 {
		t.Error("who leaves before its attempt starts has paid")
	}
	m.Enter(1, other)
	last := back
	last.Key = "c"
	if step := m.Enter(1, last); len(step.Refused) != 1 || step.Refused[0].Key != "c" || step.Refused[0].Reason != retry.ReasonBudget {
		t.Errorf("over budget: %+v", step)
	}
	if m.Done(1, "a", gates.Success); m.Stats(1).Tokens != 0 {
		t.Error("a retry is rewarded as a first try")
	}
}

func TestR46_Breaker(t *testing.T) {
	for _, wait := range []bool{false, true} {
		t.Run(fmt.Sprintf("wait=%v", wait), func(t *testing.T) {
			m := newMachine(t, spec.Spec{Limit: 3, Mode: spec.Hold, Breaker: spec.Breaker{Failures: 2, Cooldown: 10, Wait: wait}})
			m.Enter(0, ask("a", 1, 0))
			m.Enter(0, ask("b", 1, 0))
			m.Enter(0, ask("stale", 1, 0))
			m.Done(1, "a", gates.Failure)
			m.Done(1, "b", gates.Failure) // open until 11
			step := m.Enter(5, ask("c", 1, 0))
			if wait != (len(step.Refused) == 0) || len(step.Granted) != 0 {
				t.Errorf("an open breaker: %+v", step)
			}
			if at, ok := m.Next(); wait && at != 11 || ok != wait {
				t.Errorf("Next is %d, %v", at, ok)
			}
			m.Done(6, "stale", gates.Success) // it began before: no proof
			if s := m.Stats(6); s.Breaker != spec.Open || s.OpenUntil != 11 {
				t.Errorf("%+v", s)
			}
			probe := granted(m.Tick(11))
			if !wait {
				probe = granted(m.Enter(11, ask("c", 1, 0)))
			}
			expect(t, "the probe", probe, "c")
			step = m.Enter(12, ask("d", 1, 0))
			if wait != (len(step.Refused) == 0) || len(step.Granted) != 0 {
				t.Errorf("one probe at a time: %+v", step)
			}
			m.Done(13, "c", gates.Failure)
			if s := m.Stats(13); s.Breaker != spec.Open || s.OpenUntil != 23 {
				t.Errorf("a failed probe: %+v", s)
			}
			m.Enter(23, ask("d", 1, 0))
			if s := m.Stats(23); s.Breaker != spec.HalfOpen {
				t.Errorf("%+v", s)
			}
			m.Done(24, "d", gates.Success)
			if s := m.Stats(24); s.Breaker != spec.Closed {
				t.Errorf("a good probe: %+v", s)
			}
		})
	}
}

func TestRateIsPerAttempt(t *testing.T) {
	m := newMachine(t, spec.Spec{Limit: 9, Mode: spec.Hold, Rate: spec.Rate{PerSecond: 10, Burst: 2}})
	tenth := int64(100 * time.Millisecond)
	got := []string{granted(m.Enter(0, ask("a", 1, 0))), granted(m.Enter(0, ask("b", 1, 0))), granted(m.Enter(0, ask("c", 1, 0)))}
	m.Backoff(1, "a", 1, gates.Failure, 2)
	at, _ := m.Next()
	got = append(got, granted(m.Tick(2)), granted(m.Tick(tenth-1)), granted(m.Tick(tenth)), granted(m.Tick(2*tenth)))
	expect(t, "grants", strings.Join(got, ","), "a,b,,,,a,c")
	if at != 2 {
		t.Errorf("Next is %d", at)
	}
}

func TestAPausedGateGrantsNothing(t *testing.T) {
	m := newMachine(t, spec.Spec{Limit: 2, Mode: spec.Hold})
	m.Enter(0, ask("a", 1, 0))
	m.Pause(1, true)
	m.Backoff(2, "a", 1, gates.Failure, 3)
	m.Enter(2, ask("b", 1, 0))
	expect(t, "paused", granted(m.Tick(5)), "")
	if s := m.Stats(5); !s.Paused || s.Depth != 2 || s.Holders != 1 {
		t.Errorf("%+v", s)
	}
	expect(t, "resumed", granted(m.Pause(6, false)), "a b")
}

// TestR47_ARateThatIsRemovedLeavesNothing: a gate without a rate owes none, and a later rate begins
// with its full burst.
func TestR47_ARateThatIsRemovedLeavesNothing(t *testing.T) {
	limited := spec.Spec{Limit: 9, Mode: spec.Hold, Rate: spec.Rate{PerSecond: 1, Burst: 2}}
	m := newMachine(t, limited)
	for _, key := range []string{"a", "b"} {
		expect(t, "of the burst", granted(m.Enter(0, ask(key, 1, 0))), key)
	}
	for _, key := range []string{"a", "b"} {
		m.Done(1, key, gates.Success)
	}
	if m.Forgettable(1) {
		t.Error("the burst that was used is forgotten")
	}
	free := limited
	free.Rate = spec.Rate{}
	if _, err := m.Reconfigure(2, free); err != nil {
		t.Fatal(err)
	}
	if !m.Forgettable(2) {
		t.Errorf("without a rate it remembers %+v", m.Record())
	}
	if _, err := m.Reconfigure(3, limited); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"c", "d"} {
		expect(t, "of the new burst", granted(m.Enter(3, ask(key, 1, 0))), key)
	}
	expect(t, "beyond it", granted(m.Enter(3, ask("e", 1, 0))), "")
}

func TestReconfigure(t *testing.T) {
	c := spec.Spec{Limit: 3, Mode: spec.Hold, Breaker: spec.Breaker{Failures: 1, Cooldown: 10, Wait: true}, Budget: spec.Budget{Tokens: 5}}
	m := newMachine(t, c)
	for _, key := range []string{"a", "b", "c", "d"} {
		m.Enter(0, ask(key, 1, 0))
	}
	m.Backoff(1, "a", 1, gates.Failure, 99)
	if _, err := m.Reconfigure(2, spec.Spec{Mode: spec.Hold}); err == nil {
		t.Error("no limit, no error")
	}
	step, err := m.Reconfigure(2, spec.Spec{Limit: 2, Mode: spec.Hold})
	if err != nil || granted(step) != "" || !step.Record {
		t.Errorf("%v %+v", err, step)
	}
	expect(t, "still over the new limit", granted(m.Done(3, "b", gates.Success)), "")
	expect(t, "below it", granted(m.Done(3, "c", gates.Success)), "d")
	if s := m.Stats(3); s.Breaker != spec.NoBreaker || s.Tokens != 0 || s.Limit != 2 {
		t.Errorf("%+v", s)
	}
}

func TestR40_ConfigIsValidated(t *testing.T) {
	good := spec.Spec{Limit: 1, Mode: spec.Rejoin, Rate: spec.Rate{PerSecond: 0.5}, Budget: spec.Budget{Tokens: 10, Cost: 1.5, Refund: 0.1}, Breaker: spec.Breaker{Failures: 3, Cooldown: time.Second}}
	if _, err := gates.New[string](good); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*spec.Spec){
		"Limit is 0; allowed is 1 to": func(c *spec.Spec) { c.Limit = 0 },
		"Limit is -3":                 func(c *spec.Spec) { c.Limit = -3 },
		`Mode is ""`:                  func(c *spec.Spec) { c.Mode = "" },
		"MaxHold is 1s; allowed is 0 in mode rejoin": func(c *spec.Spec) { c.MaxHold = time.Second },
		"MaxHold is -1ns":        func(c *spec.Spec) { c.MaxHold = -1 },
		"Rate.PerSecond is NaN":  func(c *spec.Spec) { c.Rate.PerSecond = math.NaN() },
		"Rate.PerSecond is 0;":   func(c *spec.Spec) { c.Rate = spec.Rate{Burst: 1} },
		"Rate.Burst is -1":       func(c *spec.Spec) { c.Rate.Burst = -1 },
		"Rate.Burst is 20000000": func(c *spec.Spec) { c.Rate.Burst = 20_000_000 },
		"Budget.Tokens is 0":     func(c *spec.Spec) { c.Budget.Tokens = 0 },
		"Budget.Cost is 11":      func(c *spec.Spec) { c.Budget.Cost = 11 },
		"Budget.Refund is -1":    func(c *spec.Spec) { c.Budget.Refund = -1 },
		"Breaker.Failures is 0":  func(c *spec.Spec) { c.Breaker.Failures = 0 },
		"Breaker.Cooldown is 0s": func(c *spec.Spec) { c.Breaker.Cooldown = 0 },
	} {
		c := good
		spoil(&c)
		if _, err := gates.New[string](c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if _, err := gates.New[string](spec.Spec{}); strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("not all at once: %v", err)
	}
}

func TestRestoreRefusesWhatCannotBe(t *testing.T) {
	c := spec.Spec{Limit: 2, Mode: spec.Hold}
	for name, tickets := range map[string][]gates.Ticket[string]{
		"same key":    {{Key: "a", Number: 1, Phase: gates.Waiting}, {Key: "a", Number: 2, Phase: gates.Waiting}},
		"same number": {{Key: "a", Number: 1, Phase: gates.Waiting}, {Key: "b", Number: 1, Phase: gates.Waiting}},
		"no phase":    {{Key: "a", Number: 1}},
		"no slot":     {{Key: "a", Number: 1, Phase: gates.Running}},
		"idle probe":  {{Key: "a", Number: 1, Phase: gates.Waiting, Probe: true}},
	} {
		if _, err := gates.Restore(c, gates.Record{}, tickets, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestR40_LeavingALongQueue: those in the middle leave, the others keep their
// order, and what is left behind is cleared away.
func TestR40_LeavingALongQueue(t *testing.T) {
	m, err := gates.New[int](spec.Spec{Limit: 1, Mode: spec.Hold})
	if err != nil {
		t.Fatal(err)
	}
	const n = 10_000
	for i := range n {
		m.Enter(int64(i), ask(i, 1, 0))
	}
	var want, got []int
	for i := range n {
		if i%7 == 0 {
			want = append(want, i)
		} else {
			m.Leave(n, i)
		}
	}
	for at := 0; ; {
		got = append(got, at)
		step := m.Done(n, at, gates.Success)
		if len(step.Granted) == 0 {
			break
		}
		at = step.Granted[0].Key
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d were served, not %d, or in another order", len(got), len(want))
	}
}
