package record

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

func TestWhatIsSavedIsLoaded(t *testing.T) {
	of := store.RunRef{Partition: 3, Run: "r"}
	rows := []core.Row{{Call: 7, State: core.Backoff, Name: "charge", Queue: "q", Attempt: 2, Due: 5, Data: []byte("{}")}}
	calls := StoreRows(of, rows)
	if got := Rows(calls); !reflect.DeepEqual(got, rows) {
		t.Errorf("rows became %+v", got)
	}
	if calls[0].Partition != 3 || calls[0].Run != "r" {
		t.Errorf("the row is that of run %q in partition %d", calls[0].Run, calls[0].Partition)
	}
	state := core.State{Status: core.StatusParked, Wake: 1, Closed: 2, Detail: []byte("d"), Full: true}
	if got := State(StoreState(state)); !reflect.DeepEqual(got, state) {
		t.Errorf("the state became %+v", got)
	}
	attributes := map[string]string{"customer": "ann", "region": "eu"}
	if got := Attributes(StoreAttributes(attributes, "")); !reflect.DeepEqual(got, attributes) {
		t.Errorf("attributes became %v", got)
	}
}

func TestANewRunIsDueWhenItsFirstTurnIs(t *testing.T) {
	for first, wake := range map[int64]int64{0: store.Hot, 17: 17} {
		start := history.Start{WorkflowID: "w", Run: "r", Type: "flow", Chain: "r", Attempt: 1, FirstTurn: first}
		row, err := NewRun(5, &start)
		if err != nil {
			t.Fatal(err)
		}
		if row.Wake != wake || row.Status != store.Running || row.Partition != 5 {
			t.Errorf("with its first turn at %d the row is %+v", first, row)
		}
		past, err := Decode(&store.Record{Run: *row})
		if err != nil || past.Start.WorkflowID != "w" || past.State.Wake != wake {
			t.Errorf("it is read as %+v, %v", past, err)
		}
	}
}

func TestTalliesCountByTheHour(t *testing.T) {
	turn := &core.Turn{Number: 2, Time: 3*int64(TallySpan) + 5, Tallies: []core.Tally{{Name: "charge", Took: 3, FirstTry: 2}}}
	charge := store.Tally{TallyKey: store.TallyKey{Bucket: 3 * int64(TallySpan), Type: "flow", Name: "charge", Took: 3}, FirstTry: 2}
	if tallies := Tallies("flow", &history.Start{}, turn); !slices.Equal(tallies, []store.Tally{charge}) {
		t.Errorf("counted %+v", tallies)
	}
}

// TestRunsAreCounted when their first turn is taken and when they end.
func TestRunsAreCounted(t *testing.T) {
	copied := &history.Base{Cuts: []history.Cut{{Turn: 4}}}
	of := func(took int64) store.TallyKey { return store.TallyKey{Type: "w", Took: took} }
	for _, c := range []struct {
		base   *history.Base
		number int64
		status core.Status
		want   []store.Tally
	}{
		{nil, 1, core.StatusRunning, []store.Tally{{TallyKey: of(0), Started: 1}}},
		{nil, 2, core.StatusRunning, nil},
		{copied, 1, core.StatusRunning, nil},
		{copied, 5, core.StatusRunning, []store.Tally{{TallyKey: of(0), Started: 1}}},
		{nil, 1, core.StatusCompleted, []store.Tally{{TallyKey: of(0), Started: 1}, {TallyKey: of(3e6), FirstTry: 1}}},
		{nil, 2, core.StatusFailed, []store.Tally{{TallyKey: of(3e6), Failed: 1}}},
		{nil, 2, core.StatusTimedOut, []store.Tally{{TallyKey: of(3e6), Failed: 1}}},
		{nil, 2, core.StatusTerminated, []store.Tally{{TallyKey: of(3e6), Canceled: 1}}},
		{nil, 2, core.StatusContinued, nil},
	} {
		turn := &core.Turn{Number: c.number, Time: 2e6 + 1, State: &core.State{Detail: nil}}
		if turn.State.Status = c.status; c.status != core.StatusRunning {
			turn.State.Closed = 2e6 + 1
		}
		if got := Tallies("w", &history.Start{Base: c.base, Created: 1}, turn); !slices.Equal(got, c.want) {
			t.Errorf("turn %d after %+v that leaves the run %s counts %+v", c.number, c.base, c.status, got)
		}
	}
}

// TestI23_DamagedTurnsAreNamed: those that cannot be read and those that are missing. All
// others are read.
func TestI23_DamagedTurnsAreNamed(t *testing.T) {
	start := &history.Start{Run: "r"}
	var stored []store.TurnRow
	for n := int64(1); n <= 9; n++ {
		doc, err := history.SealTurn("r", n, 7, []history.Event{{Kind: history.CodeAdvanced}})
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, store.TurnRow{Number: n, Time: 7, Events: doc})
	}
	stored[3].Events = []byte("{")
	stored[4].Time++
	stored = append(stored[:1:1], append(stored[2:5:5], stored[7:]...)...)
	turns, damage := Turns(start, 0, stored)
	var got []string
	for _, d := range damage {
		got = append(got, d.Error()[:min(len(d.Error()), 40)])
	}
	want := []string{"turn 2 is missing", "turn 4 is damaged: it has no checksum", "turn 5 is damaged: its checksum is ", "turn 6 is missing, as are the 1 that fol"}
	for i := range want {
		if len(got) != len(want) || !strings.HasPrefix(got[i], want[i]) {
			t.Fatalf("the damage is %q, not %q", got, want)
		}
	}
	if len(turns) != 4 || len(Before(turns, 2)) != 1 || len(Before(turns, 99)) != 4 {
		t.Errorf("read are %+v", turns)
	}
}

// TestI23_AStartEventIsThatOfItsRun: what cannot be read of it is told by the row.
func TestI23_AStartEventIsThatOfItsRun(t *testing.T) {
	row, err := NewRun(5, &history.Start{WorkflowID: "w", Run: "r", Type: "flow", Chain: "c", Attempt: 2, Deadline: 5})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := Start(row); err != nil || s.Run != "r" {
		t.Errorf("undamaged: %+v, %v", s, err)
	}
	for _, damage := range []func(*store.Run){
		func(r *store.Run) { r.ID = "other" },
		func(r *store.Run) {
			r.Start = bytes.Replace(r.Start, []byte(`"deadline":5`), []byte(`"deadline":6`), 1)
		},
		func(r *store.Run) { r.Start = nil },
	} {
		r := *row
		damage(&r)
		s, err := Start(&r)
		var d *history.DamageError
		if !errors.As(err, &d) || d.Part != "the start event" || s.Run != r.ID || s.WorkflowID != "w" || s.Chain != "c" || s.Attempt != 2 {
			t.Errorf("read as %+v, %v", s, err)
		}
		if past, err := Decode(&store.Record{Run: r, Turns: []store.TurnRow{{Number: 3}}}); err == nil || past.Last != 3 {
			t.Errorf("the past is %+v, %v", past, err)
		}
	}
}
