package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

// damaging is a database of which parts cannot be read.
type damaging struct {
	store.Store
	run     func(*store.Run)
	call    func(*store.Call)
	rows    func([]store.Call) []store.Call
	turn    func(*store.TurnRow) (keep bool)
	attempt func(*store.Attempt)
}

func (d *damaging) Find(ctx context.Context, partition int, workflowID, run string) (*store.Run, error) {
	r, err := d.Store.Find(ctx, partition, workflowID, run)
	if err == nil && d.run != nil {
		d.run(r)
	}
	return r, err
}

func (d *damaging) List(ctx context.Context, f store.Filter) ([]store.Run, error) {
	rows, err := d.Store.List(ctx, f)
	for i := range rows {
		if d.run != nil {
			d.run(&rows[i])
		}
	}
	return rows, err
}

func (d *damaging) Load(ctx context.Context, partition int, run string) (*store.Record, error) {
	r, err := d.Store.Load(ctx, partition, run)
	if err == nil {
		if d.run != nil {
			d.run(&r.Run)
		}
		r.Calls, r.Turns = d.calls(r.Calls), d.turns(r.Turns)
	}
	return r, err
}

func (d *damaging) calls(all []store.Call) []store.Call {
	for i := range all {
		if d.call != nil {
			d.call(&all[i])
		}
	}
	if d.rows != nil {
		all = d.rows(all)
	}
	return all
}

func (d *damaging) Calls(ctx context.Context, partition int, run string) ([]store.Call, error) {
	calls, err := d.Store.Calls(ctx, partition, run)
	return d.calls(calls), err
}

func (d *damaging) History(ctx context.Context, partition int, run string, after int64, limit int) ([]store.TurnRow, error) {
	turns, err := d.Store.History(ctx, partition, run, after, limit)
	return d.turns(turns), err
}

func (d *damaging) turns(all []store.TurnRow) []store.TurnRow {
	if d.turn == nil {
		return all
	}
	kept := all[:0]
	for i := range all {
		if d.turn(&all[i]) {
			kept = append(kept, all[i])
		}
	}
	return kept
}

func (d *damaging) Attempts(ctx context.Context, partition int, run string, part store.AttemptRange) ([]store.Attempt, error) {
	all, err := d.Store.Attempts(ctx, partition, run, part)
	for i := range all {
		if d.attempt != nil {
			d.attempt(&all[i])
		}
	}
	return all, err
}

// turned damages a document: one of its bytes is another one.
func turned(document []byte) []byte {
	out := bytes.Clone(document)
	out[len(out)/2] ^= 0x15
	return out
}

// wrong makes a run with a call in backoff and a closed one, and damages it.
func wrong(t *testing.T, how damaging) (*roomtest.Scene, *Inspector, *roomtest.Run) {
	s, in := scene(t)
	s.Define("order", func(w *roomtest.Work) (any, error) {
		_ = w.Call("reserve", roomtest.Seconds(3))
		_ = w.Call("charge", roomtest.Seconds(3))
		return nil, w.Call("ship", roomtest.Seconds(3))
	})
	r := s.Begin("order", "o")
	r.Fails(1, "Busy", "no")
	s.Pass(time.Second)
	r.Completes(1, 1)
	r.Completes(2, 1)
	r.Fails(3, "Busy", "no")
	how.Store = s.DB
	in.db = &how
	return s, in, r
}

// TestI25_TheDoctorFindsEachDamage: where it is, what it is and what to do, and nothing else; and
// a description says the same, with the last call before it.
func TestI25_TheDoctorFindsEachDamage(t *testing.T) {
	for name, c := range map[string]struct {
		how      damaging
		kind     string
		turn     int64
		problem  string
		lastCall int64
		silent   bool // a description does not read it
	}{
		"nothing":     {damaging{}, "", 0, "", 0, false},
		"start event": {damaging{run: func(r *store.Run) { r.Start = turned(r.Start) }}, view.FindingDamage, 0, "the start event is damaged", 0, false},
		"detail":      {damaging{run: func(r *store.Run) { r.Detail = []byte("{") }}, view.FindingDamage, 0, "damaged", 3, false},
		"a turn": {damaging{turn: func(r *store.TurnRow) bool {
			if r.Number == 2 {
				r.Events = turned(r.Events)
			}
			return true
		}}, view.FindingDamage, 2, "turn 2 is damaged", 1, false},
		"a missing turn": {damaging{turn: func(r *store.TurnRow) bool { return r.Number != 2 }}, view.FindingMissing, 2, "turn 2 is missing", 1, false},
		"a call's row":   {damaging{call: func(c *store.Call) { c.Data = turned(c.Data) }}, view.FindingDamage, 0, "the row of call 3 is damaged", 3, false},
		"an attempt": {damaging{attempt: func(a *store.Attempt) {
			if a.Call == 3 {
				a.Data = turned(a.Data)
			}
		}}, view.FindingDamage, 0, "the record of attempt 1 of call 3 is damaged", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			_, in, r := wrong(t, c.how)
			got, err := in.Doctor(t.Context(), view.DoctorFilter{})
			if err != nil || got.OK != (c.kind == "") || got.Runs != 1 {
				t.Fatalf("it found %+v, %v", got, err)
			}
			d := describe(t, in, "o")
			if c.kind == "" {
				if len(got.Findings) != 0 || d.Damage != nil || got.Turns != 3 {
					t.Errorf("all is well, and it found %+v, %+v", got, d.Damage)
				}
				return
			}
			f := got.Findings[0]
			if len(got.Findings) != 1 || f.Kind != c.kind || f.Turn != c.turn || f.RunID != r.ID || f.WorkflowID != "o" || f.Status != view.StatusRunning || !strings.Contains(f.Problem, c.problem) || !strings.Contains(f.Do, "reset the run") {
				t.Errorf("it found %+v", got.Findings)
			}
			if c.silent {
				attempts, err := in.Attempts(t.Context(), "o", "", view.AttemptRange{})
				if err != nil || !strings.Contains(attempts[len(attempts)-1].Message, "(the record of this attempt is damaged") {
					t.Errorf("the attempts are %+v, %v", attempts, err)
				}
				return
			}
			if d.Damage == nil || !strings.Contains(d.Damage.Problem, c.problem) || d.Damage.Turn != c.turn || d.Damage.LastCall != c.lastCall {
				t.Errorf("the description says %+v", d.Damage)
			}
		})
	}
}

// TestI24_ADamagedTurnIsAnEventOfItsOwn: the others are as they were.
func TestI24_ADamagedTurnIsAnEventOfItsOwn(t *testing.T) {
	_, in, r := wrong(t, damaging{})
	before, err := in.Events(t.Context(), "o", r.ID, view.HistoryRange{})
	if err != nil {
		t.Fatal(err)
	}
	in.db.(*damaging).turn = func(t *store.TurnRow) bool {
		if t.Number == 2 {
			t.Events = turned(t.Events)
		}
		return true
	}
	after, err := in.Events(t.Context(), "o", r.ID, view.HistoryRange{})
	if err != nil {
		t.Fatal(err)
	}
	of := func(all []view.Event) (kinds []string) {
		for _, ev := range all {
			kinds = append(kinds, fmt.Sprint(ev.Turn, ev.Kind))
		}
		return kinds
	}
	want := slices.DeleteFunc(slices.Clone(before), func(ev view.Event) bool { return ev.Turn == 2 })
	at := slices.IndexFunc(want, func(ev view.Event) bool { return ev.Turn == 3 })
	want = slices.Insert(want, at, view.Event{Turn: 2, Kind: string(turnDamaged)})
	if !slices.Equal(of(after), of(want)) {
		t.Errorf("the events are %q, not %q", of(after), of(want))
	}
	var damage *history.DamageError
	if _, err := in.Record(t.Context(), "o", ""); !errors.As(err, &damage) || damage.Turn != 2 {
		t.Errorf("its recording: %v", err)
	}
	start := r.Core.Start()
	cut, err := in.CutAt(t.Context(), r.Partition, &start, 1, false)
	if err != nil || damageOf(cut.Damage) == nil || damageOf(cut.Damage).Turn != 2 {
		t.Errorf("before the damage it is cut at %+v, %v", cut, err)
	}
	if _, err := in.CutAt(t.Context(), r.Partition, &start, 3, false); err == nil || !strings.Contains(err.Error(), "the last call before it is call 1") {
		t.Errorf("after the damage: %v", err)
	}
}

// TestI24_ADamagedGateOrScheduleIsNamed: in its list, by the doctor and in the status.
func TestI24_ADamagedGateOrScheduleIsNamed(t *testing.T) {
	s, in := scene(t)
	s.Define("bank", charges(roomtest.Through(door)))
	s.Begin("bank", "a")
	s.Serve()
	setSchedule(s, "hourly", history.Schedule{Every: time.Hour, CatchUp: time.Minute, Overlap: "skip", Workflow: "bank"})
	in.db = &damaging{Store: s.DB, run: func(r *store.Run) {
		if r.Status == store.Standing {
			r.Detail = turned(r.Detail)
		}
	}}
	gates, err := in.Gates(t.Context())
	if err != nil || len(gates) != 1 || !strings.Contains(gates[0].Problem, "the row of the gate is damaged") {
		t.Errorf("the gates are %+v, %v", gates, err)
	}
	schedules, err := in.Schedules(t.Context())
	if err != nil || len(schedules) != 1 || !strings.Contains(schedules[0].Problem, "the row of the schedule is damaged") {
		t.Errorf("the schedules are %+v, %v", schedules, err)
	}
	if open, keys, err := in.Breakers(t.Context()); len(open)+len(keys) != 0 || err != nil {
		t.Errorf("the breakers are %v, %v", open, err)
	}
	got, err := in.Doctor(t.Context(), view.DoctorFilter{})
	if err != nil || len(got.Findings) != 2 || got.Findings[0].Gate != "door" || got.Findings[1].Schedule != "hourly" || got.Others != 2 || strings.Contains(got.Findings[0].Do, "reset") {
		t.Errorf("the doctor found %+v, %v", got, err)
	}
	status, waits := statusOf(t, in)
	if !slices.Contains(waits, "0 damaged  door") || !status.Attention {
		t.Errorf("the status has %q", waits)
	}
	if audit, err := in.AuditGroup(t.Context(), view.AuditFilter{}); err != nil || len(audit.Records) != 0 {
		t.Errorf("the audit is %+v, %v", audit, err)
	}
}

// TestI25_AClosedRunAtAGateIsALeak: once no message can be in transit any more.
func TestI25_AClosedRunAtAGateIsALeak(t *testing.T) {
	s, in := scene(t)
	s.Define("bank", charges(roomtest.Through(door)))
	ended := s.Begin("bank", "a")
	s.Serve()
	s.Begin("bank", "b").Step(core.Control{Operation: core.TerminateTheRun}) // its messages stay in the inbox
	found := func() []view.Finding {
		t.Helper()
		got, err := in.Doctor(t.Context(), view.DoctorFilter{})
		if err != nil {
			t.Fatal(err)
		}
		return got.Findings
	}
	in.db = &damaging{Store: s.DB, run: func(r *store.Run) {
		if r.WorkflowID == "a" {
			r.Status, r.Closed = store.Terminated, roomtest.Began.UnixNano()
		}
	}, rows: func(rows []store.Call) []store.Call {
		return slices.DeleteFunc(rows, func(c store.Call) bool { return c.Run == ended.ID })
	}}
	if f := found(); len(f) != 0 {
		t.Errorf("at once it found %+v", f)
	}
	in.now = func() int64 { return roomtest.Began.Add(settled).UnixNano() }
	if f := found(); len(f) != 1 || f[0].Kind != view.FindingLeak || f[0].Gate != "door" || f[0].WorkflowID != "a" || !strings.Contains(f[0].Problem, "call 1 of a run that has ended is at the gate") {
		t.Errorf("later it found %+v", f)
	}
}

// examined is a database that examines itself.
type examined struct {
	store.Store
	symptoms []store.Symptom
}

func (e examined) Examine(context.Context) ([]store.Symptom, error) { return e.symptoms, nil }

// TestI25_TheDoctorStopsAtItsLimit: and says that there is more; what the database says of itself
// comes first.
func TestI25_TheDoctorStopsAtItsLimit(t *testing.T) {
	s, in, _ := wrong(t, damaging{attempt: func(a *store.Attempt) { a.Data = []byte("{") }})
	in.db = examined{in.db.(store.Store), []store.Symptom{{Kind: view.FindingOrphan, Subject: "calls", Problem: "3 rows", Do: "delete them"}}}
	progress := 0
	got, err := in.Doctor(t.Context(), view.DoctorFilter{Limit: 2, Progress: func(n int) { progress = n }})
	if err != nil || len(got.Findings) != 2 || !got.More || got.OK || got.Findings[0].Kind != view.FindingOrphan || got.Findings[0].Subject != "calls" {
		t.Errorf("it found %+v, %v", got, err)
	}
	got, err = in.Doctor(t.Context(), view.DoctorFilter{Progress: func(n int) { progress = n }})
	if err != nil || len(got.Findings) != 4 || got.More || progress != 1 {
		t.Errorf("it found %+v after %d runs, %v", got, progress, err)
	}
	if got, err = in.Doctor(t.Context(), view.DoctorFilter{Since: s.Time().Add(time.Hour)}); err != nil || got.Runs != 0 || len(got.Findings) != 1 {
		t.Errorf("of later runs it found %+v, %v", got, err)
	}
}
