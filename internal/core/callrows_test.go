package core

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// fan is a program that makes calls at once and waits for all.
type fan struct {
	run   *Run
	names []string // of the calls
	calls []*Call
	// cancels says which call is canceled once another is done.
	cancels map[int]int
	over    map[int]bool
}

func (f *fan) Advance() error {
	if f.calls == nil {
		for _, name := range f.names {
			policy := retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(1000), Jitter: retry.NoJitter}
			f.calls = append(f.calls, f.run.StartCall(StartCall{Kind: history.ActivityScheduled, Name: name, Policy: &policy}))
		}
		return nil
	}
	for goes := true; goes; { // canceling a call may end it
		goes = false
		for i, c := range f.calls {
			if other, has := f.cancels[i]; has && c.Done && !f.over[i] {
				f.over[i], goes = true, true
				f.run.Cancel(f.calls[other], false)
			}
		}
	}
	if !slices.ContainsFunc(f.calls, func(c *Call) bool { return !c.Done }) {
		f.run.Complete(history.Payload{})
	}
	return nil
}
func (f *fan) CancelComes(string) {}
func (f *fan) Canceled(string)    {}
func (f *fan) Halt()              {}
func (f *fan) Unread() []*Call    { return nil }

func (f *fan) Validate(string, history.Payload) error      { return nil }
func (f *fan) Accept(string, string, history.Payload) bool { return false }

// fanned is a run with a fan, and what a store keeps of it.
type fanned struct {
	run     *Run
	names   []string
	cancels map[int]int
	turns   []StoredTurn
	rows    map[int64]Row
	state   State
	now     int64
}

func newFan(names []string, cancels map[int]int) *fanned {
	f := &fanned{names: names, cancels: cancels, rows: map[int64]Row{}, state: State{Status: StatusRunning, Wake: Hot}, now: 1}
	f.run = f.machine()
	return f
}

func (f *fanned) machine() *Run {
	run := New(Config{Node: "n", Owner: func(int64) string { return "n" }}, history.Start{WorkflowID: "w", Run: "r"})
	run.Bind(&fan{run: run, names: f.names, cancels: f.cancels, over: map[int]bool{}})
	return run
}

// step takes a step with so many free slots and returns its turn, after it is durable.
func (f *fanned) step(t rapid.TB, slots int, inputs ...Input) *Turn {
	t.Helper()
	out, err := f.run.Step(f.now, inputs, func(*Call) bool { slots--; return slots >= 0 })
	if err != nil {
		t.Fatal(err)
	}
	if out.Number > 0 {
		f.turns = append(f.turns, StoredTurn{Number: out.Number, Time: out.Time, Events: slices.Clone(out.Events)})
	}
	for _, row := range out.Rows {
		f.rows[row.Call] = row
	}
	for _, n := range out.Closed {
		if _, has := f.rows[n]; !has {
			t.Fatalf("the row of call %d is deleted, and there is none", n)
		}
		delete(f.rows, n)
	}
	if out.State != nil {
		f.state = *out.State
	}
	return out
}

// check holds the rows against the machine, and against one that is made from them, which goes on in
// its place if reload is set.
func (f *fanned) check(t rapid.TB, reload bool) {
	t.Helper()
	own := map[int64]int64{} // row of each call
	for number, row := range f.rows {
		for n := row.first(); n <= row.Call; n++ {
			if other, has := own[n]; has {
				t.Fatalf("call %d is in the rows %d and %d", n, other, number)
			}
			own[n] = number
			if c := f.run.calls.byNumber[n]; c == nil || !c.hasRow {
				t.Fatalf("row %d is about call %d, which has none", number, n)
			} else if r := c.row(); r.State != row.State || r.Name != row.Name || r.Attempt != row.Attempt || r.Due != row.Due || string(r.Data) != string(row.Data) {
				t.Fatalf("row %d says of call %d\n%s %s, it is\n%s %s", number, n, row.State, row.Data, r.State, r.Data)
			}
		}
	}
	for n, c := range f.run.calls.byNumber {
		if _, has := own[n]; has != c.hasRow {
			t.Fatalf("call %d has a row: %t, in the store: %t", n, c.hasRow, has)
		}
	}
	again := f.machine()
	if err := again.Load(f.turns, slices.Collect(maps.Values(f.rows)), f.state); err != nil {
		t.Fatal(err)
	}
	if a, b := f.run.Dump(), again.Dump(); a != b {
		t.Fatalf("made from the rows the machine is\n%s\nand it is\n%s", b, a)
	}
	if reload {
		f.run = again
	}
}

// TestE6_AFanOutThatWaitsIsOneRow: a thousand calls that wait for slots are one row, which
// becomes shorter as they begin; those that begin together are one more.
func TestE6_AFanOutThatWaitsIsOneRow(t *testing.T) {
	f := newFan(slices.Repeat([]string{"work"}, 1000), nil)
	out := f.step(t, 100)
	if len(out.Dispatch) != 100 || len(out.Rows) != 1 || out.Rows[0].First != 101 || out.Rows[0].Call != 1000 {
		t.Fatalf("%d begin, and these rows are written: %+v", len(out.Dispatch), out.Rows)
	}
	rows, closed := 1, 0
	for began := out.Dispatch; len(began) > 0; began = out.Dispatch {
		f.now++
		var ends []Input
		for _, d := range began {
			ends = append(ends, AttemptEnded{Call: d.Call, Attempt: 1, Outcome: Completed, Ended: f.now})
		}
		out = f.step(t, 100, append(ends, SlotsOpen{})...)
		f.check(t, true)
		rows, closed = rows+len(out.Rows), closed+len(out.Closed)
	}
	if !out.Ended || rows > 2*10 || closed > 10 || len(f.rows) > 0 {
		t.Errorf("it ended: %t, wrote %d rows, deleted %d, and leaves %v", out.Ended, rows, closed, f.rows)
	}
}

// TestE1_RowsThatAreSharedSayWhatOnesOwnWould: whatever calls do, in whatever order, their rows say
// of each of them what is so, and the run goes on from them.
func TestE1_RowsThatAreSharedSayWhatOnesOwnWould(t *testing.T) {
	shared := 0
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"work", "work", "work", "other"}), 1, 12).Draw(t, "names")
		cancels := rapid.MapOfN(rapid.IntRange(0, len(names)-1), rapid.IntRange(0, len(names)-1), 0, 3).Draw(t, "cancels")
		f := newFan(names, cancels)
		f.step(t, rapid.IntRange(0, len(names)).Draw(t, "slots"))
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			f.check(t, rapid.Bool().Draw(t, "reload"))
			f.now += rapid.SampledFrom([]int64{0, 1, 1000, 5000}).Draw(t, "time")
			var inputs []Input
			if rapid.IntRange(0, 5).Draw(t, "taken over") == 0 {
				f.check(t, true)
				inputs = append(inputs, TakenOver{})
			}
			for _, n := range slices.Sorted(maps.Keys(f.run.calls.byNumber)) {
				c := f.run.calls.byNumber[n]
				switch rapid.IntRange(0, 5).Draw(t, "happens") {
				case 0:
					if c.state == Dispatched {
						inputs = append(inputs, AttemptEnded{Call: n, Attempt: c.attempt, Outcome: Completed, Ended: f.now})
					}
				case 1:
					if c.state == Dispatched {
						inputs = append(inputs, AttemptEnded{Call: n, Attempt: c.attempt, Outcome: Failed, Failure: &history.Failure{Message: "down"}, Ended: f.now})
					}
				case 2:
					if c.state == Dispatched {
						inputs = append(inputs, Heartbeat{Call: n, Attempt: c.attempt, At: f.now})
					}
				case 3:
					operation := PauseCall
					if c.Pause != nil {
						operation = ResumeCall
					}
					inputs = append(inputs, Control{Operation: operation, Calls: Selection{Call: n}})
				}
			}
			if rapid.Bool().Draw(t, "slots open") {
				inputs = append(inputs, SlotsOpen{})
			}
			f.step(t, rapid.IntRange(0, len(names)).Draw(t, "slots"), inputs...)
			for _, row := range f.rows {
				if row.First != 0 {
					shared++
				}
			}
			if f.run.facts.ended {
				break
			}
		}
		if f.run.facts.ended {
			if len(f.rows) > 0 {
				t.Fatalf("the run ended and leaves %v", f.rows)
			}
			return
		}
		f.check(t, false)
	})
	if shared == 0 {
		t.Error("no row was shared")
	}
}

// TestE41_RowsOfOtherCallsAreDamage: a row that shares what is not its own, or claims very many calls,
// is not believed.
func TestE41_RowsOfOtherCallsAreDamage(t *testing.T) {
	f := newFan([]string{"work", "work", "work", "other"}, nil)
	f.step(t, 0)
	row := f.rows[3]
	if len(f.rows) != 2 || row.First != 1 {
		t.Fatalf("the rows are %+v", f.rows)
	}
	shared := func(first, last int64) Row {
		r := row
		r.First, r.Call = first, last
		return r
	}
	for what, rows := range map[string][]Row{
		"another activity":      {shared(1, 4)},
		"a call twice":          {shared(1, 2), shared(2, 3)},
		"a call of another row": {shared(1, 3), shared(0, 2)},
		"none":                  {shared(3, 3)},
		"nobody":                {shared(2, 9)},
		"the wrong way":         {shared(3, 1)},
		"before the first":      {shared(-5, 3)},
		"very many":             {shared(1, 1<<40)},
	} {
		if err := f.machine().Load(f.turns, rows, f.state); !hasDamage(err) {
			t.Errorf("a row about %s is loaded: %v", what, err)
		}
		again := f.machine()
		if err := again.LoadDamaged(f.turns, f.turns[0].Number, rows, f.state); err != nil {
			t.Fatal(err)
		}
		out, err := again.Step(2, []Input{TakenOver{}, Control{Operation: TerminateTheRun}}, func(*Call) bool { return false })
		if err != nil || !out.Ended {
			t.Errorf("a run with a row about %s does not end: %+v, %v", what, out, err)
		}
		for _, r := range rows {
			if !slices.Contains(out.Closed, r.Call) {
				t.Errorf("with a row about %s row %d is left: %v", what, r.Call, out.Closed)
			}
		}
	}
}

func hasDamage(err error) bool {
	_, is := errors.AsType[*history.DamageError](err)
	return is
}
