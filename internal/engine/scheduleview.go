package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

func viewScheduled(s *history.Scheduled) *ScheduledBy {
	if s == nil {
		return nil
	}
	return &ScheduledBy{Name: s.Schedule, Nominal: time.Unix(0, s.Nominal).UTC()}
}

// shownUpcoming is how many nominal times of the future a description has.
const shownUpcoming = 5

// Schedules returns the schedules of the group by name.
func (e *Engine) Schedules(ctx context.Context) ([]Schedule, error) {
	var all []Schedule
	err := e.eachStanding(ctx, entity.Schedule, func(row *store.Run) error {
		s, err := e.DescribeSchedule(ctx, entity.NameOf(row.ID))
		switch {
		case errors.Is(err, store.ErrNotFound):
			return nil // it was deleted
		case err == nil:
			all = append(all, *s)
		}
		return err
	})
	slices.SortFunc(all, func(a, b Schedule) int { return cmp.Compare(a.Name, b.Name) })
	return all, err
}

// DescribeSchedule returns where a schedule stands.
func (e *Engine) DescribeSchedule(ctx context.Context, name string) (*Schedule, error) {
	t, err := e.readSchedule(ctx, name)
	if err != nil {
		return nil, err
	}
	return viewSchedule(t), nil
}

// readSchedule reads a schedule as it is committed.
func (e *Engine) readSchedule(ctx context.Context, name string) (*core.Timetable, error) {
	if err := history.CheckName("schedule name", name); err != nil {
		return nil, err
	}
	at := entity.Find(e.group, entity.Schedule, name)
	var t *core.Timetable
	rec, err := e.db.Load(ctx, at.Partition, at.Run)
	if err == nil {
		t, err = e.timetable(rec)
	}
	if errors.Is(err, store.ErrNotFound) || err == nil && t.Detail().Deleted {
		return nil, fmt.Errorf("there is no schedule %q: %w", name, store.ErrNotFound)
	}
	return t, err
}

func viewSchedule(t *core.Timetable) *Schedule {
	d := t.Detail()
	s := &Schedule{
		Name: t.Name(), Spec: specOf(&d.Spec), Workflow: d.Spec.Workflow, Input: showPayload(d.Spec.Input), Memo: showPayload(d.Spec.Memo),
		Set: time.Unix(0, d.Set).UTC(), Problem: d.Problem, Started: d.Started, Skipped: d.Skipped, Missed: d.Missed,
		Paused: viewPause(d.Pause),
	}
	nominal, due := t.Upcoming(shownUpcoming)
	for i := range due {
		s.Next = append(s.Next, UpcomingFire{Nominal: time.Unix(0, nominal[i]).UTC(), Due: time.Unix(0, due[i]).UTC()})
	}
	for _, f := range t.Fires() {
		if f.Run == "" {
			s.Waiting = append(s.Waiting, viewFire(f))
		} else {
			s.Open = append(s.Open, viewFire(f))
		}
	}
	for i := range d.Recent {
		s.Recent = append(s.Recent, viewFire(&d.Recent[len(d.Recent)-1-i]))
	}
	return s
}

func viewFire(f *core.Fire) Fire {
	return Fire{
		Nominal: time.Unix(0, f.Nominal).UTC(), Kind: f.Kind, WorkflowID: f.ID, RunID: f.Run, Since: time.Unix(0, f.At).UTC(),
		By: f.By, Why: f.Why, Status: f.Status, Closed: optionalTime(f.Closed), Error: f.Error,
	}
}
