package inspect

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/roomtest"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/view"
)

// TestR45_GatesAreSeen: depth, oldest wait, slots held in backoff, and who is there in which
// order.
func TestR45_GatesAreSeen(t *testing.T) {
	s, in := scene(t)
	hold := spec.Spec{
		Name: "door", Limit: 1, Mode: spec.Hold, Budget: spec.Budget{Tokens: 10}, Breaker: spec.Breaker{Failures: 9, Cooldown: time.Minute},
	}
	s.Define("bank", charges(roomtest.Seconds(5), roomtest.Through(hold)))
	s.Define("other", charges(roomtest.Through(spec.Spec{Name: "attic", Limit: 3, Mode: spec.Rejoin})))
	first := s.Begin("bank", "a")
	s.Serve()
	s.Pass(time.Second)
	s.Begin("bank", "b")
	s.Serve()
	s.Pass(time.Second)
	s.Begin("bank", "c", func(start *history.Start) { start.Priority = 7 })
	s.Begin("other", "d")
	s.Serve()
	first.Fails(1, "Busy", "no")
	s.Serve()
	all, err := in.Gates(t.Context())
	if err != nil || len(all) != 2 || all[0].Name != "attic" || all[1].Name != "door" {
		t.Fatal(all, err)
	}
	g := all[1]
	if g.Limit != 1 || g.Mode != "hold" || g.Holders != 1 || g.Running != 0 || g.Waiting != 2 || g.HeldInBackoff != 1 || g.InBackoff != 1 || g.OldestWait != time.Second ||
		g.Breaker != "closed" || g.OpenUntil != nil || g.Tokens == nil || *g.Tokens != 9 || g.Paused != nil || g.Edited != nil || g.Spec.Budget.Tokens != 10 {
		t.Errorf("the gate is %+v", g)
	}
	var line []string
	for _, ticket := range g.Tickets {
		line = append(line, fmt.Sprint(ticket.WorkflowID, " ", ticket.State, " ", ticket.Slot, " ", ticket.Attempt, " ", ticket.Until != nil))
	}
	if want := []string{"c waiting false 1 false", "b waiting false 1 false", "a backoff true 2 true"}; !slices.Equal(line, want) {
		t.Errorf("there are %q, not %q", line, want)
	}
	if open, keys, err := in.Breakers(t.Context()); err != nil || fmt.Sprint(open, keys) != "map[door:false] map[]" {
		t.Errorf("the breakers are %v, %v", open, err)
	}
	if all[0].Tokens != nil || all[0].Breaker != "" || all[0].Running != 1 {
		t.Errorf("a gate without budget and breaker is %+v", all[0])
	}
}

// TestE104_AnEditOfAGateIsShown: what is in force, what the code declares, who changed it; and
// the log has what people asked for, latest first.
func TestE104_AnEditOfAGateIsShown(t *testing.T) {
	s, in := scene(t)
	s.Define("bank", charges(roomtest.Through(door)))
	s.Begin("bank", "a")
	s.Serve()
	tellGate(s, core.ToGate{Word: core.GateEdit, Edits: &history.GateEdit{Edit: spec.Edit{Limit: 5}}, Request: "r1"})
	s.Pass(time.Second)
	tellGate(s, core.ToGate{Word: core.GatePause})
	all, err := in.Gates(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	g := all[0]
	if g.Limit != 5 || g.Spec.Limit != 5 || g.Edited == nil || g.Edited.Limit != 5 || g.Edited.Declared.Limit != 1 || g.Edited.By != "eve" || !g.Edited.Since.Equal(roomtest.Began) {
		t.Errorf("edited it is %+v, %+v", g, g.Edited)
	}
	if g.Paused == nil || g.Paused.By != "eve" || len(g.Log) != 2 || g.Log[0].Operation != "pause" || g.Log[1].Operation != "edit" || g.Log[1].Request != "r1" || g.Log[1].Outcome != view.Applied {
		t.Errorf("its log is %+v", g.Log)
	}
	audit, err := in.AuditGroup(t.Context(), view.AuditFilter{})
	if err != nil || len(audit.Records) != 2 || audit.Records[0].Operation != "pause" || audit.Records[0].Kind != "gate" || audit.Records[0].Name != "door" {
		t.Errorf("the audit has %+v, %v", audit, err)
	}
}

// setSchedule makes a schedule as package request does.
func setSchedule(s *roomtest.Scene, name string, spec history.Schedule) {
	row, err := entity.Find(s.Group, entity.Schedule, name).Row(s.Now())
	s.Must(err)
	row.RunState = record.StoreState(core.NewTimetable(record.ScheduleConfig(s.Group, name), spec, s.Now()).State())
	s.Must(s.DB.Create(s.Context(), row))
	s.Serve()
}

// askSchedule sends a request to a schedule.
func askSchedule(s *roomtest.Scene, name string, m core.ToSchedule) {
	m.At, m.By, m.Why = s.Now(), "ann", "by hand"
	s.Must(s.DB.Post(s.Context(), message.ToSchedule(s.Group, name, &m)))
	s.Serve()
}

// TestE49_ASchedulesFiresAreShown: what comes next, what is open, what ended and how, and what
// was skipped.
func TestE49_ASchedulesFiresAreShown(t *testing.T) {
	s, in := scene(t)
	s.Define("report", charges())
	hourly := history.Schedule{Every: time.Hour, CatchUp: time.Minute, Overlap: string(schedule.Skip), Workflow: "report", Input: roomtest.Payload(7)}
	setSchedule(s, "hourly", hourly)
	setSchedule(s, "daily", history.Schedule{Cron: "0 6 * * *", TimeZone: "UTC", CatchUp: time.Minute, Overlap: string(schedule.BufferAll), Workflow: "report"})
	got, err := in.DescribeSchedule(t.Context(), "hourly")
	if err != nil || len(got.Next) != shownUpcoming || !got.Next[0].Nominal.Equal(roomtest.Began.Add(time.Hour)) || got.Spec.Every != time.Hour || got.Input.String() != "7" || got.Workflow != "report" || len(got.Open)+len(got.Recent) != 0 {
		t.Fatalf("at first it is %+v, %v", got, err)
	}
	s.Pass(time.Hour)
	s.Pass(time.Hour) // skipped, because the first is open
	fired := runOfSchedule(t, s, in)
	if d := describe(t, in, fired.WorkflowID); d.Schedule == nil || d.Schedule.Name != "hourly" || !d.Schedule.Nominal.Equal(roomtest.Began.Add(time.Hour)) || d.Parent != nil {
		t.Errorf("the run is of %+v", d.Schedule)
	}
	if got, err = in.DescribeSchedule(t.Context(), "hourly"); err != nil || got.Started != 1 || got.Skipped != 1 || len(got.Open) != 1 || got.Open[0].RunID != fired.ID {
		t.Errorf("with an open fire it is %+v, %v", got, err)
	}
	fired.Completes(1, nil)
	s.Serve()
	askSchedule(s, "hourly", core.ToSchedule{Word: core.SchedulePause})
	askSchedule(s, "hourly", core.ToSchedule{Word: core.ScheduleTrigger})
	got, err = in.DescribeSchedule(t.Context(), "hourly")
	if err != nil || got.Paused == nil || got.Paused.By != "ann" || len(got.Recent) != 1 || got.Recent[0].Status != view.StatusCompleted || !isTime(got.Recent[0].Closed, s.Time()) ||
		len(got.Open) != 1 || got.Open[0].Kind != "trigger" || len(got.Log) != 2 || got.Log[0].Operation != "trigger" || got.Log[1].Operation != "pause" {
		t.Errorf("in the end it is %+v, %v", got, err)
	}
	all, err := in.Schedules(t.Context())
	if err != nil || len(all) != 2 || all[0].Name != "daily" || all[1].Name != "hourly" {
		t.Errorf("there are %+v, %v", all, err)
	}
	audit, err := in.AuditGroup(t.Context(), view.AuditFilter{})
	if err != nil || len(audit.Records) != 2 || audit.Records[0].Kind != "schedule" || audit.Records[0].Name != "hourly" {
		t.Errorf("the audit is %+v, %v", audit, err)
	}
	askSchedule(s, "daily", core.ToSchedule{Word: core.ScheduleDelete})
	var absent *entity.Absent
	if _, err := in.DescribeSchedule(t.Context(), "daily"); !errors.As(err, &absent) {
		t.Errorf("a deleted schedule: %v", err)
	}
	if _, err := in.DescribeSchedule(t.Context(), "never"); !errors.As(err, &absent) {
		t.Errorf("a schedule that never was: %v", err)
	}
	if all, err = in.Schedules(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("there are %+v, %v", all, err)
	}
	if _, err := in.DescribeSchedule(t.Context(), ""); err == nil {
		t.Error("a schedule without a name is looked for")
	}
}

// runOfSchedule returns the run that a schedule has started.
func runOfSchedule(t *testing.T, s *roomtest.Scene, in *Inspector) *roomtest.Run {
	t.Helper()
	runs, err := in.List(t.Context(), view.Filter{Status: []string{view.StatusRunning}})
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	return s.Latest(runs[0].WorkflowID)
}

// TestE60_SwitchesAreALog: of pauses and resumptions, and what is paused now.
func TestE60_SwitchesAreALog(t *testing.T) {
	s, in := scene(t)
	pauseActivity(s, "ship")
	pauseActivity(s, "charge")
	s.Pass(time.Second)
	_, err := s.DB.Switch(t.Context(), on("ship"))
	s.Must(err)
	log, err := in.Switches(t.Context(), false)
	if err != nil || len(log) != 3 || log[0].Name != "ship" || !log[0].Paused || log[2].Paused || log[0].By != "eve" || log[0].Why != "enough" || !log[2].Time.Equal(s.Time()) {
		t.Errorf("the log is %+v, %v", log, err)
	}
	now, err := in.Switches(t.Context(), true)
	if err != nil || len(now) != 1 || now[0].Name != "charge" {
		t.Errorf("paused are %+v, %v", now, err)
	}
	audit, err := in.AuditGroup(t.Context(), view.AuditFilter{})
	if err != nil || len(audit.Records) != 3 || audit.Records[0].Operation != "resume" || audit.Records[0].Kind != "activity" {
		t.Errorf("the audit is %+v, %v", audit, err)
	}
}
