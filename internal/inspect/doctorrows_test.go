package inspect

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/roomtest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// shared makes a run whose first call has ended and whose others wait for slots: 2 to 5, which share
// a row, and 6, which has its own. Call 7 is a timer.
func shared(t *testing.T) (*roomtest.Scene, *Inspector, *roomtest.Run) {
	s, in := scene(t)
	s.Define("order", func(w *roomtest.Work) (any, error) {
		_ = w.Call("pack")
		calls := []*core.Call{}
		for range 4 {
			calls = append(calls, w.Start("charge"))
		}
		calls = append(calls, w.Start("ship"), w.Run.StartTimer("", 24*time.Hour))
		return nil, w.Wait(calls...)
	})
	r := s.Begin("order", "o")
	s.Admit = noSlot
	r.Completes(1, 1)
	return s, in, r
}

// TestI25_TheDoctorFindsRowsThatContradict: each other, or the history. Loading the run refuses
// the same rows with the same words.
func TestI25_TheDoctorFindsRowsThatContradict(t *testing.T) {
	another := func(number, first int64) func(rows []store.Call) []store.Call {
		return func(rows []store.Call) []store.Call {
			added := rows[0]
			added.Number, added.First = number, first
			rows = append(rows, added)
			slices.SortFunc(rows, func(a, b store.Call) int { return int(a.Number - b.Number) })
			return rows
		}
	}
	for what, c := range map[string]struct {
		rows    func([]store.Call) []store.Call
		problem string
	}{
		"nothing":                         {nil, ""},
		"a call of another row":           {another(3, 0), "the row of calls 2 to 5 is damaged: another row is about call 3, too"},
		"calls of another row":            {another(4, 2), "the row of calls 2 to 5 is damaged: another row is about call 2, too"},
		"a call that is not in history":   {another(9, 0), "the row of call 9 is damaged: call 9 is not open in history"},
		"calls that are not in history":   {another(12, 9), "the row of calls 9 to 12 is damaged: call 9 is not open in history"},
		"a call that has ended":           {another(1, 0), "the row of call 1 is damaged: call 1 is not open in history"},
		"a timer":                         {another(7, 0), `the row of call 7 is damaged: call 7 is no call of "charge" in history`},
		"a call that is another's":        {func(rows []store.Call) []store.Call { rows[1].Name = "bill"; return rows }, `the row of call 6 is damaged: call 6 is no call of "bill" in history`},
		"calls one of which is another's": {func(rows []store.Call) []store.Call { rows[0].Number = 6; return rows[:1] }, `the row of calls 2 to 6 is damaged: call 6 is no call of "charge" in history`},
	} {
		t.Run(what, func(t *testing.T) {
			s, in, r := shared(t)
			in.db = &damaging{Store: s.DB, rows: c.rows}
			got, err := in.Doctor(t.Context(), view.DoctorFilter{})
			if err != nil || got.OK != (c.problem == "") || len(got.Findings) > 1 {
				t.Fatalf("it found %+v, %v", got, err)
			}
			if c.problem == "" {
				return
			}
			f := got.Findings[0]
			if f.Kind != view.FindingDamage || f.Problem != c.problem || f.RunID != r.ID || f.WorkflowID != "o" || !strings.Contains(f.Do, "reset the run") {
				t.Errorf("it found %+v", f)
			}
		})
	}
}

// TestI25_TheDoctorFindsRowsThatAreLeft of a run that has ended.
func TestI25_TheDoctorFindsRowsThatAreLeft(t *testing.T) {
	s, in, r := shared(t)
	left, err := s.DB.Calls(t.Context(), r.Partition, r.ID)
	s.Must(err)
	r.Step(core.Control{Operation: core.TerminateTheRun})
	if got, err := in.Doctor(t.Context(), view.DoctorFilter{}); err != nil || !got.OK {
		t.Fatalf("where all is well it found %+v, %v", got, err)
	}
	in.db = &damaging{Store: s.DB, rows: func([]store.Call) []store.Call { return left[1:] }}
	got, err := in.Doctor(t.Context(), view.DoctorFilter{})
	if err != nil || len(got.Findings) != 1 || got.Findings[0].Problem != "the row of call 6 is damaged: its run has ended, and no call of it is open" || !strings.HasPrefix(got.Findings[0].Do, "delete it with perdure gc") {
		t.Errorf("it found %+v, %v", got, err)
	}
}

// moving is a database in which a run moves on once its rows have been read.
type moving struct {
	store.Store
	moves func()
	loads int
}

func (m *moving) Calls(ctx context.Context, partition int, run string) ([]store.Call, error) {
	calls, err := m.Store.Calls(ctx, partition, run)
	if m.moves != nil {
		m.moves()
		m.moves = nil
	}
	return calls, err
}

func (m *moving) Load(ctx context.Context, partition int, run string) (*store.Record, error) {
	m.loads++
	return m.Store.Load(ctx, partition, run)
}

// TestI25_TheDoctorBelievesNoRowsOfBefore: engines run meanwhile, so what contradicts is read again,
// at one moment, and what has ended meanwhile is as it should be.
func TestI25_TheDoctorBelievesNoRowsOfBefore(t *testing.T) {
	for how, moves := range map[string]func(s *roomtest.Scene, r *roomtest.Run){
		"calls end":    func(s *roomtest.Scene, r *roomtest.Run) { s.Admit = nil; r.Step(core.SlotsOpen{}); r.Completes(3, 1) },
		"the run ends": func(s *roomtest.Scene, r *roomtest.Run) { r.Step(core.Control{Operation: core.TerminateTheRun}) },
	} {
		t.Run(how, func(t *testing.T) {
			s, in, r := shared(t)
			db := &moving{Store: s.DB, moves: func() { moves(s, r) }}
			in.db = db
			got, err := in.Doctor(t.Context(), view.DoctorFilter{})
			if err != nil || !got.OK || db.loads > 1 {
				t.Errorf("it found %+v after %d loads, %v", got, db.loads, err)
			}
		})
	}
}

// paged counts the turns of the longest part of a history that was read.
type paged struct {
	moving
	most int
}

func (p *paged) History(ctx context.Context, partition int, run string, after int64, limit int) ([]store.TurnRow, error) {
	turns, err := p.Store.History(ctx, partition, run, after, limit)
	p.most = max(p.most, len(turns))
	return turns, err
}

// TestI25_TheDoctorReadsALongHistoryInParts: also to hold rows against it.
func TestI25_TheDoctorReadsALongHistoryInParts(t *testing.T) {
	s, in := scene(t)
	const calls = doctorTurns + 5
	s.Define("long", func(w *roomtest.Work) (any, error) {
		for range calls {
			_ = w.Call("step")
		}
		return nil, w.Call("wait", roomtest.Seconds(3))
	})
	r := s.Begin("long", "l")
	for n := range calls {
		r.Completes(int64(n)+1, nil)
	}
	r.Fails(calls+1, "Busy", "no")
	db := &paged{moving: moving{Store: s.DB}}
	in.db = db
	got, err := in.Doctor(t.Context(), view.DoctorFilter{})
	if err != nil || !got.OK || got.Turns <= doctorTurns || db.most > doctorTurns || db.loads != 0 {
		t.Errorf("it found %+v in parts of %d turns after %d loads, %v", got, db.most, db.loads, err)
	}
	in.db = &damaging{Store: s.DB, call: func(c *store.Call) { c.Number = 3 }}
	got, err = in.Doctor(t.Context(), view.DoctorFilter{})
	if err != nil || len(got.Findings) != 1 || got.Findings[0].Problem != "the row of call 3 is damaged: call 3 is not open in history" {
		t.Errorf("it found %+v, %v", got, err)
	}
}

// TestI25_TheDoctorSurvivesAHistoryThatMakesNoSense: bytes that can be read and that no machine can
// be made of are a finding, as they park the run.
func TestI25_TheDoctorSurvivesAHistoryThatMakesNoSense(t *testing.T) {
	s, in, r := shared(t)
	in.db = &damaging{Store: s.DB, turn: func(turn *store.TurnRow) bool {
		if turn.Number == 1 {
			events, err := history.SealTurn(r.ID, 1, turn.Time, []history.Event{{Kind: history.ChildScheduled, Call: 1, Name: "pack"}})
			s.Must(err)
			turn.Events = events
		}
		return true
	}}
	got, err := in.Doctor(t.Context(), view.DoctorFilter{})
	if err != nil || len(got.Findings) != 1 || !strings.HasPrefix(got.Findings[0].Problem, "what is on record cannot be worked with: panic: ") {
		t.Errorf("it found %+v, %v", got, err)
	}
}
