package inspect

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/message"
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
		t, err := in.loadTimetable(ctx, entity.NameOf(row.ID))
		if errors.Is(err, store.ErrNotFound) {
			return nil
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

// Timetable returns the machine of a schedule as it will be when it has heard the requests
// that are durable now. It is for reading only.
func (in *Inspector) Timetable(ctx context.Context, name string) (*core.Timetable, error) {
	if err := in.check(ctx); err != nil {
		return nil, err
	}
	if err := history.CheckName("schedule name", name); err != nil {
		return nil, err
	}
	t, err := in.loadTimetable(ctx, name)
	if errors.Is(err, store.ErrNotFound) || err == nil && t.Detail().Deleted {
		return t, in.Absent(ctx, entity.Schedule, name, "")
	}
	return t, err
}

// loadTimetable reads the rows of a schedule and the requests in its inbox, which its owner
// has not taken yet.
func (in *Inspector) loadTimetable(ctx context.Context, name string) (*core.Timetable, error) {
	at := entity.Find(in.group, entity.Schedule, name)
	rec, posted, err := in.loadWithInbox(ctx, at)
	if err != nil {
		return nil, err
	}
	t, err := record.Schedule(in.group, rec)
	if err != nil {
		return nil, err
	}
	for _, m := range posted {
		// A message that cannot be read here waits for a program that can.
		if told, err := message.Input(m); err == nil {
			if request, is := told.(core.ToSchedule); is {
				t.Foresee(request)
			}
		}
	}
	return t, nil
}

// loadWithInbox returns the rows of an entity and the messages that these rows do not
// include. A turn deletes the messages that it takes, so the rows include none of the
// messages that are there after the rows were read. It reads again if one that was there
// before is gone: then the rows may be those from before that turn, or from after it.
func (in *Inspector) loadWithInbox(ctx context.Context, at entity.Standing) (rec *store.Record, posted []store.Message, err error) {
	posted, err = in.db.Posted(ctx, at.Partition, at.WorkflowID)
	for err == nil {
		before := posted
		if rec, err = in.db.Load(ctx, at.Partition, at.Run); err != nil || len(before) == 0 {
			break
		}
		if posted, err = in.db.Posted(ctx, at.Partition, at.WorkflowID); err == nil && include(posted, before) {
			break
		}
	}
	return rec, posted, err
}

// include reports whether all of some messages are among others. Both are by number.
func include(all, some []store.Message) bool {
	for len(all) > 0 && len(some) > 0 && all[0].Sequence <= some[0].Sequence {
		if all[0].Sequence == some[0].Sequence {
			some = some[1:]
		}
		all = all[1:]
	}
	return len(some) == 0
}

func scheduleOf(t *core.Timetable) *view.Schedule {
	d := t.Detail()
	s := &view.Schedule{
		Name: t.Name(), Spec: record.ScheduleSpec(&d.Spec), Workflow: d.Spec.Workflow, Input: payload(d.Spec.Input), Memo: payload(d.Spec.Memo),
		Priority: d.Spec.Priority, Key: d.Spec.Key, Weight: d.Spec.Weight, Attributes: d.Spec.Attributes, Retry: d.Spec.Retry,
		RunTimeout: d.Spec.RunTimeout, ChainTimeout: d.Spec.ChainTimeout,
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
