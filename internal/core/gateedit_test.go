package core

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/history"
)

// door is a gate that is loaded from its rows before each step.
func recorded(e spec.Edit) *history.GateEdit {
	edit := history.RecordGateEdit(e)
	return &edit
}

type door struct {
	t     *testing.T
	now   int64
	rows  map[int64]Row
	state State
	gate  *Gate
}

func newDoor(t *testing.T) *door { return &door{t: t, rows: map[int64]Row{}, gate: NewGate("door")} }

func (d *door) hear(m ToGate) *StandingTurn {
	d.t.Helper()
	if d.state.Detail != nil {
		var rows []Row
		for _, r := range d.rows {
			rows = append(rows, r)
		}
		var err error
		if d.gate, err = LoadGate("door", rows, d.state); err != nil {
			d.t.Fatal(err)
		}
	}
	d.now += int64(time.Second)
	m.Gate = "door"
	out := d.gate.Step(d.now, []Input{m})
	for _, r := range out.Rows {
		d.rows[r.Call] = r
	}
	for _, n := range out.Closed {
		delete(d.rows, n)
	}
	if out.State != nil {
		d.state = *out.State
	}
	return out
}

func (d *door) enter(run string, declared spec.Spec) *StandingTurn {
	return d.hear(ToGate{Word: GateEnter, Ticket: ticket(run, 1), Attempt: 1, Spec: onRecord(declared)})
}

// last is the outcome of what was said last.
func (d *door) last() string {
	log := d.gate.Log()
	return log[len(log)-1].Outcome + ": " + log[len(log)-1].Text
}

func (d *door) expect(what, got, want string) {
	d.t.Helper()
	if got != want {
		d.t.Errorf("%s: %s; expected %s", what, got, want)
	}
}

// TestE104_AnEditHoldsForWhatItNames: whatever the code declares, until it is taken back;
// the rest follows the code.
func TestE104_AnEditHoldsForWhatItNames(t *testing.T) {
	d := newDoor(t)
	d.enter("a", aGate(1, spec.Rejoin))
	d.enter("b", aGate(1, spec.Rejoin))
	d.enter("c", aGate(1, spec.Rejoin))
	edit := ToGate{Word: GateEdit, Edits: recorded(spec.Edit{Limit: 2}), By: "ann", Why: "they can take more"}
	if out := d.hear(edit); len(out.Say) != 1 || out.Say[0].Word != GateGranted {
		t.Errorf("limit 1 -> 2 lets %+v start", out.Say)
	}
	d.expect("edited", d.last(), "applied: limit 1 -> 2")
	d.hear(edit)
	d.expect("again", d.last(), "unchanged: it does that already")

	next := aGate(1, spec.Rejoin)
	next.Rate = spec.Rate{PerSecond: 5}
	out := d.enter("d", next) // a deployment
	if is := d.gate.Detail().Spec; is.Limit != 2 || is.Rate.PerSecond != 5 || out.Replacing == nil || *out.Replacing != next {
		t.Errorf("after a deployment it does %+v, and says %+v", is, out.Replacing)
	}
	d.hear(ToGate{Word: GateEdit, Edits: recorded(spec.Edit{Rate: &spec.Rate{}}), By: "bob"})
	d.expect("the rate ends", d.last(), "applied: rate 5/s -> none")
	if e := d.gate.Detail().Edited; e == nil || e.Limit != 2 || e.By != "bob" || spec.Spec(e.Declared) != next {
		t.Errorf("the edits are %+v", e)
	}
	d.hear(ToGate{Word: GateEdit, Edits: recorded(spec.Edit{Budget: &spec.Budget{Tokens: -1}})})
	if !strings.HasPrefix(d.last(), "refused: Budget.Tokens is -1") || d.gate.Detail().Spec.Budget != (spec.Budget{}) {
		t.Errorf("senseless: %s", d.last())
	}
	d.hear(ToGate{Word: GateEdit, Anew: true, Edits: recorded(spec.Edit{Limit: 7})})
	d.expect("anew", d.last(), "applied: limit 2 -> 7, rate none -> 5/s")
	d.hear(ToGate{Word: GateEdit, Anew: true})
	d.expect("as in code", d.last(), "applied: limit 7 -> 1")
	if e := d.gate.Detail(); e.Edited != nil || spec.Spec(e.Spec) != next {
		t.Errorf("at last it does %+v, edited %+v", e.Spec, e.Edited)
	}
}

// TestE104_APreviewIsWhatHappens: the preview of an edit counts those that start.
func TestE104_APreviewIsWhatHappens(t *testing.T) {
	declared := aGate(3, spec.Rejoin)
	said := []Input{}
	for n := range 43 {
		said = append(said, ToGate{Gate: "door", Word: GateEnter, Ticket: ticket(fmt.Sprint(n), 1), Attempt: 1, Spec: onRecord(declared)})
	}
	preview := func(m ToGate) GatePreview {
		g := NewGate("door")
		g.Step(1, said)
		return g.Preview(2, &m)
	}
	if p := preview(ToGate{Word: GateEdit, Edits: recorded(spec.Edit{Limit: 10})}); p.Waiting != 40 || p.Starting != 7 || p.Holders != 3 || p.Outcome != Applied || p.After.Limit != 10 {
		t.Errorf("3 -> 10: %+v", p)
	}
	if p := preview(ToGate{Word: GateEdit, Edits: recorded(spec.Edit{Limit: 2})}); p.Starting != 0 || p.Before.Limit != 3 || p.After.Limit != 2 {
		t.Errorf("3 -> 2: %+v", p)
	}
	if p := preview(ToGate{Word: GateEdit, Edits: recorded(spec.Edit{Limit: 30, Rate: &spec.Rate{PerSecond: 1, Burst: 4}})}); p.Starting != 4 {
		t.Errorf("a rate: %+v", p)
	}
	if p := preview(ToGate{Word: GateReset, Parts: []string{PartBreaker}}); p.Outcome != Unchanged || p.Text != "it has no circuit breaker" {
		t.Errorf("no breaker: %+v", p)
	}
}

// TestE105_AProbeByHand: one attempt passes an open breaker, and its outcome decides.
func TestE105_AProbeByHand(t *testing.T) {
	for _, c := range []struct {
		outcome  gates.Outcome
		breaker  spec.BreakerState
		released int
	}{{gates.Success, spec.Closed, 2}, {gates.Failure, spec.Open, 0}} {
		d := newDoor(t)
		declared := aGate(5, spec.Rejoin)
		declared.Breaker = spec.Breaker{Failures: 1, Cooldown: time.Hour, Wait: true}
		d.enter("a", declared)
		d.hear(ToGate{Word: GateProbe, By: "ann"})
		d.expect("closed", d.last(), "unchanged: its circuit breaker is closed: attempts pass")
		d.hear(ToGate{Word: GateDone, Ticket: ticket("a", 1), Attempt: 1, Outcome: gates.Failure})
		for _, run := range []string{"b", "c", "d"} {
			if out := d.enter(run, declared); len(out.Say) != 0 {
				t.Errorf("%s passes an open breaker", run)
			}
		}
		d.hear(ToGate{Word: GatePause, By: "bob"})
		d.hear(ToGate{Word: GateProbe, By: "ann"})
		d.expect("paused", d.last(), "refused: it is paused: no attempt passes until it is resumed")
		d.hear(ToGate{Word: GateResume, By: "bob"})
		out := d.hear(ToGate{Word: GateProbe, By: "ann", Why: "they say it is up"})
		if len(out.Say) != 1 || out.Say[0].Ticket != ticket("b", 1) {
			t.Errorf("the probe: %+v", out.Say)
		}
		d.expect("probed", d.last(), "applied: one attempt passes as the probe")
		if out := d.hear(ToGate{Word: GateProbe, By: "ann"}); len(out.Say) != 0 {
			t.Errorf("two probes: %+v", out.Say)
		}
		d.expect("again", d.last(), "unchanged: a probe runs: its outcome decides")
		out = d.hear(ToGate{Word: GateDone, Ticket: ticket("b", 1), Attempt: 1, Outcome: c.outcome})
		if len(out.Say) != c.released || d.gate.Stats(d.now).Breaker != c.breaker {
			t.Errorf("after %s %d pass, and it is %s", c.outcome, len(out.Say), d.gate.Stats(d.now).Breaker)
		}
		out = d.hear(ToGate{Word: GateReset, Parts: []string{PartBreaker, PartBudget}})
		if c.outcome == gates.Failure {
			d.expect("reset", d.last(), "applied: its circuit breaker is closed; it has no retry budget")
			if len(out.Say) != 2 {
				t.Errorf("after the reset %+v", out.Say)
			}
		}
	}
}

// TestF21_TheLogIsBounded: the latest hundred notes are kept, each written once.
func TestF21_TheLogIsBounded(t *testing.T) {
	d := newDoor(t)
	d.enter("a", aGate(1, spec.Rejoin))
	for n := range 130 {
		word := GatePause
		if n%2 == 1 {
			word = GateResume
		}
		out := d.hear(ToGate{Word: word, By: fmt.Sprint(n), Why: "so"})
		if len(out.Rows) != 1 || out.Rows[0].State != Noted {
			t.Fatalf("it writes %+v", out.Rows)
		}
	}
	log := d.gate.Log()
	if len(log) != maxNotes || log[0].By != "30" || log[maxNotes-1].By != "129" || log[5].Word != "resume" {
		t.Errorf("it has %d notes, from %+v to %+v", len(log), log[0], log[len(log)-1])
	}
	if len(d.rows) != maxNotes+1 {
		t.Errorf("there are %d rows", len(d.rows))
	}
	if out := d.enter("b", aGate(1, spec.Rejoin)); len(out.Rows) != 1 || out.Rows[0].State != TicketWaiting {
		t.Errorf("a call that comes writes %+v", out.Rows)
	}
	if data, _ := json.Marshal(d.gate.Detail()); strings.Contains(string(data), "so") {
		t.Errorf("the log is in the gate's document: %s", data)
	}
}

// TestT3_OfAKeyOnlyAChangeIsReported: that its breaker opened, and that it closed, once each, although the
// gate is read from its rows in between; and the row says whether it is open.
func TestT3_OfAKeyOnlyAChangeIsReported(t *testing.T) {
	d := newDoor(t)
	declared := spec.Spec{Name: "door", Mode: spec.Rejoin, Limit: 5, Breaker: spec.Breaker{Failures: 1, Cooldown: time.Hour, Wait: true, PerKey: true}, Budget: spec.Budget{Tokens: 9, PerKey: true}}
	state := func() (all []CallState) {
		for _, r := range d.rows {
			if r.Name == "ann" {
				all = append(all, r.State)
			}
		}
		return all
	}
	say := func(m ToGate) []KeyBreaker { return d.hear(m).Breakers }
	for _, run := range []string{"a", "b"} {
		if got := say(ToGate{Word: GateEnter, Ticket: ticket(run, 1), Attempt: 1, RunKey: "ann", Spec: onRecord(declared)}); got != nil {
			t.Errorf("the first call changes %+v", got)
		}
	}
	backoff := func(run string) []KeyBreaker {
		return say(ToGate{Word: GateBackoff, Ticket: ticket(run, 1), Attempt: 1, Outcome: gates.Failure, Until: d.now})
	}
	if got := backoff("a"); len(got) != 1 || got[0].Key != "ann" || got[0].Was != 0 || got[0].Until == 0 || got[0].Failures != 1 || fmt.Sprint(state()) != "[#tripped]" {
		t.Errorf("when it opens: %+v, %v", got, state())
	}
	if got := backoff("b"); got != nil { // which costs a token
		t.Errorf("when something else of the key changes: %+v", got)
	}
	got := say(ToGate{Word: GateReset, Parts: []string{PartBreaker}, Key: "ann"})
	if len(got) != 1 || got[0].Was == 0 || got[0].Until != 0 || fmt.Sprint(state()) != "[#share]" {
		t.Errorf("when it is closed: %+v, %v", got, state())
	}
}
