package core_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
)

// TestE95_CatchUpIsDecidedByNominalTimes: the schedule and the run of its first fire both
// have news after a downtime. The run ended while no node served the schedule, and its end
// is heard before the missed times are looked at, together with them, or after.
func TestE95_CatchUpIsDecidedByNominalTimes(t *testing.T) {
	for _, test := range []struct {
		overlap string
		ended   time.Duration
		fires   []string // in all, when every run has ended
		skipped int64
	}{
		{core.OverlapSkip, h + h/2, []string{"01", "02"}, 3},            // 03, 04 and 05 find the run of 02
		{core.OverlapSkip, 2*h + h/2, []string{"01", "03"}, 3},          // 02 found the run of 01
		{core.OverlapSkip, 4*h + h/2, []string{"01", "05"}, 3},          // 02 to 04 did
		{core.OverlapSkip, 5*h + h/4, []string{"01"}, 4},                // all did
		{core.OverlapSkip, 2 * h, []string{"01", "03"}, 3},              // 02 came while it ended
		{core.OverlapBufferOne, h + h/2, []string{"01", "02", "03"}, 2}, // 03 waited for the run of 02
		{core.OverlapBufferOne, 2*h + h/2, []string{"01", "02", "03"}, 2},
		{core.OverlapBufferAll, 2*h + h/2, []string{"01", "02", "03", "04", "05"}, 0},
	} {
		for _, order := range []string{"first", "together", "last"} {
			t.Run(fmt.Sprint(test.overlap, " ", test.ended, " ", order), func(t *testing.T) {
				c := newClockwork(t, history.Schedule{Overlap: test.overlap})
				c.step(h)
				f := c.table.Fires()[0]
				end := core.FromChild{Call: f.Number, Status: "completed", Run: f.Run, Ended: int64(test.ended)}
				now := 5*h + h/2
				switch order {
				case "first": // heard by a schedule that looks at no time, as it hears more than belongs into a step
					c.step(test.ended, end)
				case "last":
					c.step(now)
					c.step(now, end)
				}
				c.step(now, end, end)
				for range 5 {
					c.end(now+h/4, "completed")
				}
				c.expect(test.fires...)
				c.counts(int64(len(test.fires)), test.skipped, 0)
			})
		}
	}
}

// TestE95_OrderMakesNoDifference: whatever ends when, jitter included.
func TestE95_OrderMakesNoDifference(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		spec := history.Schedule{
			Overlap: rapid.SampledFrom([]string{core.OverlapSkip, core.OverlapBufferOne}).Draw(r, "overlap"),
			Jitter:  time.Duration(rapid.IntRange(0, 90).Draw(r, "jitter")) * time.Minute,
		}
		ended := time.Duration(rapid.IntRange(121, 1200).Draw(r, "ended")) * time.Minute
		now := ended + time.Duration(rapid.IntRange(0, 600).Draw(r, "later"))*time.Minute
		var logs [2][]string
		for i := range logs {
			c := newClockwork(t, spec)
			c.step(2 * h)
			f := c.table.Fires()[0]
			end := core.FromChild{Call: f.Number, Status: "completed", Run: f.Run, Ended: int64(ended)}
			if i == 1 {
				c.step(now)
			}
			c.step(now, end)
			for range 3 {
				c.end(now+h/4, "completed")
			}
			d := c.table.Detail()
			logs[i] = append(c.log, fmt.Sprint(d.Started, d.Skipped, d.Missed, d.Next))
		}
		if !slices.Equal(logs[0], logs[1]) {
			r.Errorf("%+v: a run ended at %s; at %s, heard first: %q; heard last: %q", spec, ended, now, logs[0], logs[1])
		}
	})
}

// TestE95_APauseIsNotTakenBack: times that passed while the schedule was paused, or did
// something else, are not fired because a run ended before them.
func TestE95_APauseIsNotTakenBack(t *testing.T) {
	c := newClockwork(t, history.Schedule{Overlap: core.OverlapSkip})
	c.step(h)
	c.step(2 * h)
	f := c.table.Fires()[0]
	c.step(2*h+h/2, core.ToSchedule{Word: core.SchedulePause, At: int64(2*h + h/2)})
	c.step(4*h+h/2, core.ToSchedule{Word: core.ScheduleResume, At: int64(4*h + h/2)})
	c.step(5*h + h/2)
	c.step(5*h+h/2, core.FromChild{Call: f.Number, Status: "completed", Run: f.Run, Ended: int64(h + h/2)})
	c.expect("01", "05")
}

// TestE95_TheLastOfSeveralRunsDecides: several runs are open when the policy becomes Skip, and
// the end of the one that ended last is heard first.
func TestE95_TheLastOfSeveralRunsDecides(t *testing.T) {
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		c := newClockwork(t, history.Schedule{Overlap: core.OverlapAllow})
		c.step(h)
		c.step(2 * h)
		spec := c.table.Detail().Spec
		spec.Overlap = core.OverlapSkip
		c.step(2*h+h/4, core.ToSchedule{Word: core.ScheduleSet, Spec: &spec, At: int64(2*h + h/4)})
		var ends []core.Input
		for i, f := range c.table.Fires() {
			ends = append(ends, core.FromChild{Call: f.Number, Status: "completed", Run: f.Run, Ended: int64(2*h + h/2 + time.Duration(i)*2*h)})
		}
		now := 5*h + h/2
		c.step(now)
		c.step(now, ends[order[0]])
		c.step(now, ends[order[1]])
		c.expect("01", "02", "05") // 03 and 04 found the run of 02, whatever was heard first
	}
}

// TestE95_ATimeThatIsTheEnd finds the run open, whichever is handled first; with jitter the time
// is that at which the fire is due.
func TestE95_ATimeThatIsTheEnd(t *testing.T) {
	for _, together := range []bool{true, false} {
		c := newClockwork(t, history.Schedule{Overlap: core.OverlapSkip, Jitter: h})
		c.step(2*h - 1)
		f, due := c.table.Fires()[0], time.Duration(c.table.NextDue())
		end := core.FromChild{Call: f.Number, Status: "completed", Run: f.Run, Ended: int64(due)}
		if !together {
			c.step(due + 1)
		}
		c.step(due+1, end)
		c.expect("01")
		c.counts(1, 1, 0)
	}
}

// shifted comes some time after each hour.
type shifted time.Duration

func (s shifted) After(at int64) int64 { return hourly{}.After(at-int64(s)) + int64(s) }

// TestE49_OtherTimesBeginWhenTheyAreSet: the next time is one of the new ones. A change of anything
// else leaves it as it is.
func TestE49_OtherTimesBeginWhenTheyAreSet(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*history.Schedule)
		next   time.Duration
	}{
		"offset":  {func(s *history.Schedule) { s.Offset = time.Minute }, 2*h + time.Minute},
		"every":   {func(s *history.Schedule) { s.Every = time.Minute }, 2*h + time.Minute},
		"cron":    {func(s *history.Schedule) { s.Cron = "other" }, 2*h + time.Minute},
		"overlap": {func(s *history.Schedule) { s.Overlap = core.OverlapAllow }, 2 * h},
	} {
		t.Run(name, func(t *testing.T) {
			x := newClockwork(t, history.Schedule{Overlap: core.OverlapBufferAll})
			x.step(h)
			x.config.Calendar = func(history.Schedule) (core.Calendar, error) { return shifted(time.Minute), nil }
			x.load()
			spec := x.table.Detail().Spec
			c.change(&spec)
			now := h + h/4
			x.step(now, core.ToSchedule{Word: core.ScheduleSet, At: int64(now), Spec: &spec})
			if got := time.Duration(x.table.Detail().Next); got != c.next {
				t.Errorf("the next time is %s, and should be %s", got, c.next)
			}
		})
	}
}
