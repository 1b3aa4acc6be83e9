package inspect

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

func scheduledBy(s *history.Scheduled) *view.ScheduledBy {
	if s == nil {
		return nil
	}
	return &view.ScheduledBy{Name: s.Schedule, Nominal: at(s.Nominal)}
}

// shownUpcoming is how many future nominal times a description has.
const shownUpcoming = 5

// Schedules returns the schedules of the group by name.
func (in *Inspector) Schedules(ctx context.Context) ([]view.Schedule, error) {
	if err := in.check(ctx); err != nil {
		return nil, err
	}
	var all []view.Schedule
	err := in.eachTimetable(ctx, func(name string, t *core.Timetable, damage error) {
		switch {
		case damage != nil:
			all = append(all, view.Schedule{Name: name, Problem: damage.Error()})
		case !t.Detail().Deleted:
			all = append(all, *scheduleOf(t))
		}
	})
	slices.SortFunc(all, func(a, b view.Schedule) int { return cmp.Compare(a.Name, b.Name) })
	return all, err
}

// eachTimetable calls do for the group's schedules, including deleted ones. For unreadable
// ones it passes an error.
func (in *Inspector) eachTimetable(ctx context.Context, do func(name string, t *core.Timetable, damage error)) error {
	return in.eachStanding(ctx, entity.Schedule, func(row *store.Run) error {
		rec, err := in.db.Load(ctx, row.Partition, row.ID)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		var t *core.Timetable
		if err == nil {
			t, err = record.Schedule(in.group, rec)
		}
		if err == nil || damageOf(err) != nil {
			do(entity.NameOf(row.ID), t, err)
			return nil
		}
		return err
	})
}

// DescribeSchedule returns a schedule with its fires.
func (in *Inspector) DescribeSchedule(ctx context.Context, name string) (*view.Schedule, error) {
	t, err := in.Timetable(ctx, name)
	if err != nil {
		return nil, err
	}
	return scheduleOf(t), nil
}

// Timetable returns the committed machine of a schedule.
func (in *Inspector) Timetable(ctx context.Context, name string) (*core.Timetable, error) {
	if err := in.check(ctx); err != nil {
		return nil, err
	}
	if err := history.CheckName("schedule name", name); err != nil {
		return nil, err
	}
	at := entity.Find(in.group, entity.Schedule, name)
	var t *core.Timetable
	rec, err := in.db.Load(ctx, at.Partition, at.Run)
	if err == nil {
		t, err = record.Schedule(in.group, rec)
	}
	if errors.Is(err, store.ErrNotFound) || err == nil && t.Detail().Deleted {
		return t, &entity.Absent{Kind: entity.Schedule, Name: name}
	}
	return t, err
}

func scheduleOf(t *core.Timetable) *view.Schedule {
	d := t.Detail()
	s := &view.Schedule{
		Name: t.Name(), Spec: record.ScheduleSpec(&d.Spec), Workflow: d.Spec.Workflow, Input: payload(d.Spec.Input), Memo: payload(d.Spec.Memo),
		Set: at(d.Set), Problem: d.Problem, Started: d.Started, Skipped: d.Skipped, Missed: d.Missed,
		Paused: pause(d.Pause), Log: logOf("schedule", t.Name(), t.Log()),
	}
	nominal, due := t.Upcoming(shownUpcoming)
	for i := range due {
		s.Next = append(s.Next, view.UpcomingFire{Nominal: at(nominal[i]), Due: at(due[i])})
	}
	for _, f := range t.Fires() {
		if f.Run == "" {
			s.Waiting = append(s.Waiting, fireOf(f))
		} else {
			s.Open = append(s.Open, fireOf(f))
		}
	}
	for i := range d.Recent {
		s.Recent = append(s.Recent, fireOf(&d.Recent[len(d.Recent)-1-i]))
	}
	return s
}

func fireOf(f *core.Fire) view.Fire {
	return view.Fire{
		Nominal: at(f.Nominal), Kind: f.Kind, WorkflowID: f.ID, RunID: f.Run, Since: at(f.At),
		By: f.By, Why: f.Why, Status: f.Status, Closed: optional(f.Closed), Error: f.Error,
	}
}
