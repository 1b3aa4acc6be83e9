package request

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/view"
)

// SetSchedule creates a schedule or changes its spec. It ignores the workflow ID of start.
func (c *Client) SetSchedule(ctx context.Context, name string, when schedule.Spec, start Start) error {
	return c.ReplaceSchedule(ctx, name, when, start, Replaced{}, By{})
}

// Replaced says what ReplaceSchedule may replace.
type Replaced struct {
	Set time.Time // only the spec that was set then; zero: any
	Dry bool      // only say whether it would be replaced
}

// ReplaceSchedule is SetSchedule with what is to be replaced, and who asks. If the schedule has
// another spec than that, it returns a *view.ChangedError.
func (c *Client) ReplaceSchedule(ctx context.Context, name string, when schedule.Spec, start Start, old Replaced, by By) error {
	op := intercept.Op{Kind: intercept.Schedule, Name: name, Workflow: start.Type}
	_, err := interceptStart(ctx, c, op, start, func(c *Client, ctx context.Context, start Start) (none, error) {
		if err := errors.Join(c.checkSchedule(ctx, name, when, &start), by.check()); err != nil {
			return none{}, err
		}
		spec := scheduleOf(when, &start)
		now := c.now()
		m := core.ToSchedule{Word: core.ScheduleSet, At: now, Spec: spec, By: cmp.Or(by.Who, c.node), Why: by.Why, Request: by.Request}
		if !old.Set.IsZero() {
			return none{}, c.replaceSchedule(ctx, name, &m, old)
		}
		if old.Dry {
			return none{}, nil
		}
		row, err := entity.Find(c.group, entity.Schedule, name).Row(now)
		if err != nil {
			return none{}, err
		}
		row.RunState = record.StoreState(core.NewTimetable(record.ScheduleConfig(c.group, name), *spec, now).State())
		if err := c.db.Create(ctx, row); err != nil {
			return none{}, err
		}
		// Create does not report whether the schedule existed. If it is new, the message below
		// repeats its spec and changes nothing.
		return none{}, c.deliver(ctx, message.ToSchedule(c.group, name, &m))
	})
	return err
}

// replaceSchedule sets what a schedule does in place of what was set at a time. Of two that replace
// the same the owner obeys the one whose message comes first; the other one reads that in the inbox.
func (c *Client) replaceSchedule(ctx context.Context, name string, m *core.ToSchedule, old Replaced) error {
	m.Base = old.Set.UnixNano()
	done, err := c.replaced(ctx, name, m, false)
	if done || old.Dry || err != nil {
		return err
	}
	if err := c.deliver(ctx, message.ToSchedule(c.group, name, m)); err != nil {
		return err
	}
	_, err = c.replaced(ctx, name, m, true)
	return err
}

// replaced reports whether a schedule has obeyed a request to replace what it does, or does that
// already. The error says who has set something else.
func (c *Client) replaced(ctx context.Context, name string, m *core.ToSchedule, sent bool) (done bool, err error) {
	t, err := c.read.Timetable(ctx, name)
	if err != nil {
		return false, err
	}
	detail := t.Detail()
	switch n := t.Asked(string(m.Word), m.Request); {
	case n != nil && n.Outcome != core.Refused, m.Spec.Equal(&detail.Spec):
		return true, nil
	case n == nil && !sent && !t.Outdated(m.Base):
		return false, nil
	}
	e := &view.ChangedError{Kind: "schedule", Name: name, At: time.Unix(0, detail.Set)}
	if by := t.LastSet(); by != nil {
		e.By, e.Why = by.By, by.Why
	}
	return false, e
}

// scheduleOf returns the recorded form of a schedule.
func scheduleOf(when schedule.Spec, start *Start) *history.Schedule {
	s := &history.Schedule{
		Cron: when.Cron, TimeZone: when.TimeZone, Every: when.Every, Offset: when.Offset, Jitter: when.Jitter,
		CatchUp: when.CatchUp, Overlap: string(when.Overlap),
		Workflow: start.Type, Input: start.Input, Trace: start.Trace, Settings: start.Settings,
	}
	s.Headers, _ = history.CutTrace(start.Headers)
	s.CatchUp = cmp.Or(s.CatchUp, schedule.DefaultCatchUp)
	s.Overlap = cmp.Or(s.Overlap, string(schedule.Skip))
	return s
}

// PauseSchedule stops a schedule from firing on time, or lets it fire again.
func (c *Client) PauseSchedule(ctx context.Context, name string, paused bool, by By) error {
	return c.intercept(ctx, operate(map[bool]string{true: "pause-schedule", false: "resume-schedule"}[paused]), func(ctx context.Context) error {
		word := core.ScheduleResume
		if paused {
			word = core.SchedulePause
		}
		return c.askSchedule(ctx, name, core.ToSchedule{Word: word}, by)
	})
}

// DeleteSchedule ends a schedule. The runs that it started continue.
func (c *Client) DeleteSchedule(ctx context.Context, name string, by By) error {
	return c.intercept(ctx, operate("delete-schedule"), func(ctx context.Context) error {
		return c.askSchedule(ctx, name, core.ToSchedule{Word: core.ScheduleDelete}, by)
	})
}

// TriggerSchedule fires a schedule now, even if it is paused, and returns the workflow ID
// of the fire. Repeating the request does not fire again.
func (c *Client) TriggerSchedule(ctx context.Context, name string, overlap schedule.Overlap, by By) (id string, err error) {
	return Intercept(ctx, c, operate("trigger-schedule"), func(ctx context.Context) (string, error) {
		now := c.now()
		err := c.askSchedule(ctx, name, core.ToSchedule{Word: core.ScheduleTrigger, At: now, Overlap: string(overlap)}, by)
		return core.TriggerID(name, now, by.Request), err
	})
}

// BackfillSchedule fires the past nominal times between two times, both included, and
// returns their number. An empty overlap means schedule.BufferAll.
func (c *Client) BackfillSchedule(ctx context.Context, name string, from, until time.Time, overlap schedule.Overlap, by By) (n int, err error) {
	return Intercept(ctx, c, operate("backfill-schedule"), func(ctx context.Context) (int, error) {
		if err := c.check(ctx, by.check()); err != nil {
			return 0, err
		}
		t, err := c.read.Timetable(ctx, name)
		if t != nil {
			if asked := t.Asked(string(core.ScheduleBackfill), by.Request); asked != nil {
				return backfillAnswer(name, asked)
			}
		}
		if err != nil {
			return 0, err
		}
		detail := t.Detail()
		times, err := record.ScheduleSpec(&detail.Spec).Times()
		if err != nil {
			return 0, err
		}
		now := c.now()
		n, err := backfilled(times, now, from, until)
		if err != nil {
			return 0, err
		}
		overlap = cmp.Or(overlap, schedule.BufferAll)
		return n, c.askSchedule(ctx, name, core.ToSchedule{
			Word: core.ScheduleBackfill, At: now, From: from.UnixNano(), Until: until.UnixNano(), Overlap: string(overlap),
		}, by)
	})
}

// backfillAnswer returns the outcome of a backfill that the schedule has already obeyed,
// whatever range is given now and whatever the schedule does now.
func backfillAnswer(name string, n *core.Note) (int, error) {
	if n.Outcome == core.Refused {
		return 0, &history.InputError{What: fmt.Sprintf("backfill of schedule %q", name), Problem: "is refused: " + n.Text}
	}
	return n.Backfilled(), nil
}

// askSchedule sends a message to a schedule that exists.
func (c *Client) askSchedule(ctx context.Context, name string, m core.ToSchedule, by By) error {
	if err := c.check(ctx, schedule.Overlap(m.Overlap).Check(), by.check()); err != nil {
		return err
	}
	t, err := c.read.Timetable(ctx, name)
	if t != nil && t.Asked(string(m.Word), by.Request) != nil {
		return nil // already obeyed; the schedule may be deleted now
	}
	if err != nil {
		return err
	}
	m.At = cmp.Or(m.At, c.now())
	m.By, m.Why, m.Request = cmp.Or(by.Who, c.node), by.Why, by.Request
	return c.deliver(ctx, message.ToSchedule(c.group, name, &m))
}
