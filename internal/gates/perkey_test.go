package gates_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/gates"
)

// clinic is a gate at which some run keys fail: their attempts end as they are told.
type clinic struct {
	t    *testing.T
	c    spec.Spec
	m    *gates.Machine[string]
	now  int64
	said []string // what the gate has said since the last look
}

func newClinic(t *testing.T, c spec.Spec) *clinic {
	if c.Mode == "" {
		c.Mode = spec.Rejoin
	}
	m, err := gates.New[string](c)
	if err != nil {
		t.Fatal(err)
	}
	return &clinic{t: t, c: c, m: m, now: int64(time.Hour)}
}

// heed notes who may start, and then who is refused.
func (c *clinic) heed(s *gates.Step[string]) {
	for _, g := range s.Granted {
		c.said = append(c.said, "+"+g.Key)
	}
	for _, r := range s.Refused {
		c.said = append(c.said, "-"+r.Key)
	}
}

// enter lets a call in, whose first letter is its run key.
func (c *clinic) enter(call string) {
	c.heed(c.m.Enter(c.now, gates.Ask[string]{Key: call, Attempt: 1, RunKey: call[:1]}))
}

func (c *clinic) end(call string, o gates.Outcome) { c.heed(c.m.Done(c.now, call, o)) }

// fail ends an attempt: the next one is due now.
func (c *clinic) fail(call string) {
	t, _ := c.m.Ticket(call)
	c.heed(c.m.Backoff(c.now, call, t.Attempt, gates.Failure, c.now))
}

func (c *clinic) pass(d time.Duration) {
	c.now += int64(d)
	c.heed(c.m.Tick(c.now))
}

// expect holds what the gate has said against what it should have.
func (c *clinic) expect(want string) {
	c.t.Helper()
	if got := fmt.Sprint(c.said); got != "["+want+"]" {
		c.t.Errorf("the gate said %s, not [%s]", got, want)
	}
	c.said = nil
}

// restart goes on with what a database has.
func (c *clinic) restart() {
	c.t.Helper()
	shares := map[string]gates.ShareRecord{}
	for _, k := range []string{"a", "b", "c"} {
		if r := c.m.Share(k); r != (gates.ShareRecord{}) {
			shares[k] = r
		}
	}
	m, err := gates.Restore(c.c, c.m.Record(), c.m.Tickets(), maps.Clone(shares))
	if err != nil {
		c.t.Fatal(err)
	}
	c.m = m
	c.heed(m.Tick(c.now))
}

func (c *clinic) health() string {
	var all []string
	for _, k := range c.m.KeyHealths(c.now) {
		all = append(all, fmt.Sprint(k.Key, " ", k.Breaker, " ", k.Probing, " ", k.Tokens))
	}
	return fmt.Sprint(slices.Sorted(slices.Values(all)))
}

var ownBreaker = spec.Spec{Limit: 3, Breaker: spec.Breaker{Failures: 2, Cooldown: time.Minute, Wait: true, PerKey: true}}

// TestT3_TheBreakerOfAKeyStopsNoOther: it opens for one key alone, lets one attempt of it pass after its
// cooldown, and closes with its success; also after restarts.
func TestT3_TheBreakerOfAKeyStopsNoOther(t *testing.T) {
	for _, mode := range []spec.Mode{spec.Rejoin, spec.Release, spec.Hold} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprint(mode, restart), func(t *testing.T) {
				config := ownBreaker
				config.Mode = mode
				c := newClinic(t, config)
				again := func() {
					if restart {
						c.restart()
					}
				}
				c.enter("a1")
				c.enter("a2")
				c.expect("+a1 +a2")
				c.fail("a1")
				c.expect("+a1")
				again()
				c.fail("a2")
				c.expect("")
				again()
				c.enter("b1")
				c.expect("+b1")
				c.end("a1", gates.Success) // it started before
				if mode != spec.Hold {
					c.enter("b2")
					c.enter("b3")
					c.expect("+b2 +b3") // what a does not take others do
					c.end("b2", gates.Success)
					c.end("b3", gates.Success)
				}
				again()
				c.enter("a3")
				c.pass(time.Minute - 1)
				c.expect("")
				c.pass(1)
				c.expect("+a2") // the probe, alone
				again()
				c.pass(time.Hour)
				c.expect("")
				c.heed(c.m.Backoff(c.now, "a2", 2, gates.FailedProbe, c.now))
				c.pass(time.Minute)
				again()
				c.expect("+a3") // they take turns
				c.end("a3", gates.Success)
				c.expect("+a2")
				if got := c.health(); got != "[]" {
					t.Errorf("something is remembered: %s", got)
				}
			})
		}
	}
}

// TestT3_TheBreakerOfAKeyRefusesItsCallsAlone where calls do not wait, also while its probe runs, and those
// that came while the gate was paused when it is resumed.
func TestT3_TheBreakerOfAKeyRefusesItsCallsAlone(t *testing.T) {
	config := ownBreaker
	config.Breaker.Wait, config.Limit = false, 1
	c := newClinic(t, config)
	for _, call := range []string{"a1", "a2", "a3", "a4", "b1", "b2"} {
		c.enter(call)
	}
	c.end("a1", gates.Failure)
	c.end("b1", gates.Failure)
	c.expect("+a1 +b1 +a2")
	c.end("a2", gates.Failure)
	c.expect("+b2 -a3 -a4")
	c.enter("a5")
	c.expect("-a5")
	c.heed(c.m.Pause(c.now, true))
	c.enter("a6")
	c.enter("b3")
	c.restart()
	c.end("b2", gates.Success)
	c.expect("")
	c.heed(c.m.Pause(c.now, false))
	c.expect("+b3 -a6")
	c.end("b3", gates.Success)
	c.pass(time.Minute)
	c.enter("a7")
	c.enter("a8")
	c.expect("+a7 -a8")
}

// TestT3_TheBreakerOfAKeyRefusesWhatItsRateHoldsBack: a call that keeps its slot too.
func TestT3_TheBreakerOfAKeyRefusesWhatItsRateHoldsBack(t *testing.T) {
	c := newClinic(t, spec.Spec{
		Mode: spec.Hold, Limit: 3, PerKey: spec.PerKey{Rate: spec.Rate{PerSecond: 0.1, Burst: 2}},
		Breaker: spec.Breaker{Failures: 2, Cooldown: time.Minute, PerKey: true},
	})
	c.enter("a1")
	c.enter("a2")
	c.fail("a1")
	c.expect("+a1 +a2")
	c.fail("a2")
	c.expect("-a1 -a2")
}

// TestT3_ALongCooldownIsNotForgotten while it lasts, and for an hour after it.
func TestT3_ALongCooldownIsNotForgotten(t *testing.T) {
	c := newClinic(t, spec.Spec{Limit: 1, Breaker: spec.Breaker{Failures: 1, Cooldown: 10 * time.Hour, PerKey: true}})
	c.enter("a1")
	c.end("a1", gates.Failure)
	c.pass(11*time.Hour - 1)
	if got := c.health(); got != "[a half_open false 0]" {
		t.Error(got)
	}
	if c.pass(1); !c.m.Forgettable(c.now) {
		t.Errorf("the gate remembers %s", c.health())
	}
}

// TestT3_TheBudgetOfAKeyIsSpentByItAlone.
func TestT3_TheBudgetOfAKeyIsSpentByItAlone(t *testing.T) {
	c := newClinic(t, spec.Spec{Limit: 9, Budget: spec.Budget{Tokens: 2, Refund: 0.5, PerKey: true}})
	c.enter("a1")
	c.fail("a1")
	c.fail("a1")
	c.expect("+a1 +a1 +a1")
	c.restart()
	c.fail("a1")
	c.expect("-a1")
	c.enter("b1")
	c.fail("b1")
	c.expect("+b1 +b1")
	c.enter("a2")
	c.end("a2", gates.Success)
	if got := c.health(); got != "[a  false 0.5 b  false 1]" {
		t.Error(got)
	}
}

// TestT3_AKeyThatIsWellIsForgotten: a key whose breaker counts failures, or is open, or whose budget lacks
// something, is remembered for an hour after that was of use, and not while it has calls.
func TestT3_AKeyThatIsWellIsForgotten(t *testing.T) {
	config := ownBreaker
	config.Budget = spec.Budget{Tokens: 5, PerKey: true}
	c := newClinic(t, config)
	c.enter("a1")
	c.end("a1", gates.Failure)
	c.enter("b1")
	c.fail("b1")
	c.fail("b1") // its breaker is open, and it waits
	c.enter("c1")
	c.end("c1", gates.Success)
	if got := c.health(); got != "[a closed false 5 b open false 3]" {
		t.Error(got)
	}
	c.pass(time.Hour)
	if c.restart(); c.m.Share("a") != (gates.ShareRecord{}) || c.m.Share("b") == (gates.ShareRecord{}) {
		t.Errorf("a is %+v, b is %+v", c.m.Share("a"), c.m.Share("b"))
	}
	c.fail("b1")
	c.pass(10 * time.Hour)
	c.said = nil
	c.end("b1", gates.Neutral)
	c.pass(time.Hour - 1)
	if got := c.health(); got != "[b half_open false 2]" {
		t.Error(got)
	}
	c.pass(1)
	if got := c.health(); got != "[]" || !c.m.Forgettable(c.now) {
		t.Errorf("the gate remembers %s", got)
	}
}

// TestT3_PeopleMendAKeyOrAll: they send a probe, close breakers and fill budgets, of one key or of all; and
// what each key has for itself becomes one for all, and the other way round.
func TestT3_PeopleMendAKeyOrAll(t *testing.T) {
	config := ownBreaker
	config.Budget = spec.Budget{Tokens: 5, PerKey: true}
	ill := func() *clinic {
		c := newClinic(t, config)
		for _, call := range []string{"a1", "b1", "c1"} {
			c.enter(call)
			c.fail(call)
			c.fail(call)
		}
		c.said = nil
		return c
	}
	c := ill()
	c.heed(c.m.Probe(c.now, "b"))
	c.expect("+b1")
	c.heed(c.m.Probe(c.now, ""))
	c.expect("+a1 +c1")
	if got := c.health(); got != "[a half_open true 3 b half_open true 3 c half_open true 3]" {
		t.Error(got)
	}
	c.heed(c.m.Refill(c.now, "c"))
	c.heed(c.m.Close(c.now, "a"))
	if got := c.health(); got != "[a closed false 3 b half_open true 3 c half_open true 5]" {
		t.Error(got)
	}
	c = ill()
	c.heed(c.m.Close(c.now, ""))
	c.expect("+a1 +b1 +c1")
	c.heed(c.m.Refill(c.now, ""))
	if got := c.health(); got != "[]" {
		t.Error(got)
	}

	c = ill()
	change := func(perKey bool) {
		t.Helper()
		c.c.Breaker.PerKey, c.c.Budget.PerKey = perKey, perKey
		s, err := c.m.Reconfigure(c.now, c.c)
		if err != nil {
			t.Fatal(err)
		}
		c.heed(s)
	}
	change(false)
	c.expect("+a1 +b1 +c1")
	if c.m.Share("a") != (gates.ShareRecord{}) {
		t.Errorf("a has %+v", c.m.Share("a"))
	}
	c.fail("a1")
	c.fail("b1") // the breaker of all
	c.said = nil
	change(true)
	c.expect("+b1")
	if r := c.m.Record(); r.Health != (gates.Health{}) {
		t.Errorf("the gate has %+v", r.Health)
	}
}

// TestT3_WorkThatTellsNothingPassesTheBreakerOfItsKey one at a time, where nothing else of the key waits.
func TestT3_WorkThatTellsNothingPassesTheBreakerOfItsKey(t *testing.T) {
	config := ownBreaker
	config.Limit = 9
	c := newClinic(t, config)
	c.enter("a1")
	c.end("a1", gates.Failure)
	c.enter("a2")
	c.end("a2", gates.Failure)
	c.said = nil
	for _, call := range []string{"a3", "a4", "b1"} {
		c.heed(c.m.Enter(c.now, gates.Ask[string]{Key: call, Attempt: 1, RunKey: call[:1], Silent: true}))
	}
	c.expect("+b1")
	c.pass(time.Minute)
	c.expect("+a3")
	c.enter("b2")
	c.enter("b3")
	c.enter("b4")
	c.expect("+b2 +b3 +b4") // it stops no other key, not even in its turn
	c.end("a3", gates.Neutral)
	c.expect("+a4")
	c.heed(c.m.Enter(c.now, gates.Ask[string]{Key: "a6", Attempt: 1, RunKey: "a", Silent: true}))
	c.enter("a5")
	c.expect("+a5") // the probe
	c.end("a4", gates.Neutral)
	c.expect("")
	c.end("a5", gates.Success)
	c.expect("+a6")
}

// TestT3_AProbeTakesTheTurnOfTheFirstWithASlot: of a key that tries again, a call whose only attempt
// it would be is the probe only if there is no other, and calls of other keys wait all the same.
func TestT3_AProbeTakesTheTurnOfTheFirstWithASlot(t *testing.T) {
	c := newClinic(t, spec.Spec{Name: "g", Limit: 2, Mode: spec.Hold, Breaker: spec.Breaker{Failures: 1, Cooldown: 10 * time.Second, Wait: true, PerKey: true}})
	c.heed(c.m.Enter(c.now, gates.Ask[string]{Key: "a1", Attempt: 1, RunKey: "a", Once: true}))
	c.expect("+a1")
	c.heed(c.m.Backoff(c.now, "a1", 1, gates.Failure, c.now+int64(time.Second)))
	c.heed(c.m.Pause(c.now, true))
	c.enter("b1")
	c.pass(time.Second)
	c.enter("a2")
	c.pass(time.Minute)
	c.expect("")
	c.heed(c.m.Pause(c.now, false))
	c.expect("+a2")
}
