package request

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/internal/roomtest"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// gateOf returns the only gate.
func (a *asker) gateOf() view.Gate {
	a.Helper()
	all, err := a.read.Gates(a.ctx)
	if err != nil || len(all) != 1 {
		a.Fatal(all, err)
	}
	return all[0]
}

// TestE104_AGateIsOperated: a dry run says what would happen, a request under a key counts once
// and is answered the same, and what cannot be is refused.
func TestE104_AGateIsOperated(t *testing.T) {
	both(t, func(a *asker) {
		door := spec.Spec{Name: "door", Limit: 1, Mode: spec.Rejoin}
		a.Define("bank", charges(roomtest.Through(door)))
		var absent *entity.Absent
		if err := a.PauseGate(a.ctx, "door", true, By{}); !errors.As(err, &absent) || absent.Name != "door" {
			a.Errorf("a gate that is not there is paused: %v", err)
		}
		for i := range 3 {
			a.start("bank", fmt.Sprint("b", i))
		}
		a.settle()
		wider := view.GateEdit{Limit: 2}
		dry, err := a.EditGate(a.ctx, "door", wider, true, by("e"))
		if err != nil || !dry.DryRun || dry.Before.Limit != 1 || dry.After.Limit != 2 || dry.Waiting != 2 || dry.Starting != 1 || dry.Outcome != view.Applied {
			a.Errorf("a dry run says %+v, %v", dry, err)
		}
		a.settle()
		if g := a.gateOf(); g.Limit != 1 || len(g.Log) != 0 {
			a.Errorf("a dry run has changed it: %+v", g)
		}
		for range 2 {
			change, err := a.EditGate(a.ctx, "door", wider, false, by("e"))
			a.settle()
			if g := a.gateOf(); err != nil || change.After.Limit != 2 || g.Limit != 2 || g.Running != 2 || len(g.Log) != 1 || g.Log[0].By != "ann" || g.Edited == nil {
				a.Errorf("it is %+v after %+v, %v", g, change, err)
			}
		}
		if _, err := a.EditGate(a.ctx, "door", view.GateEdit{Limit: -1}, false, By{}); err == nil {
			a.Error("a negative limit is taken")
		}
		for range 2 {
			a.Must(a.PauseGate(a.ctx, "door", true, by("p")))
			a.settle()
		}
		if g := a.gateOf(); g.Paused == nil || g.Paused.Why != "on trial" || len(g.Log) != 2 {
			a.Errorf("paused it is %+v", g)
		}
		a.Must(a.PauseGate(a.ctx, "door", false, By{}))
		a.settle()
		if g := a.gateOf(); g.Paused != nil || g.Log[0].By != "asker-1" {
			a.Errorf("resumed it is %+v", g)
		}
		if _, err := a.EditGate(a.ctx, "door", view.GateEdit{AsInCode: true}, false, By{}); err != nil {
			a.Error(err)
		}
		a.settle()
		if g := a.gateOf(); g.Limit != 1 || g.Edited != nil {
			a.Errorf("as in the code it is %+v", g)
		}
	})
}

// TestAWrongNameNamesWhatIsThere: a gate or a schedule with a letter too few.
func TestAWrongNameNamesWhatIsThere(t *testing.T) {
	both(t, func(a *asker) {
		a.Define("bank", charges(roomtest.Through(spec.Spec{Name: "bank", Limit: 1, Mode: spec.Rejoin})))
		a.start("bank", "b")
		a.Must(a.SetSchedule(a.ctx, "nightly", schedule.Spec{Every: time.Hour}, Start{Type: "bank", Input: roomtest.Payload(7)}))
		a.settle()
		for err, want := range map[error]string{
			a.PauseGate(a.ctx, "bnk", true, By{}):         "Did you mean bank?",
			a.PauseSchedule(a.ctx, "nigtly", true, By{}):  "Did you mean nightly?",
			a.PauseSchedule(a.ctx, "another", true, By{}): `there is no schedule "another"`,
		} {
			if err == nil || !strings.HasSuffix(err.Error(), want) || !errors.Is(err, store.ErrNotFound) {
				a.Errorf("it says %v", err)
			}
		}
	})
}

// TestE49_AnEditOfAScheduleOverwritesNoOther: who replaces what somebody else has replaced is told
// who, and when. Sent again, what was done is done.
func TestE49_AnEditOfAScheduleOverwritesNoOther(t *testing.T) {
	both(t, func(a *asker) {
		every := func(d time.Duration) schedule.Spec { return schedule.Spec{Every: d} }
		start := Start{Type: "bank", Input: roomtest.Payload(7)}
		a.Must(a.SetSchedule(a.ctx, "nightly", every(time.Hour), start))
		read, err := a.read.DescribeSchedule(a.ctx, "nightly")
		a.Must(err)
		time.Sleep(time.Minute)
		for range 2 {
			a.Must(a.ReplaceSchedule(a.ctx, "nightly", every(2*time.Hour), start, Replaced{Set: read.Set}, By{Who: "ann", Why: "too often", Request: "1"}))
		}
		for _, dry := range []bool{true, false} {
			err := a.ReplaceSchedule(a.ctx, "nightly", every(3*time.Hour), start, Replaced{Set: read.Set, Dry: dry}, By{Who: "bob"})
			if changed, ok := errors.AsType[*view.ChangedError](err); !ok || changed.By != "ann" || changed.Why != "too often" || changed.Name != "nightly" || !changed.At.Equal(time.Now()) {
				a.Errorf("the other one is told %v", err)
			}
		}
		a.Must(a.ReplaceSchedule(a.ctx, "nightly", every(2*time.Hour), start, Replaced{Set: read.Set}, By{Who: "bob"})) // it is so
		is := func(want time.Duration) {
			a.settle()
			if read, err = a.read.DescribeSchedule(a.ctx, "nightly"); err != nil || read.Spec.Every != want {
				a.Errorf("it fires every %s, %v", read.Spec.Every, err)
			}
		}
		is(2 * time.Hour)
		a.Must(a.ReplaceSchedule(a.ctx, "nightly", every(3*time.Hour), start, Replaced{Set: read.Set, Dry: true}, By{}))
		is(2 * time.Hour)
		a.Must(a.ReplaceSchedule(a.ctx, "nightly", every(3*time.Hour), start, Replaced{Set: read.Set}, By{}))
		is(3 * time.Hour)
	})
}

// TestE104_AGateIsProbedAndReset: an open breaker lets one attempt pass, or closes.
func TestE104_AGateIsProbedAndReset(t *testing.T) {
	both(t, func(a *asker) {
		door := spec.Spec{Name: "door", Limit: 1, Mode: spec.Rejoin, Breaker: spec.Breaker{Failures: 1, Cooldown: time.Hour, Wait: true}}
		a.Define("bank", charges(roomtest.Seconds(9), roomtest.Through(door)))
		a.start("bank", "b")
		a.settle()
		if _, err := a.ProbeGate(a.ctx, "nothing", "", true, By{}); err == nil {
			a.Error("a gate that is not there is probed")
		}
		a.Latest("b").Fails(1, "Busy", "no")
		a.settle()
		if g := a.gateOf(); g.Breaker != "open" {
			a.Fatalf("the breaker is %s", g.Breaker)
		}
		change, err := a.ProbeGate(a.ctx, "door", "", false, by("p"))
		a.settle()
		if g := a.gateOf(); err != nil || change.Outcome != view.Applied || g.Breaker == "open" {
			a.Errorf("probed it is %s after %+v, %v", g.Breaker, change, err)
		}
		change, err = a.ResetGate(a.ctx, "door", view.GateReset{Breaker: true}, false, by("r"))
		a.settle()
		if g := a.gateOf(); err != nil || change.Operation != "reset" || g.Breaker != "closed" {
			a.Errorf("reset it is %s after %+v, %v", g.Breaker, change, err)
		}
		if _, err := a.ResetGate(a.ctx, "door", view.GateReset{}, false, By{}); err == nil {
			a.Error("a reset of nothing")
		}
		if change, err := a.ResetGate(a.ctx, "door", view.GateReset{Budget: true}, false, By{}); err != nil || change.Outcome != view.Unchanged || change.Note != "it has no retry budget" {
			a.Errorf("a reset of a budget that is not there: %+v, %v", change, err)
		}
	})
}

// TestE49_AScheduleIsOperated: set, paused, resumed, fired by hand, filled, deleted; a request
// under a key counts once, whatever has become of the schedule.
func TestE49_AScheduleIsOperated(t *testing.T) {
	both(t, func(a *asker) {
		a.Define("report", func(w *roomtest.Work) (any, error) { return 1, nil })
		hourly := schedule.Spec{Every: time.Hour}
		a.Must(a.SetSchedule(a.ctx, "s", hourly, Start{Type: "report", Input: roomtest.Payload(7)}))
		a.settle()
		see := func() *view.Schedule {
			a.Helper()
			s, err := a.read.DescribeSchedule(a.ctx, "s")
			a.Must(err)
			return s
		}
		if s := see(); s.Spec.Every != time.Hour || s.Spec.CatchUp != schedule.DefaultCatchUp || s.Spec.Overlap != schedule.Skip || s.Workflow != "report" || s.Input.String() != "7" {
			a.Errorf("it is %+v", s)
		}
		a.Must(a.SetSchedule(a.ctx, "s", schedule.Spec{Every: 2 * time.Hour}, Start{Type: "report"}))
		for range 2 {
			a.Must(a.PauseSchedule(a.ctx, "s", true, by("p")))
			a.settle()
		}
		if s := see(); s.Spec.Every != 2*time.Hour || s.Paused == nil || s.Paused.By != "ann" {
			a.Errorf("changed and paused it is %+v", s)
		}
		first, err := a.TriggerSchedule(a.ctx, "s", "", by("t"))
		a.Must(err)
		a.settle()
		again, err := a.TriggerSchedule(a.ctx, "s", "", by("t"))
		a.settle()
		if s := see(); err != nil || again != first || s.Started != 1 || a.state(first).Status != store.Completed {
			a.Errorf("fired it is %+v; %s, then %s, %v", s, first, again, err)
		}
		time.Sleep(9 * time.Hour)
		from, until := a.Time().Add(-8*time.Hour), a.Time().Add(-time.Hour)
		for range 2 {
			n, err := a.BackfillSchedule(a.ctx, "s", from, until, "", by("b"))
			a.settle()
			if s := see(); err != nil || n != 4 && n != 3 || int64(n)+1 != s.Started {
				a.Errorf("filled were %d, %v: %+v", n, err, s)
			}
		}
		a.Must(a.PauseSchedule(a.ctx, "s", false, By{}))
		a.Must(a.DeleteSchedule(a.ctx, "s", by("d")))
		a.settle()
		a.Must(a.DeleteSchedule(a.ctx, "s", by("d"))) // it is obeyed
		var absent *entity.Absent
		if err := a.DeleteSchedule(a.ctx, "s", by("other")); !errors.As(err, &absent) {
			a.Errorf("once it is gone: %v", err)
		}
		if n, err := a.BackfillSchedule(a.ctx, "s", from, until, "", by("b")); err != nil || n < 3 {
			a.Errorf("the answer of a backfill once it is gone is %d, %v", n, err)
		}
	})
}

// TestE49_WhoWasToldYesSeesIt: each verb on a schedule sees the requests before it, also those
// that no owner has taken yet.
func TestE49_WhoWasToldYesSeesIt(t *testing.T) {
	both(t, func(a *asker) {
		a.Define("report", func(w *roomtest.Work) (any, error) { return 1, nil })
		set := func(every time.Duration) {
			a.Helper()
			a.Must(a.SetSchedule(a.ctx, "s", schedule.Spec{Every: every}, Start{Type: "report"}))
		}
		set(10 * time.Minute)
		a.settle()
		time.Sleep(time.Hour)
		set(time.Second)
		from, until := a.Time().Add(-time.Hour), a.Time().Add(-time.Minute)
		if n, err := a.BackfillSchedule(a.ctx, "s", from, until, "", by("")); !asInput(err, "has more than 1000 times") {
			a.Errorf("an hour of seconds is %d, %v", n, err)
		}
		if n, err := a.BackfillSchedule(a.ctx, "s", until.Add(-9*time.Second), until.Add(-time.Nanosecond), schedule.AllowAll, by("b")); n != 9 || err != nil {
			a.Errorf("nine seconds are %d, %v", n, err)
		}
		if n, err := a.BackfillSchedule(a.ctx, "s", from, until, "", by("b")); n != 9 || err != nil {
			a.Errorf("asked again they are %d, %v", n, err)
		}
		for _, paused := range []bool{true, false} {
			a.Must(a.PauseSchedule(a.ctx, "s", paused, by("")))
			if s, err := a.read.DescribeSchedule(a.ctx, "s"); err != nil || (s.Paused != nil) != paused || s.Spec.Every != time.Second || (len(s.Next) > 0) == paused {
				a.Errorf("paused is %t: %+v, %v", paused, s, err)
			}
		}
		absent := func(when string) {
			a.Helper()
			_, triggered := a.TriggerSchedule(a.ctx, "s", "", by("t"))
			for verb, err := range map[string]error{"delete": a.DeleteSchedule(a.ctx, "s", by("")), "pause": a.PauseSchedule(a.ctx, "s", true, By{}), "trigger": triggered} {
				if !errors.As(err, new(*entity.Absent)) {
					a.Errorf("%s %s: %v", verb, when, err)
				}
			}
			if all, err := a.read.Schedules(a.ctx); len(all) != 0 || err != nil {
				a.Errorf("%s there are %+v, %v", when, all, err)
			}
		}
		for range 5 {
			a.Must(a.DeleteSchedule(a.ctx, "s", by("")))
			absent("after a delete")
			set(time.Second)
			if all, err := a.read.Schedules(a.ctx); len(all) != 1 || err != nil {
				a.Errorf("set again there are %+v, %v", all, err)
			}
		}
		a.Must(a.DeleteSchedule(a.ctx, "s", by("")))
		a.settle()
		absent("at the end")
		ended := a.Now()
		time.Sleep(time.Minute)
		a.settle()
		if all, err := a.DB.List(a.ctx, store.Filter{Type: "report", Limit: 100}); err != nil || len(all) >= 100 || len(all) < 9 {
			a.Errorf("%d runs were started: %v", len(all), err)
		} else if last := all[0].Created; last > ended {
			a.Errorf("it fired after its end, at %d", last)
		}
	})
}

// TestE49_SchedulesAreRefusedInWords: what is wrong with each.
func TestE49_SchedulesAreRefusedInWords(t *testing.T) {
	here(t, func(a *asker) {
		set := func(name string, spec schedule.Spec, s Start) error { return a.SetSchedule(a.ctx, name, spec, s) }
		hourly, report := schedule.Spec{Every: time.Hour}, Start{Type: "report"}
		for want, err := range map[string]error{
			"schedule name is empty": set("", hourly, report),
			"workflow name is empty": set("s", hourly, Start{}),
			"Every":                  set("s", schedule.Spec{}, report),
			"Every is 1ms":           set("s", schedule.Spec{Every: time.Millisecond}, report),
			"Moon/Crater":            set("s", schedule.Spec{Cron: "0 6 * * *", TimeZone: "Moon/Crater"}, report),
			"is Delay, MustBeNew, AnyInput or NewAfter": errors.Join(set("s", hourly, Start{Type: "report", Delay: time.Second}), set("s", hourly, Start{Type: "report", MustBeNew: true})),
			`begins with "#gate"`:                       set("#gate/x", hourly, report),
			`begins with "#schedule"`:                   set("#schedule/x", hourly, report),
			"schedule name":                             set(strings.Repeat("x", 10_000), hourly, report),
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				a.Errorf("got %v, want %q", err, want)
			}
		}
		if _, _, err := a.StartRun(a.ctx, Start{WorkflowID: "#schedule/s", Type: "w"}); err == nil {
			a.Error("a workflow takes the ID of a schedule")
		}
		a.Must(set("s", hourly, report))
		fill := func(from, until time.Duration) error {
			_, err := a.BackfillSchedule(a.ctx, "s", a.Time().Add(from), a.Time().Add(until), "", By{})
			return err
		}
		for problem, err := range map[string]error{
			"is still to come": fill(-time.Hour, time.Hour), "has no time at which": fill(-2*time.Minute, -time.Minute-59*time.Second), "has more than": fill(-10*365*24*time.Hour, -time.Hour),
		} {
			if !asInput(err, problem) {
				a.Errorf("a range that %s: %v", problem, err)
			}
		}
		if _, err := a.TriggerSchedule(a.ctx, "s", "whenever", By{}); err == nil {
			a.Error("an unknown overlap is taken")
		}
	})
}

// TestE60_AnActivityIsSwitched: once for each request ID, and the process is told.
func TestE60_AnActivityIsSwitched(t *testing.T) {
	here(t, func(a *asker) {
		for range 2 {
			record, err := a.SwitchActivity(a.ctx, "charge", true, 0, "r", By{Why: "enough"})
			if err != nil || !record.Paused || record.By != "asker-1" || record.Why != "enough" || record.Request != "r" {
				a.Errorf("it is %+v, %v", record, err)
			}
		}
		log, err := a.DB.Switches(a.ctx, "", 0)
		if err != nil || len(log) != 1 || a.owner.switched == 0 {
			a.Errorf("the log is %+v, %v; told %d times", log, err, a.owner.switched)
		}
	})
}

// TestE150_ACanaryIsSetAndEnded: its share is that of the log; a request ID that was used for
// something else is refused; where runs do not move it has no effect and is refused.
func TestE150_ACanaryIsSetAndEnded(t *testing.T) {
	here(t, func(a *asker) {
		if c, err := a.SetCanary(a.ctx, "b2", 12.5, true, By{}); err != nil || c.Percent != 12.5 || a.owner.switched != 0 {
			a.Errorf("a dry run says %+v, %v", c, err)
		}
		for range 2 {
			if c, err := a.SetCanary(a.ctx, "b2", 12.5, false, by("r")); err != nil || c.Percent != 12.5 || c.By != "ann" || c.Ended {
				a.Errorf("it is %+v, %v", c, err)
			}
		}
		for name, err := range map[string]error{
			"share": second(a.SetCanary(a.ctx, "b2", 50, false, by("r"))), "build": second(a.SetCanary(a.ctx, "b3", 12.5, false, by("r"))), "end": second(a.EndCanary(a.ctx, false, by("r"))),
			"switch": second(a.SwitchActivity(a.ctx, "charge", true, 0, "r", By{})),
		} {
			if !asInput(err, "was used for something else") {
				a.Errorf("the ID for another %s: %v", name, err)
			}
		}
		if c, err := a.EndCanary(a.ctx, false, by("e")); err != nil || !c.Ended || c.Build != "b2" {
			a.Errorf("ended it is %+v, %v", c, err)
		}
		if again, err := a.SetCanary(a.ctx, "b2", 12.5, false, by("r")); err != nil || again.Percent != 12.5 {
			a.Errorf("the first request again is %+v, %v", again, err)
		}
		if current, err := a.read.CurrentCanary(a.ctx); current != nil || err != nil {
			a.Errorf("a repeated request has set %+v, %v", current, err)
		}
		for _, c := range []struct {
			build   string
			percent float64
		}{{"", 10}, {"2", -1}, {"2", 100.5}, {"2", math.NaN()}, {"2", math.Inf(1)}, {"2\x00", 10}} {
			if got, err := a.SetCanary(a.ctx, c.build, c.percent, false, By{}); err == nil {
				a.Errorf("the canary %+v was set: %+v", c, got)
			}
		}
		a.moves = false
		if _, err := a.SetCanary(a.ctx, "b2", 5, false, By{}); !asInput(err, "would have no effect") {
			a.Errorf("where nothing moves: %v", err)
		}
	})
}

// twoCalls makes two calls, one after the other.
func twoCalls(w *roomtest.Work) (any, error) {
	if err := w.Call("reserve", roomtest.Seconds(3)); err != nil {
		return nil, err
	}
	return "shipped", w.Call("ship", roomtest.Seconds(1))
}

// TestE60_ARunIsReset: the next run of the chain continues from a call, of an open run as of a closed
// one; the same request does it once.
func TestE60_ARunIsReset(t *testing.T) {
	both(t, func(a *asker) {
		a.Define("order", twoCalls)
		for _, closed := range []bool{false, true} {
			id := fmt.Sprint("o-", closed)
			run := a.start("order", id)
			a.Latest(id).Completes(1, 1)
			if closed {
				a.Latest(id).Fails(2, "Broken", "no")
			}
			in := core.Control{Operation: core.ResetTheRun, Call: 2, ID: "again", By: "ann", Reason: "mended"}
			for i := range 2 {
				records, err := a.Control(a.ctx, id, run, in)
				if err != nil || len(records) != 1 || records[0].Outcome != view.Applied && i == 0 {
					a.Errorf("%s: %+v, %v", id, records, err)
				}
				a.settle()
			}
			row := a.state(id)
			d, err := a.read.Describe(a.ctx, id, "")
			if err != nil || row.ID == run || d.Base == nil || d.Base.RunID != run || d.Base.Call != 2 || d.Base.Why != "mended" || len(d.Pending) != 1 || d.Pending[0].Name != "ship" {
				a.Errorf("%s continues as %+v, %v", id, d, err)
			}
			resets := 0
			group, err := a.read.AuditGroup(a.ctx, view.AuditFilter{})
			a.Must(err)
			for _, r := range group.Records {
				if r.Name == id && r.Operation == "reset" && r.Request == "again" {
					resets++
				}
			}
			if resets != 1 {
				a.Errorf("the audit of all tells the reset of %s %d times", id, resets)
			}
			if _, err := a.Control(a.ctx, id, run, core.Control{Operation: core.ResetTheRun, Call: 1, ID: "old"}); err == nil {
				a.Error("a run that another one has followed is reset")
			}
			var refused *RefusedError
			if _, err := a.Control(a.ctx, id, "", core.Control{Operation: core.ResetTheRun, Call: 99}); !errors.As(err, &refused) {
				a.Errorf("to a call that is not there: %v", err)
			}
		}
	})
}

// TestE60_ARunIsForked: under an ID of its own, from a call, with another input if asked; the same
// request attaches, another one is refused, and the forked run does not change.
func TestE60_ARunIsForked(t *testing.T) {
	both(t, func(a *asker) {
		a.Define("order", twoCalls)
		run := a.start("order", "o")
		a.Latest("o").Completes(1, 1)
		says, err := a.PreviewFork(a.ctx, Fork{WorkflowID: "o", NewID: "p", Call: 2})
		if err != nil || says == "" {
			a.Errorf("it would keep %q, %v", says, err)
		}
		other := roomtest.Payload("other")
		req := Fork{WorkflowID: "o", NewID: "p", Call: 2, Input: &other, By: by("")}
		fork, attached, err := a.ForkRun(a.ctx, req)
		if err != nil || attached {
			a.Fatal(fork, attached, err)
		}
		a.settle()
		if again, attached, err := a.ForkRun(a.ctx, req); again != fork || !attached || err != nil {
			a.Errorf("again it is %s, %v, %v", again, attached, err)
		}
		d, err := a.read.Describe(a.ctx, "p", "")
		if err != nil || d.RunID != fork || d.Base.RunID != run || d.Base.WorkflowID != "o" || d.Base.By != "ann" || d.Input.String() != `"other"` || len(d.Pending) != 1 || d.Pending[0].Call != 2 {
			a.Errorf("it is %+v, %v", d, err)
		}
		for difference, change := range map[string]func(*Fork){
			"it does not continue from call 1": func(f *Fork) { f.Call = 1 }, "its input differs": func(f *Fork) { f.Input = nil },
			"its input of call 2 differs": func(f *Fork) { f.CallInput = &other },
		} {
			f := req
			change(&f)
			var inUse *IDInUseError
			if _, _, err := a.ForkRun(a.ctx, f); !errors.As(err, &inUse) || !strings.Contains(inUse.Difference, difference) {
				a.Errorf("%s: %v", difference, err)
			}
		}
		if _, _, err := a.ForkRun(a.ctx, Fork{WorkflowID: "o", NewID: "q", Call: 99}); err == nil {
			a.Error("from a call that is not there")
		} else if cut := (*inspect.CutError)(nil); !errors.As(err, &cut) {
			a.Errorf("from a call that is not there: %v", err)
		}
		if row := a.state("o"); row.ID != run || row.Status != store.Running {
			a.Errorf("the forked run is %+v", row)
		}
	})
}

// TestI24_ADamagedRunTakesOnlyWhatEndsIt: everything else is refused with what is wrong, at once,
// and in bulk it is counted as refused.
func TestI24_ADamagedRunTakesOnlyWhatEndsIt(t *testing.T) {
	both(t, func(a *asker) {
		a.wait("w").Park(core.Detail{Reason: "turn 2 is damaged", Damaged: true})
		for _, op := range []core.Operation{core.RetryNow, core.PauseCall, core.ResumeCall, core.PauseTheRun, core.ResumeTheRun, core.CancelTheRun} {
			records, err := a.Control(a.ctx, "w", "", core.Control{Operation: op})
			var refused *RefusedError
			if !errors.As(err, &refused) || len(records) != 1 || !strings.Contains(refused.Record.Note, `of workflow "w" is parked as damaged: turn 2 is damaged; `+inspect.Mend) {
				a.Errorf("%s: %+v, %v", op, records, err)
			}
			if _, err := a.Preview(a.ctx, "w", core.Control{Operation: op}); !errors.As(err, &refused) {
				a.Errorf("a look at %s: %v", op, err)
			}
		}
		all, err := a.ControlAll(a.ctx, view.Filter{}, core.Control{Operation: core.RetryNow}, false)
		if err != nil || all.Refused != 1 || all.Applied != 0 || len(all.Records) != 1 {
			a.Errorf("in bulk: %+v, %v", all, err)
		}
		if _, err := a.Control(a.ctx, "w", "", core.Control{Operation: core.TerminateTheRun}); err != nil || a.state("w").Status != store.Terminated {
			a.Errorf("its end: %v", err)
		}
	})
}

// TestE28_MemoryHasNoTransactions: and says so.
func TestE28_MemoryHasNoTransactions(t *testing.T) {
	here(t, func(a *asker) {
		for name, err := range map[string]error{
			"start":       second2(a.StartRunWithin(a.ctx, "tx", Start{WorkflowID: "o", Type: "order"})),
			"signal":      a.SignalWithin(a.ctx, "tx", "o", "s", "", history.Payload{}),
			"transaction": a.Transact(a.ctx, func(context.Context, any) error { return nil }),
		} {
			if !errors.Is(err, store.ErrTx) {
				a.Errorf("%s: %v", name, err)
			}
		}
	})
}

func second2[A, B any](_ A, _ B, err error) error { return err }
