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
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/store"
)

// Schedule is a schedule as it stands.
type Schedule struct {
	Name     string          `json:"name"`
	Spec     schedule.Spec   `json:"spec"`     // when it fires
	Workflow string          `json:"workflow"` // name of what it starts
	Input    history.Payload `json:"input,omitzero"`
	Memo     history.Payload `json:"memo,omitzero"`
	Set      time.Time       `json:"set"` // when it was made or changed
	Paused   *PausedInfo     `json:"paused,omitempty"`
	// Problem is why it cannot fire: the node that serves it does not know its time
	// zone, for instance.
	Problem string `json:"problem,omitempty"`

	Next    []UpcomingFire `json:"next,omitempty"`    // the next five, earliest first
	Open    []Fire         `json:"open,omitempty"`    // fires whose runs have not ended, earliest first
	Waiting []Fire         `json:"waiting,omitempty"` // fires that wait for these to end, in their order
	Recent  []Fire         `json:"recent,omitempty"`  // the last 20 that have ended, latest first

	Started int64 `json:"started"` // fires that started a run
	Skipped int64 `json:"skipped"` // because of overlap, or a pause while they waited
	Missed  int64 `json:"missed"`  // because nobody was there within CatchUp
}

// UpcomingFire is a nominal time that is still to come.
type UpcomingFire struct {
	Nominal time.Time `json:"nominal"`
	Due     time.Time `json:"due"` // when it is fired: with its jitter
}

// Fire is a nominal time that came.
type Fire struct {
	Nominal    time.Time `json:"nominal"`
	Kind       string    `json:"kind,omitempty"` // trigger or backfill if a person wanted it
	WorkflowID string    `json:"workflow_id"`
	RunID      string    `json:"run_id,omitempty"` // its first run
	Since      time.Time `json:"since"`            // it was started, or waits
	By         string    `json:"by,omitempty"`     // who wanted it
	Why        string    `json:"why,omitempty"`

	// Of one that has ended: completed, failed, canceled or terminated; id-in-use if
	// its workflow ID belonged to another run, as it was fired before for instance.
	Status string     `json:"status,omitempty"`
	Closed *time.Time `json:"closed,omitempty"`
	Error  string     `json:"error,omitempty"`
}

// ScheduledBy is the fire that started a chain.
type ScheduledBy struct {
	Name    string    `json:"name"`
	Nominal time.Time `json:"nominal"`
}

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
		Name: t.Name(), Spec: specOf(&d.Spec), Workflow: d.Spec.Workflow, Input: d.Spec.Input, Memo: d.Spec.Memo,
		Set: time.Unix(0, d.Set).UTC(), Problem: d.Problem, Started: d.Started, Skipped: d.Skipped, Missed: d.Missed,
		Paused: viewPause(d.Pause),
	}
	nominal, due := t.Upcoming(shownUpcoming)
	for i := range due {
		s.Next = append(s.Next, UpcomingFire{time.Unix(0, nominal[i]).UTC(), time.Unix(0, due[i]).UTC()})
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
