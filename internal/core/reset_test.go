package core_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
)

// A run that goes on from any call of any random program, at any time, through
// crashes and without code, is held against all that other runs are held against: a
// machine made from the records is the machine in memory, before and after it goes on.
// What had ended before the call does not begin again. And again from there.
func TestE60_ResetOfRandomPrograms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ops := drawOps(t, 2)
		program := random(ops)
		t.Logf("program %v", ops)
		d := newDriver(t, program, 0)
		for range rapid.IntRange(1, 3).Draw(t, "lives") {
			for range rapid.IntRange(1, 25).Draw(t, "steps") {
				if d.run.Ended() {
					break
				}
				inputs := drawInputs(t, d, program)
				twinStep(t, d, inputs)
			}
			next := drawReset(t, d, program)
			if next == nil {
				return
			}
			d = next
		}
	})
}

// drawReset begins a run that goes on from a call of another one; nil if that cannot be.
func drawReset(t *rapid.T, d *driver, program maker) *driver {
	turns := decoded(t, d.turns)
	call := rapid.Int64Range(1, 12).Draw(t, "call")
	cut, err := core.CutAt(&d.start, turns, call)
	if err != nil {
		t.Logf("no cut at call %d: %v", call, err)
		return nil
	}
	t.Logf("go on from call %d: %s", call, cut)
	request := core.Control{ID: "reset", By: "ann", Reason: "so"}
	if rapid.Bool().Draw(t, "fork") {
		return goOn(t, d, program, cut, cut.Fork(&d.start, "order-2", d.start.Run+"f", d.now, request))
	}
	return goOn(t, d, program, cut, cut.Reset(&d.start, d.start.Run+"r", d.now, request))
}

// goOn begins a run that goes on from a cut.
func goOn(t tester, d *driver, program maker, cut *core.Cut, start *history.Start) *driver {
	turns := decoded(t, d.turns)
	next := newDriver(t, program, 0)
	next.start = *start
	next.now, next.before, next.late = d.now, map[int64]bool{}, map[int64]bool{}
	for _, turn := range append(slices.Clone(turns[:cut.Turns]), cut.Last) {
		events, err := history.EncodeTurn(turn.Events)
		if err != nil {
			t.Fatal(err)
		}
		next.turns = append(next.turns, storedTurn{number: turn.Number, time: turn.Time, events: events})
		behind := len(turn.Events)
		if n, is := next.start.Base.CutOf(turn.Number); is {
			behind = n
		}
		for i, e := range turn.Events {
			switch e.Kind {
			case history.CallCompleted, history.CallFailed, history.CallCanceled, history.TimerFired, history.TimerCanceled:
				next.closed[e.Call], next.before[e.Call] = true, true // and must not end again
				if turn.Number == cut.Last.Number && i >= behind {
					next.late[e.Call] = true
				}
			case history.CallCancelRequested:
				if e.Closed {
					next.closed[e.Call], next.before[e.Call] = true, true
				}
			case history.ChildScheduled, history.DetachedScheduled:
				next.children[e.Call] = &childBook{run: e.Child.Run, begun: true, over: true}
			}
		}
	}
	if err := next.reload(program); err != nil {
		t.Fatalf("the run that goes on cannot be loaded: %v", err)
	}
	return next
}

// TestE60_ACallThatBeginsAgainTakesItsOwnTime: the counters hold a call that is started again from
// when the run went on, also if the run is loaded before it counts the call.
func TestE60_ACallThatBeginsAgainTakesItsOwnTime(t *testing.T) {
	parallel := programOf(t, "parallel")
	d := newDriver(t, parallel, 0)
	step := func(d *driver, inputs ...core.Input) *core.Turn {
		t.Helper()
		turn, err := d.step(inputs, func(*core.Call) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		return turn
	}
	step(d)
	d.now += int64(time.Hour)
	cut, err := core.CutAt(&d.start, decoded(t, d.turns), 2)
	if err != nil {
		t.Fatal(err)
	}
	d = goOn(t, d, parallel, cut, cut.Reset(&d.start, d.start.Run+"r", d.now, core.Control{ID: "reset"}))
	step(d, core.TakenOver{})
	done, _ := history.Encode("done")
	end := func(call int64) core.Input {
		return core.AttemptEnded{Call: call, Attempt: 1, Outcome: core.Completed, Result: done, Ended: d.now}
	}
	step(d, end(1))
	if err := d.reload(parallel); err != nil {
		t.Fatal(err)
	}
	step(d, core.TakenOver{Alive: d.alive()}, end(2))
	turn := step(d, end(3))
	for _, tally := range turn.Tallies {
		if tally.Took != time.Millisecond {
			t.Errorf("%s took %v of the time before it was started again", tally.Name, tally.Took)
		}
	}
	if len(turn.Tallies) != 3 {
		t.Errorf("it counts %+v", turn.Tallies)
	}
}

func decoded(t tester, stored []storedTurn) (turns []core.StoredTurn) {
	for _, s := range stored {
		events, err := history.DecodeTurn(s.events)
		if err != nil {
			t.Fatal(err)
		}
		turns = append(turns, core.StoredTurn{Number: s.number, Epoch: s.epoch, Time: s.time, Events: events})
	}
	return turns
}

// TestE11_E60_AResetKeepsTheOriginOfItsChain: what the chain was started with, which a repeated
// start is compared to, is in the run that a reset makes, also if an earlier run handed it on.
// When retention has removed the first run, nobody else knows it. A fork begins a chain.
func TestE11_E60_AResetKeepsTheOriginOfItsChain(t *testing.T) {
	in := func(text string) history.Payload {
		return history.Payload{Encoding: history.EncodingJSON, Data: []byte(text)}
	}
	first := history.NewOrigin("order", in(`1`))
	for name, source := range map[string]*history.Start{
		"the first run": {Run: "r1", Chain: "r1", Type: "order", Input: in(`1`)},
		"a later run":   {Run: "r2", Chain: "r1", Type: "order", Input: in(`2`), First: &first},
	} {
		reset := (&core.Cut{}).Reset(source, "r9", 5, core.Control{})
		if reset.First == nil || *reset.First != first || !reset.Origin().HasInput(in(`1`)) || reset.Origin().HasInput(in(`2`)) {
			t.Errorf("of %s the origin is %+v", name, reset.First)
		}
		if fork := (&core.Cut{}).Fork(source, "other", "r3", 5, core.Control{}); fork.First != nil {
			t.Errorf("a fork of %s has the origin %+v", name, fork.First)
		}
	}
}
