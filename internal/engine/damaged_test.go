package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/inspect"
	rows "github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// vandal is a database that reads other bytes than were written.
type vandal struct {
	store.Opener
	mu   sync.Mutex
	turn func(run string, t *store.TurnRow) // changes a turn; nil: none is
	run  func(*store.Run)
	call func(*store.Call)
}

// vandalise lets the engines of a world read through a vandal.
func vandalise(w *world) *vandal {
	v := &vandal{Opener: w.db}
	w.db = v
	return v
}

func (v *vandal) Open(ctx context.Context) (store.Store, error) {
	s, err := v.Opener.Open(ctx)
	if err != nil {
		return nil, err
	}
	return &vandalised{s, v}, nil
}

// damage changes what is read from now on.
func (v *vandal) damage(turn func(string, *store.TurnRow), run func(*store.Run), call func(*store.Call)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.turn, v.run, v.call = turn, run, call
}

// repair lets what was written be read.
func (v *vandal) repair() { v.damage(nil, nil, nil) }

// turnOf damages the bytes of one turn of a run.
func (v *vandal) turnOf(run string, number int64, change func([]byte) []byte) {
	v.damage(func(of string, t *store.TurnRow) {
		if of == run && t.Number == number {
			t.Events = change(bytes.Clone(t.Events))
		}
	}, nil, nil)
}

// invent gives a turn an event of a kind that only a newer version could know.
func invent(t *testing.T, run string, row *store.TurnRow) {
	t.Helper()
	doc, err := history.SealTurn(run, row.Number, row.Time, []history.Event{{Kind: "Invented"}})
	if err != nil {
		t.Error(err)
	}
	row.Events = doc
}

type vandalised struct {
	store.Store
	by *vandal
}

func (s *vandalised) turns(run string, all []store.TurnRow) {
	for i := range all {
		if s.by.turn != nil {
			s.by.turn(run, &all[i])
		}
	}
}

func (s *vandalised) Find(ctx context.Context, partition int, workflowID, run string) (*store.Run, error) {
	r, err := s.Store.Find(ctx, partition, workflowID, run)
	s.by.mu.Lock()
	defer s.by.mu.Unlock()
	if err == nil && s.by.run != nil {
		s.by.run(r)
	}
	return r, err
}

func (s *vandalised) List(ctx context.Context, f store.Filter) ([]store.Run, error) {
	all, err := s.Store.List(ctx, f)
	s.by.mu.Lock()
	defer s.by.mu.Unlock()
	for i := range all {
		if s.by.run != nil {
			s.by.run(&all[i])
		}
	}
	return all, err
}

func (s *vandalised) Ended(ctx context.Context, runs []store.RunRef) ([]store.Run, error) {
	all, err := s.Store.Ended(ctx, runs)
	s.by.mu.Lock()
	defer s.by.mu.Unlock()
	for i := range all {
		if s.by.run != nil {
			s.by.run(&all[i])
		}
	}
	return all, err
}

func (s *vandalised) Load(ctx context.Context, partition int, run string) (*store.Record, error) {
	r, err := s.Store.Load(ctx, partition, run)
	s.by.mu.Lock()
	defer s.by.mu.Unlock()
	if err != nil {
		return nil, err
	}
	s.turns(run, r.Turns)
	for i := range r.Calls {
		if s.by.call != nil {
			s.by.call(&r.Calls[i])
		}
	}
	if s.by.run != nil {
		s.by.run(&r.Run)
	}
	return r, nil
}

func (s *vandalised) History(ctx context.Context, partition int, run string, after int64, limit int) ([]store.TurnRow, error) {
	all, err := s.Store.History(ctx, partition, run, after, limit)
	s.by.mu.Lock()
	defer s.by.mu.Unlock()
	s.turns(run, all)
	return all, err
}

func (s *vandalised) Calls(ctx context.Context, partition int, run string) ([]store.Call, error) {
	all, err := s.Store.Calls(ctx, partition, run)
	s.by.mu.Lock()
	defer s.by.mu.Unlock()
	for i := range all {
		if s.by.call != nil {
			s.by.call(&all[i])
		}
	}
	return all, err
}

// replaced returns a change of one text into another one.
func replaced(old, text string) func([]byte) []byte {
	return func(b []byte) []byte { return bytes.Replace(b, []byte(old), []byte(text), 1) }
}

// damagedRun demands that a run is parked as damaged, and returns what is said of it.
func damagedRun(t *testing.T, e *engine.Engine, id, problem string) *view.Description {
	t.Helper()
	d := describe(t, e, id)
	if d.Status != view.StatusParked || d.Damage == nil || !strings.Contains(d.Damage.Problem, problem) || !strings.Contains(d.Reason, problem) {
		t.Fatalf("%s is %s because of %q, with the damage %+v, and not damaged because %q", id, d.Status, d.Reason, d.Damage, problem)
	}
	return d
}

// TestI23_NoByteOnRecordChangesUnseen: whatever a byte of what a run left in the database
// becomes, it is refused, or says what it said. Each byte becomes two others.
func TestI23_NoByteOnRecordChangesUnseen(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		f := newTried()
		tries := f.threeTries()
		e := w.start(tries, f.activity)
		f.setBroken("5 of x", true)
		run := begin(t, e, tries, "x", "a")
		signal(t, e, "x", "number", "s", 7)
		settle()
		fork(t, e, request.Fork{WorkflowID: "x", NewID: "y", Call: 4, By: request.By{Who: "ann"}})
		settle()
		forked := describe(t, e, "y").RunID
		stop(t, e)
		s, err := w.bare.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		g, err := s.Group(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		flipped := 0
		flip := func(doc []byte, same func([]byte) bool) {
			t.Helper()
			if !same(doc) {
				t.Fatalf("undamaged, this is not read: %s", doc)
			}
			for i := range doc {
				for _, mask := range []byte{1 << (i % 8), 0xff} {
					changed := bytes.Clone(doc)
					changed[i] ^= mask
					if flipped++; !same(changed) {
						t.Fatalf("byte %d changed unseen:\n%s\n%s", i, doc, changed)
					}
				}
			}
		}
		for _, id := range []string{run, forked} {
			rec, err := s.Load(t.Context(), g.First, id)
			if err != nil {
				t.Fatal(err)
			}
			past, err := rows.Decode(rec)
			if err != nil || len(past.Turns) < 3 {
				t.Fatalf("%d turns, %v", len(past.Turns), err)
			}
			for i, row := range rec.Turns {
				flip(row.Events, func(doc []byte) bool {
					row.Events = doc
					turns, damage := rows.Turns(&past.Start, row.Number-1, []store.TurnRow{row})
					return len(damage) == 1 || reflect.DeepEqual(turns, past.Turns[i:i+1])
				})
			}
			flip(rec.Run.Start, func(doc []byte) bool {
				start, err := history.OpenStart(entity.Row(&rec.Run), doc)
				return err != nil || reflect.DeepEqual(start, past.Start)
			})
			detail, err := core.DecodeDetail(rec.Run.Detail)
			if err != nil {
				t.Fatal(err)
			}
			flip(rec.Run.Detail, func(doc []byte) bool {
				got, err := core.DecodeDetail(doc)
				return err != nil || reflect.DeepEqual(got, detail)
			})
		}
		if flipped < 2000 {
			t.Errorf("only %d bytes were changed", flipped)
		}
	})
}

// TestI24_WhatCannotBeReadParksItsRun: a run with a changed turn, one of a newer version, a
// missing one or a changed start is parked as damaged, which says what and where. Its code
// does not run and nothing is done twice; lists, its history and the status show what can
// be read; all others go on. When the database is restored, it does, too.
func TestI24_WhatCannotBeReadParksItsRun(t *testing.T) {
	needsQueries.inBothModes(t, func(t *testing.T, w *world) {
		v := vandalise(w)
		f := newTried()
		tries := f.threeTries()
		e := w.start(tries, f.activity)
		bad := begin(t, e, tries, "bad", "a")
		begin(t, e, tries, "good", "b")
		settle()
		f.takeMade()
		stop(t, e)
		for _, c := range []struct {
			problem string
			turn    int64
			shown   int // events that can be read, and one for the damage
			damage  func()
		}{
			{"turn 2 is damaged: its checksum is ", 2, 0, func() { v.turnOf(bad, 2, replaced("a1'", "a2'")) }},
			{`turn 3 cannot be read: its event 1 is of the kind "Invented", which is not known in history format 1`, 3, 0, func() {
				v.damage(func(run string, row *store.TurnRow) {
					if run == bad && row.Number == 3 {
						invent(t, run, row)
					}
				}, nil, nil)
			}},
			{"turn 3 cannot be read: history format 2 is not known to this program, which reads format 1", 3, 0, func() {
				v.turnOf(bad, 3, func([]byte) []byte { return []byte(`{"v":2,"turn":[]}`) })
			}},
			{"turn 1 is missing", 1, 0, func() {
				v.damage(func(run string, t *store.TurnRow) {
					if run == bad {
						t.Number++
					}
				}, nil, nil)
			}},
			{"the start event is damaged: its checksum is ", 0, 0, func() {
				v.damage(nil, func(r *store.Run) {
					if r.ID == bad {
						r.Start = replaced(`"v":1`, `"v":4`)(bytes.Clone(r.Start))
					}
				}, nil)
			}},
		} {
			c.damage()
			e = w.start(tries, f.activity)
			signal(t, e, "bad", "nudge", c.problem, 0) // wakes it
			settle()
			d := damagedRun(t, e, "bad", c.problem)
			same(t, "turn", d.Damage.Turn, c.turn)
			same(t, "made", f.takeMade(), "")
			runs, err := e.List(t.Context(), view.Filter{Waits: true})
			if err != nil || len(runs) != 2 {
				t.Fatalf("listed %+v, %v", runs, err)
			}
			for _, r := range runs {
				if r.WorkflowID == "bad" && (r.Wait == nil || r.Wait.For != view.WaitDamaged || !strings.Contains(r.Wait.Why, c.problem)) {
					t.Errorf("%s: it waits for %+v", c.problem, r.Wait)
				}
			}
			why, err := e.Why(t.Context(), "bad", "")
			if err != nil || !strings.Contains(why, c.problem) || !strings.Contains(why, inspect.Mend) {
				t.Errorf("%s: why is %q, %v", c.problem, why, err)
			}
			status, err := e.Status(t.Context())
			if err != nil || !slices.ContainsFunc(status.Waiting, func(w view.Waiting) bool { return w.For == view.WaitDamaged && w.WorkflowID == "bad" }) {
				t.Errorf("%s: the status is %+v, %v", c.problem, status, err)
			}
			events, err := e.Events(t.Context(), "bad", "", view.HistoryRange{})
			if err != nil || !slices.ContainsFunc(events, func(ev view.Event) bool {
				return ev.Kind == "TurnDamaged" && ev.Turn == c.turn && strings.Contains(string(ev.Record), c.problem[:12])
			}) || len(events) < 3 {
				t.Errorf("%s: the history is %+v, %v", c.problem, events, err)
			}
			var damage *history.DamageError
			if _, err := e.Record(t.Context(), "bad", ""); !errors.As(err, &damage) {
				t.Errorf("%s: recorded for replay in spite of %v", c.problem, err)
			}
			stop(t, e)
		}
		v.repair()
		e = w.start(tries, f.activity)
		for _, id := range []string{"bad", "good"} {
			signal(t, e, id, "number", "s", 7)
			if _, err := finish[string](t, e, id); err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}
		same(t, "made", len(strings.Fields(f.takeMade())), len(strings.Fields("4 5 of bad 4 5 of good")))
	})
}

// TestI24_DamagedRunsEnd: one is terminated, one goes on from a call before the damage, as
// the next run of its chain and as a fork; a call after it is refused with what there is.
func TestI24_DamagedRunsEnd(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		v := vandalise(w)
		f := newTried()
		tries := f.threeTries()
		e := w.start(tries, f.activity)
		runs := map[string]bool{}
		for _, id := range []string{"ended", "reset", "asked"} {
			runs[begin(t, e, tries, id, "a")] = true
		}
		settle()
		stop(t, e)
		v.damage(func(run string, t *store.TurnRow) {
			if runs[run] && t.Number == 3 {
				t.Events = replaced(`"k":"done"`, `"k":"dome"`)(bytes.Clone(t.Events))
			}
		}, nil, nil)
		f.takeMade()
		e = w.start(tries, f.activity)
		if d := describe(t, e, "reset"); d.Damage == nil || d.Status != view.StatusRunning {
			t.Errorf("before it is loaded it is %s, with the damage %+v", d.Status, d.Damage)
		}
		for _, id := range []string{"ended", "reset", "asked"} {
			signal(t, e, id, "nudge", "", 0)
		}
		settle()
		d := damagedRun(t, e, "reset", "turn 3 is damaged: its checksum is ")
		same(t, "last call", d.Damage.LastCall, int64(2))

		control := func(id string, in core.Control) view.ControlRecord {
			t.Helper()
			in.ID, in.By = id+string(in.Operation)+fmt.Sprint(in.Call), "ann"
			got, err := e.Control(t.Context(), id, "", in)
			if len(got) != 1 || (err == nil) != (got[0].Outcome == view.Applied) {
				t.Fatalf("%s of %s: %+v, %v", in.Operation, id, got, err)
			}
			return got[0]
		}
		if r := control("asked", core.Control{Operation: core.ResetTheRun, Call: 3}); r.Outcome != view.Refused || !strings.Contains(r.Note, "turn 3 is damaged: ") || !strings.Contains(r.Note, "the last call before it is call 2") {
			t.Errorf("to a call after the damage: %+v", r)
		}
		settle()
		damagedRun(t, e, "asked", "turn 3 is damaged")
		if r := control("asked", core.Control{Operation: core.TerminateTheRun}); r.Outcome != view.Applied {
			t.Errorf("terminated: %+v", r)
		}
		if err := e.Terminate(t.Context(), "ended", "", request.By{Who: "ann", Why: "it is damaged"}); err != nil {
			t.Fatal(err)
		}
		settle()
		for _, id := range []string{"asked", "ended"} {
			if d := describe(t, e, id); d.Status != view.StatusTerminated {
				t.Errorf("%s is %s: %s", id, d.Status, d.Reason)
			}
		}
		same(t, "made", f.takeMade(), "")

		if r := control("reset", core.Control{Operation: core.ResetTheRun, Call: 2}); r.Outcome != view.Applied || !strings.Contains(r.Note, "what came later is lost: turn 3 is damaged") {
			t.Errorf("reset: %+v", r)
		}
		settle()
		same(t, "made after the reset", f.takeMade(), "2")
		fork(t, e, request.Fork{WorkflowID: "ended", NewID: "forked", Call: 1, By: request.By{Who: "ann"}})
		settle()
		same(t, "made by the fork", f.takeMade(), "a1 2")
		for _, id := range []string{"reset", "forked"} {
			signal(t, e, id, "number", "s", 7)
			result, err := finish[string](t, e, id)
			if want := "a1' 2' 7 4' 5 of " + id + "'"; result != want || err != nil {
				t.Errorf("%s: %q, %v", id, result, err)
			}
		}
		// A copy of a copy has the checksums of those who wrote the turns.
		fork(t, e, request.Fork{WorkflowID: "reset", NewID: "again", Call: 4, By: request.By{Who: "ann"}})
		settle()
		if result, err := finish[string](t, e, "again"); result != "a1' 2' 7 4' 5 of again'" || err != nil {
			t.Errorf("the copy of a copy: %q, %v", result, err)
		}
		fork(t, e, request.Fork{WorkflowID: "again", NewID: "anew", Call: 1, By: request.By{Who: "ann"}})
		settle()
		if result, err := finish[string](t, e, "anew"); result != "a1' 2' 7 4' 5 of anew'" || err != nil {
			t.Errorf("a copy of that, from its beginning: %q, %v", result, err)
		}
	})
}

// TestI24_DamagedRows: rows of calls, outcomes and gates that cannot be read do not become
// something else, and what has none goes on.
func TestI24_DamagedRows(t *testing.T) {
	extent.Unwatched(t, "it varies what is on record")
	needsQueries.inBothModes(t, func(t *testing.T, w *world) {
		v := vandalise(w)
		f := newFragile(retry.Policy{Backoff: retry.Fixed(time.Hour), MaxAttempts: 9})
		flow := calls(f.activity, activity.Through())
		ok := workflow.New("ok", func(*workflow.Context, int) (int, error) { return 41, nil })
		e := w.start(flow, ok, f.activity)
		bad := begin(t, e, flow, "bad", 0)
		complete(t, e, ok, "done", 0)
		pass(time.Minute)
		stop(t, e)
		v.damage(nil, func(r *store.Run) {
			if r.WorkflowID == "done" {
				r.Detail = replaced("41", "42")(bytes.Clone(r.Detail))
			}
		}, func(c *store.Call) {
			if c.Run == bad {
				c.Data = replaced(`"failures":1`, `"failures":8`)(bytes.Clone(c.Data))
			}
		})
		e = w.start(flow, ok, f.activity)
		pass(2 * time.Hour)
		d := damagedRun(t, e, "bad", "the row of call 1 is damaged: its checksum is ")
		same(t, "last call", d.Damage.LastCall, int64(1))
		_, s, err := e.Result(t.Context(), "done", "")
		if err != nil {
			t.Fatal(err)
		}
		var damage *history.DamageError
		if _, err := core.DecodeDetail(s.Detail); !errors.As(err, &damage) {
			t.Errorf("the result is read as %s, %v", s.Detail, err)
		}
		if d := describe(t, e, "done"); d.Damage == nil || d.Result != nil {
			t.Errorf("the result is shown as %v, with the damage %+v", d.Result, d.Damage)
		}
		if _, err := e.List(t.Context(), view.Filter{Waits: true}); err != nil {
			t.Error(err)
		}
		if _, err := e.Status(t.Context()); err != nil {
			t.Error(err)
		}
		same(t, "a sound one", complete(t, e, ok, "sound", 0), 41)
	})
}

// TestI25_TheDoctorFindsDamage: each that is planted, and nothing else, nor anything where
// all is well.
func TestI25_TheDoctorFindsDamage(t *testing.T) {
	needsQueries.inBothModes(t, func(t *testing.T, w *world) {
		v := vandalise(w)
		f := newTried()
		tries := f.threeTries()
		fragile := newFragile(retry.Policy{Backoff: retry.Fixed(time.Hour), MaxAttempts: 9})
		flow := calls(fragile.activity, activity.Through())
		e := w.start(tries, f.activity, flow, fragile.activity)
		bad := begin(t, e, tries, "bad", "a")
		begin(t, e, tries, "good", "b")
		waits := begin(t, e, flow, "waits", 0)
		pass(time.Minute)
		fork(t, e, request.Fork{WorkflowID: "bad", NewID: "copy", Call: 2, By: request.By{Who: "ann"}})
		pass(time.Minute)
		doctor := func(filter view.DoctorFilter) *view.Checkup {
			t.Helper()
			c, err := e.Doctor(t.Context(), filter)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		if c := doctor(view.DoctorFilter{}); !c.OK || len(c.Findings) > 0 || c.Runs != 4 || c.Turns < 8 {
			t.Errorf("in a healthy database: %+v", c)
		}
		v.damage(func(run string, row *store.TurnRow) {
			switch {
			case run == bad && row.Number == 2:
				invent(t, run, row)
			case run == bad && row.Number > 2:
				row.Number++
			}
		}, func(r *store.Run) {
			if r.WorkflowID == "copy" {
				r.Start = replaced(`"v":1`, `"v":4`)(bytes.Clone(r.Start))
			}
		}, func(c *store.Call) {
			if c.Run == waits {
				c.Data = replaced(`"failures":1`, `"failures":8`)(bytes.Clone(c.Data))
			}
		})
		got := map[string]int{}
		c := doctor(view.DoctorFilter{})
		for _, found := range c.Findings {
			if found.Problem == "" || found.Do == "" {
				t.Errorf("found is %+v", found)
			}
			got[fmt.Sprintf("%s %s %d", found.WorkflowID, found.Kind, found.Turn)]++
		}
		for _, want := range []string{"bad newer 2", "bad missing 3", "copy damage 0", "waits damage 0"} {
			if got[want] == 0 {
				t.Errorf("%s is not found: %v", want, got)
			}
		}
		for found := range got {
			if strings.HasPrefix(found, "good") {
				t.Errorf("found is %s", found)
			}
		}
		if c.OK {
			t.Errorf("the checkup is %+v", c)
		}
		if c := doctor(view.DoctorFilter{Limit: 1}); len(c.Findings) != 1 || !c.More {
			t.Errorf("with a limit: %+v", c)
		}
		if c := doctor(view.DoctorFilter{Since: time.Now().Add(time.Hour)}); c.Runs != 0 || !c.OK {
			t.Errorf("of later runs: %+v", c)
		}
	})
}
