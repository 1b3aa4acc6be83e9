package gates_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/gates"
	"pgregory.net/rapid"
)

var runKeys = []string{"", "a", "b"}

// choices is where a scenario comes from: rapid or the fuzzer.
type choices interface {
	// below returns a number from 0 to n-1.
	below(label string, n int) int
}

// fatal ends a test.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// scenario drives a machine and a model side by side, and a database that only
// knows what Step.Changed and Step.Record told it.
type scenario struct {
	choices
	fatal

	c     spec.Spec
	m     *gates.Machine[int]
	model *model
	now   int64

	rows   map[int][]byte
	record gates.Record
	shares map[string]gates.ShareRecord
}

func newScenario(c choices, f fatal) *scenario {
	s := &scenario{choices: c, fatal: f, now: 1_000_000_000_000, rows: map[int][]byte{}, shares: map[string]gates.ShareRecord{}}
	s.c = spec.Spec{
		Limit: 1 + c.below("limit", 3),
		Mode:  []spec.Mode{spec.Hold, spec.Release, spec.Rejoin}[c.below("mode", 3)],
	}
	if s.c.Mode == spec.Hold {
		s.c.MaxHold = time.Duration(c.below("hold", 3)) * 20
	}
	if c.below("rate", 3) == 0 {
		s.c.Rate = spec.Rate{PerSecond: 1e8, Burst: c.below("burst", 3)}
	}
	if c.below("budget", 3) == 0 {
		s.c.Budget = spec.Budget{Tokens: 1 + c.below("tokens", 3), Cost: float64(c.below("cost", 2)), Refund: float64(c.below("refund", 3)) / 4, PerKey: c.below("budgets", 2) == 0}
	}
	if c.below("breaker", 2) == 0 {
		s.c.Breaker = spec.Breaker{Failures: 1 + c.below("failures", 3), Cooldown: 50, Wait: c.below("wait", 2) == 0, PerKey: c.below("breakers", 2) == 0}
	}
	if c.below("per key", 3) == 0 {
		s.c.PerKey.Limit = c.below("limit of a key", s.c.Limit+1)
		if c.below("rate of a key", 2) == 0 {
			s.c.PerKey.Rate = spec.Rate{PerSecond: 5e7, Burst: c.below("burst of a key", 3)}
		}
	}
	s.c.PriorityFirst = c.below("priority first", 3) == 0
	m, err := gates.New[int](s.c)
	if err != nil {
		f.Fatalf("%v", err)
	}
	s.m, s.model = m, newModel(s.c)
	s.model.filled = s.now
	return s
}

// step makes one input and compares.
func (s *scenario) step() {
	s.Helper()
	if s.below("next", 4) == 0 {
		if at, ok := s.m.Next(); ok {
			s.now = max(s.now, at) // exactly when the machine wants to be asked
		}
	} else {
		s.now += int64(s.below("passes", 4) * s.below("times", 12))
	}
	s.model.events = nil
	s.model.pass(s.now)
	outcome := []gates.Outcome{gates.Success, gates.Failure, gates.Failure, gates.Neutral, gates.FailedProbe}[s.below("outcome", 5)]
	key, attempt, returns := s.below("key", 8), 1, 0
	if t, ok := s.m.Ticket(key); ok {
		attempt, returns = max(1, t.Attempt-s.below("stale", 3)/2), max(0, t.Returns-s.below("early", 3)/2)
	}
	var step *gates.Step[int]
	input := ""
	switch s.below("input", 11) {
	case 0, 1, 2:
		priority := s.below("priority", 3) / 2
		ask := gates.Ask[int]{Key: key, Attempt: attempt, Priority: priority, Returns: returns, Once: s.below("once", 4) == 0, RunKey: runKeys[s.below("run key", 3)], Weight: s.below("weight", 3)}
		if s.below("came before", 3) == 0 {
			ask.Came = s.now - int64(s.below("before", 4)*15)
		}
		input = fmt.Sprintf("enter %+v", ask)
		step = s.m.Enter(s.now, ask)
		s.model.enter(s.now, ask)
	case 3, 4:
		until := s.now + int64(s.below("delay", 6)*17)
		if s.below("never", 6) == 0 {
			until = gates.Never
		}
		input = fmt.Sprint("backoff ", key, attempt, outcome, until)
		step = s.m.Backoff(s.now, key, attempt, outcome, until)
		s.model.backoff(s.now, key, attempt, outcome, until)
	case 5:
		input = fmt.Sprint("done ", key, outcome)
		step = s.m.Done(s.now, key, outcome)
		s.model.done(s.now, key, outcome)
	case 6:
		input = fmt.Sprint("leave ", key)
		step = s.m.Leave(s.now, key)
		s.model.done(s.now, key, gates.Neutral)
	case 7:
		input = fmt.Sprint("yield ", key)
		step = s.m.Yield(s.now, key)
		s.model.yield(key)
	case 8, 9:
		input = fmt.Sprint("return ", key, attempt, returns)
		step = s.m.Return(s.now, key, attempt, returns)
		s.model.giveBack(key, attempt, returns)
	case 10:
		paused := s.below("pause", 4) == 0
		input = fmt.Sprint("pause ", paused)
		step = s.m.Pause(s.now, paused)
		s.model.paused = paused
	}
	s.model.pass(s.now)
	s.model.serve(step.Granted)
	s.write(step)
	s.compare(input, step)
	if s.below("restart", 8) == 0 {
		s.restart()
	}
}

// write stores what the step says is new.
func (s *scenario) write(step *gates.Step[int]) {
	if !slices.Equal(slices.Compact(slices.Sorted(slices.Values(step.Changed))), slices.Sorted(slices.Values(step.Changed))) {
		s.Fatalf("a key is named twice: %v", step.Changed)
	}
	for _, key := range step.Changed {
		if t, ok := s.m.Ticket(key); ok {
			row, err := json.Marshal(t)
			if err != nil {
				s.Fatalf("%v", err)
			}
			s.rows[key] = row
		} else {
			delete(s.rows, key)
		}
	}
	if step.Record {
		s.record = s.m.Record()
	}
	for _, runKey := range step.Shares {
		if r := s.m.Share(runKey); r != (gates.ShareRecord{}) {
			s.shares[runKey] = r
		} else {
			delete(s.shares, runKey)
		}
	}
}

// compare holds the machine against the model.
func (s *scenario) compare(input string, step *gates.Step[int]) {
	s.Helper()
	var events, tickets []string
	for _, r := range step.Refused {
		events = append(events, fmt.Sprintf("refuse %d.%d %s", r.Key, r.Attempt, r.Reason))
	}
	for _, g := range step.Granted {
		events = append(events, fmt.Sprintf("grant %d.%d", g.Key, g.Attempt))
		if t, ok := s.m.Ticket(g.Key); ok && g.Probe != (t.Probe && s.c.Breaker.Wait) {
			s.Fatalf("the grant of %d says %v of a probe and the ticket %v", g.Key, g.Probe, t.Probe)
		}
	}
	for _, t := range s.m.Tickets() {
		tickets = append(tickets, fmt.Sprintf("%d.%d #%d p%d %s returns=%d slot=%v paid=%v probe=%v once=%v probed=%d", t.Key, t.Attempt, t.Number, t.Priority, t.Phase, t.Returns, t.Slot, t.Paid, t.Probe, t.Once, t.Probed))
	}
	slices.Sort(tickets)
	// Refusals come in an order of their own; that of grants is the point.
	grants := func(e string) bool { return e[0] == 'g' }
	got, want := slices.Clone(events), slices.Clone(s.model.events)
	if g, w := slices.DeleteFunc(got, func(e string) bool { return !grants(e) }), slices.DeleteFunc(want, func(e string) bool { return !grants(e) }); !slices.Equal(g, w) {
		s.Fatalf("%+v: %s at %d gave %v, not %v", s.c, input, s.now, g, w)
	}
	slices.Sort(events)
	slices.Sort(s.model.events)
	if !slices.Equal(events, s.model.events) {
		s.Fatalf("%+v: %s at %d gave %v, not %v", s.c, input, s.now, events, s.model.events)
	}
	if got, want := fmt.Sprint(tickets, s.m.Record().Paused), s.model.String(); got != want {
		s.Fatalf("%+v: after %s at %d\n%s\nnot\n%s", s.c, input, s.now, got, want)
	}
	s.compareStats(input)
}

// compareStats holds the counters against the model, and the limit.
func (s *scenario) compareStats(input string) {
	s.Helper()
	stats := s.m.Stats(s.now)
	if stats.Holders > s.c.Limit || stats.Holders != s.model.slots() {
		s.Fatalf("after %s: %d holders, limit %d, should be %d", input, stats.Holders, s.c.Limit, s.model.slots())
	}
	states := map[string]spec.BreakerState{"closed": spec.Closed, "open": spec.Open, "half-open": spec.HalfOpen}
	if all := s.model.healthOf(false, ""); !s.c.Budget.PerKey && stats.Tokens != float64(all.tokens)/1000 {
		s.Fatalf("after %s: %v tokens, not %d thousandths", input, stats.Tokens, all.tokens)
	} else if want := states[all.breaker]; s.c.Breaker.Failures > 0 && stats.Breaker != want {
		s.Fatalf("after %s: the breaker is %q, not %q", input, stats.Breaker, want)
	}
	own := map[string]gates.KeyHealth{}
	for _, k := range s.m.KeyHealths(s.now) {
		own[k.Key] = k
	}
	for _, runKey := range runKeys {
		is, known := own[runKey]
		if s.c.Budget.PerKey {
			if want := float64(s.model.healthOf(true, runKey).tokens) / 1000; known && is.Tokens != want || !known && want != float64(s.c.Budget.Tokens) {
				s.Fatalf("after %s: key %q has %+v, not %v tokens", input, runKey, is, want)
			}
		}
		if s.c.Breaker.PerKey {
			if want := s.model.healthOf(true, runKey); known && is.Breaker != states[want.breaker] || !known && want.breaker != "closed" || is.Probing != (want.probe != nil) {
				s.Fatalf("after %s: the breaker of key %q is %+v, not %+v", input, runKey, is, want)
			}
		}
	}
	if at, ok := s.m.Next(); ok && at <= s.now {
		s.Fatalf("after %s: Next is %d and now is %d", input, at, s.now)
	}
}

// restart goes on with what the database has.
func (s *scenario) restart() {
	s.Helper()
	if s.m.Forgettable(s.now) && s.below("forget", 2) == 0 {
		s.m, _ = gates.New[int](s.c)
		s.record, s.model.number = gates.Record{}, 0
		s.model.health = map[string]*modelHealth{}
		return
	}
	var tickets []gates.Ticket[int]
	for _, row := range s.rows {
		var t gates.Ticket[int]
		if err := json.Unmarshal(row, &t); err != nil {
			s.Fatalf("%v", err)
		}
		tickets = append(tickets, t)
	}
	m, err := gates.Restore(s.c, s.record, tickets, maps.Clone(s.shares))
	if err != nil {
		s.Fatalf("%v", err)
	}
	if step := m.Tick(s.now); len(step.Granted)+len(step.Refused)+len(step.Changed) > 0 {
		s.Fatalf("a restart changes %+v", step)
	}
	a, aok := s.m.Next()
	if b, bok := m.Next(); a != b || aok != bok {
		s.Fatalf("Next is %d, %v after a restart and %d, %v before", b, bok, a, aok)
	}
	s.m = m
}

// wakes checks that no call waits for ever: time alone, told to the machine only
// when Next asks for it, serves as many as time told at every moment would.
func (s *scenario) wakes() {
	for range 200 {
		at, ok := s.m.Next()
		if !ok {
			break
		}
		s.now = max(s.now, at)
		s.model.events = nil
		s.model.pass(s.now)
		step := s.m.Tick(s.now)
		s.model.serve(step.Granted)
		s.write(step)
		s.compare("wake", step)
	}
	s.now += int64(time.Hour)
	s.model.events = nil
	s.model.pass(s.now)
	s.model.serve(nil)
	if len(s.model.events) > 0 {
		s.Fatalf("%+v: Next says never, but with time come %v", s.c, s.model.events)
	}
}

func (s *scenario) run(steps int) {
	for range steps {
		s.step()
	}
	s.wakes()
}

type rapidChoices struct{ *rapid.T }

func (c rapidChoices) below(label string, n int) int { return rapid.IntRange(0, n-1).Draw(c.T, label) }

// TestR40_R41_R44_R46_TheMachineIsTheModel also proves that a gate restored from
// the rows it told us to write is the same gate, and that no wake-up is lost.
func TestR40_R41_R44_R46_TheMachineIsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		newScenario(rapidChoices{t}, t).run(rapid.IntRange(1, 60).Draw(t, "steps"))
	})
}

// byteChoices takes its numbers from bytes, zeros when they are used up.
type byteChoices struct{ data []byte }

func (c *byteChoices) below(_ string, n int) int {
	if len(c.data) == 0 {
		return 0
	}
	b := int(c.data[0])
	c.data = c.data[1:]
	return b % n
}

func FuzzMachine(f *testing.F) {
	f.Add([]byte("a gate with two seats and a man who comes and goes"))
	f.Add([]byte{2, 1, 0, 0, 2, 0, 1, 1, 0, 2, 1, 3, 3, 2, 1, 9, 4, 1, 1, 5})
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &byteChoices{data: data[:min(len(data), 1000)]}
		s := newScenario(c, t)
		for len(c.data) > 0 {
			s.step()
		}
		s.wakes()
	})
}
