package request

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/schedule"
)

// SetSchedule creates a schedule or changes its spec. It ignores the workflow ID of start.
func (c *Client) SetSchedule(ctx context.Context, name string, when schedule.Spec, start Start) error {
	op := intercept.Op{Kind: intercept.Schedule, Name: name, Workflow: start.Type}
	_, err := interceptStart(ctx, c, op, start, func(c *Client, ctx context.Context, start Start) (none, error) {
		if err := c.checkSchedule(ctx, name, when, &start); err != nil {
			return none{}, err
		}
		spec := scheduleOf(when, &start)
		now := c.now()
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
		return none{}, c.deliver(ctx, message.ToSchedule(c.group, name, &core.ToSchedule{Word: core.ScheduleSet, At: now, Spec: spec, By: c.node}))
	})
	return err
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
