package core

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/history"
	"pgregory.net/rapid"
)

func onRecord(s spec.Spec) *history.GateSpec { return (*history.GateSpec)(&s) }

func aGate(limit int, mode spec.Mode) spec.Spec {
	return spec.Spec{Name: "door", Limit: limit, Mode: mode}
}

func ticket(run string, n int) TicketKey {
	return TicketKey{Workflow: run, Run: run, Call: 1, Ticket: n}
}

// TestR47_AHolderThatIsLostIsFoundOut: the gate tells those who have held it for
// long again, takes the slot from one who does not know of it, and then rests.
func TestR47_AHolderThatIsLostIsFoundOut(t *testing.T) {
	declared, key := aGate(1, spec.Rejoin), ticket("r", 1)
	g := NewGate("door")
	out := g.Step(1, []Input{ToGate{Gate: "door", Word: GateEnter, Ticket: key, Attempt: 1, Spec: onRecord(declared)}})
	if len(out.Say) != 1 || out.Say[0].Word != GateGranted {
		t.Fatalf("it said %+v", out.Say)
	}
	out = g.Step(g.NextDue(), nil)
	if len(out.Say) != 1 || out.Say[0].Word != GateGranted || out.Say[0].Ticket != key {
		t.Fatalf("then it said %+v", out.Say)
	}
	answer, needed := out.Say[0].Decline()
	if !needed {
		t.Fatal("no answer is needed")
	}
	g.Step(g.now+1, []Input{answer})
	if len(g.Tickets()) != 0 {
		t.Errorf("it has %+v", g.Tickets())
	}
	if out = g.Step(g.NextDue(), nil); len(out.Say) != 0 || g.NextDue() != g.now+int64(forgetAfter) {
		t.Errorf("at last it said %+v, and is due at %d", out.Say, g.NextDue())
	}
}

// TestR47_AGateThatNobodyUsesIsForgotten: a week after the last call, unless it would
// do something else if it was made again.
func TestR47_AGateThatNobodyUsesIsForgotten(t *testing.T) {
	plain := aGate(1, spec.Rejoin)
	thrifty := plain
	thrifty.Budget = spec.Budget{Tokens: 3}
	fused := plain
	fused.Breaker = spec.Breaker{Failures: 3, Cooldown: 5}
	key := ticket("r", 1)
	enter := func(declared spec.Spec, attempt int) ToGate {
		return ToGate{Gate: "door", Word: GateEnter, Ticket: key, Attempt: attempt, Spec: onRecord(declared)}
	}
	left := ToGate{Gate: "door", Word: GateDone, Ticket: key, Attempt: 1, Outcome: gates.Success}
	failed := ToGate{Gate: "door", Word: GateDone, Ticket: key, Attempt: 1, Outcome: gates.Failure}
	for name, c := range map[string]struct {
		said []ToGate
		kept bool
	}{
		"used":             {[]ToGate{enter(plain, 1), left}, false},
		"used with care":   {[]ToGate{enter(fused, 1), left}, false},
		"held":             {[]ToGate{enter(plain, 1)}, true},
		"paused":           {[]ToGate{enter(plain, 1), left, {Gate: "door", Word: GatePause}}, true},
		"counts a failure": {[]ToGate{enter(fused, 1), failed}, true},
		"has paid": {[]ToGate{enter(thrifty, 1), {Gate: "door", Word: GateBackoff, Ticket: key, Attempt: 1, Outcome: gates.Failure, Until: 2}, enter(thrifty, 2),
			{Gate: "door", Word: GateDone, Ticket: key, Attempt: 2, Outcome: gates.Success}}, true},
	} {
		g, now := NewGate("door"), int64(1)
		for _, m := range c.said {
			g.Step(now, []Input{m})
			now += 10
		}
		begun, over := now, false
		for g.NextDue() != Never && now < begun+int64(4*forgetAfter) && !over {
			now = max(now, g.NextDue())
			over = g.Step(now, nil).Over
		}
		if over == c.kept || over && now-begun < int64(forgetAfter) {
			t.Errorf("%s: forgotten %t, after %s", name, over, time.Duration(now-begun))
		}
	}

	g := NewGate("door")
	g.Step(1, []Input{enter(plain, 1), left})
	g.Step(g.NextDue(), nil) // nobody is there
	g.Step(g.NextDue()-1, []Input{enter(plain, 1), left})
	if out := g.Step(g.NextDue(), nil); out.Over || g.NextDue() != g.now+int64(forgetAfter) {
		t.Errorf("it was used a moment ago, and is forgotten: %t, due %d", out.Over, g.NextDue())
	}

	// A pause that comes when the gate was just forgotten holds.
	g = NewGate("door")
	g.Step(1, []Input{ToGate{Gate: "door", Word: GatePause, By: "ann", Spec: onRecord(plain)}})
	if out := g.Step(2, []Input{enter(plain, 1)}); len(out.Say) != 0 || g.Detail().Pause == nil || out.State != nil && out.State.Status != StatusStanding {
		t.Errorf("somebody passes a paused gate: %+v", out)
	}
}

// TestR47_TheLatestSpecIsRight: and a difference is noticed.
func TestR47_TheLatestSpecIsRight(t *testing.T) {
	g := NewGate("door")
	enter := func(run string, declared spec.Spec) *StandingTurn {
		return g.Step(1, []Input{ToGate{Gate: "door", Word: GateEnter, Ticket: ticket(run, 1), Attempt: 1, Spec: onRecord(declared)}})
	}
	if out := enter("a", aGate(1, spec.Rejoin)); out.Replaced != nil || len(out.Say) != 1 {
		t.Errorf("%+v", out)
	}
	if out := enter("b", aGate(1, spec.Rejoin)); out.Replaced != nil || len(out.Say) != 0 {
		t.Errorf("%+v", out)
	}
	if out := enter("c", aGate(3, spec.Rejoin)); out.Replaced == nil || out.Replaced.Limit != 1 || len(out.Say) != 2 {
		t.Errorf("%+v", out)
	}
	if out := enter("d", aGate(0, spec.Rejoin)); len(out.Faults) != 1 || g.Detail().Spec.Limit != 3 {
		t.Errorf("%+v", out)
	}
}

// TestR47_GateIsItsRows: a gate that is loaded from its rows after any step goes on
// as the one that made them, and hearing the same twice changes nothing.
func TestR47_GateIsItsRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		declared := aGate(rapid.IntRange(1, 3).Draw(t, "limit"), rapid.SampledFrom([]spec.Mode{spec.Hold, spec.Release, spec.Rejoin}).Draw(t, "mode"))
		declared.Budget = spec.Budget{Tokens: 3, Refund: 0.5}
		declared.Breaker = spec.Breaker{Failures: 3, Cooldown: 5, Wait: true}
		declared.Rate = spec.Rate{PerSecond: 3e8, Burst: 2}
		kept, loaded := NewGate("door"), NewGate("door")
		rows := map[int64]Row{}
		now := int64(1)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now += rapid.Int64Range(0, 4).Draw(t, "time")
			m := drawWord(t, declared, now)
			if m.Word == GateBackoff {
				m.Attempt = min(m.Attempt, lastGranted(kept, m.Ticket))
			}
			a, b := kept.Step(now, []Input{m}), loaded.Step(now, []Input{m})
			if x, y := shown(a), shown(b); x != y {
				t.Fatalf("the one kept in memory\n%s\nthe one loaded\n%s", x, y)
			}
			if again := loaded.Step(now, []Input{m}); m.Word != GateEnter && len(again.Say) > 0 {
				t.Fatalf("%+v again made it say %+v", m, again.Say)
			} else if m.Word != GateEnter && !again.Empty() {
				t.Fatalf("%+v again made %+v", m, again)
			}
			if kept.machine == nil {
				continue
			}
			kept.Step(now, []Input{m})
			for _, row := range b.Rows {
				rows[row.Call] = row
			}
			for _, n := range b.Closed {
				delete(rows, n)
			}
			if s := kept.Stats(now); s.Holders > declared.Limit {
				t.Fatalf("%d hold it, and it lets %d pass", s.Holders, declared.Limit)
			}
			list := make([]Row, 0, len(rows))
			for _, row := range rows {
				list = append(list, row)
			}
			rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			var err error
			if loaded, err = LoadGate("door", list, loaded.State()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// lastGranted is the last attempt that may have ended: one that was not
// granted has none.
func lastGranted(g *Gate, key TicketKey) int {
	if g.machine == nil {
		return 0
	}
	switch at, ok := g.machine.Ticket(key); {
	case !ok, at.Phase == gates.Running:
		return at.Attempt
	default:
		return at.Attempt - 1
	}
}

// shown is what others see of a turn; which row a ticket has does not show.
func shown(t *StandingTurn) string {
	var tickets []string
	for _, row := range t.Rows {
		tickets = append(tickets, fmt.Sprint(row.State, row.Attempt, row.Due, string(row.Data)))
	}
	slices.Sort(tickets)
	return fmt.Sprintf("said %+v, wrote %v, deleted %d", t.Say, tickets, len(t.Closed))
}

func drawWord(t *rapid.T, declared spec.Spec, now int64) ToGate {
	m := ToGate{
		Gate: "door", Ticket: ticket(rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "run"), 1),
		Attempt: rapid.IntRange(1, 3).Draw(t, "attempt"),
		Outcome: rapid.SampledFrom([]gates.Outcome{gates.Success, gates.Failure, gates.Neutral}).Draw(t, "outcome"),
	}
	switch m.Word = rapid.SampledFrom([]GateWord{GateEnter, GateEnter, GateBackoff, GateDone}).Draw(t, "word"); m.Word {
	case GateEnter:
		m.Spec, m.Priority = onRecord(declared), rapid.IntRange(-1, 1).Draw(t, "priority")
	case GateBackoff:
		m.Until = now + rapid.Int64Range(0, 5).Draw(t, "delay")
		m.Yield, m.Judge = rapid.Bool().Draw(t, "yield"), rapid.Bool().Draw(t, "judge")
	}
	return m
}
