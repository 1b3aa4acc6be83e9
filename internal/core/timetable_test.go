package core_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
)

// hourly fires on the hour.
type hourly struct{}

func (hourly) After(at int64) int64 { return (at/int64(time.Hour) + 1) * int64(time.Hour) }

// clockwork drives a timetable, which it loads again before each step, and writes down
// what it starts.
type clockwork struct {
	t      *testing.T
	config core.ScheduleConfig
	table  *core.Timetable
	rows   map[int64]core.Row
	state  core.State
	log    []string
	last   *core.StandingTurn
}

func newClockwork(t *testing.T, spec history.Schedule) *clockwork {
	c := &clockwork{t: t, rows: map[int64]core.Row{}, config: core.ScheduleConfig{
		Name: "s", ID: "#s", Run: "#0/s", Calendar: func(s history.Schedule) (core.Calendar, error) {
			if s.TimeZone != "" {
				return nil, errors.New("no such zone")
			}
			return hourly{}, nil
		},
	}}
	spec.Cron, spec.Workflow = "hourly", "w"
	spec.RunTimeout, spec.ChainTimeout, spec.Attributes = h, 2*h, map[string]string{"of": "s"}
	if spec.CatchUp == 0 {
		spec.CatchUp = 24 * time.Hour
	}
	c.table = core.NewTimetable(c.config, spec, int64(h/2))
	c.state = c.table.State()
	return c
}

func (c *clockwork) load() {
	c.t.Helper()
	var rows []core.Row
	for _, r := range c.rows {
		rows = append(rows, r)
	}
	var err error
	if c.table, err = core.LoadTimetable(c.config, rows, c.state); err != nil {
		c.t.Fatal(err)
	}
}

// step takes steps until nothing is due and everything is heard.
func (c *clockwork) step(now time.Duration, said ...core.Input) {
	c.t.Helper()
	for {
		c.load()
		out := c.table.Step(int64(now), said)
		c.last = out
		for _, n := range out.Closed {
			delete(c.rows, n)
		}
		for _, r := range out.Rows {
			c.rows[r.Call] = r
		}
		if out.State != nil {
			c.state = *out.State
		}
		for _, m := range out.Messages {
			switch in := m.Input.(type) {
			case core.Control:
				c.log = append(c.log, string(in.Operation)+" "+m.WorkflowID)
			case nil:
				if m.Start.Attributes["of"] != "s" || m.Start.ChainDeadline != int64(now+2*h) || m.Start.RunTimeout != h {
					c.t.Errorf("started is %+v", m.Start)
				}
				if m.Start.Run != m.Run || m.Start.WorkflowID != m.WorkflowID || m.Start.Parent.Run != c.config.Run {
					c.t.Errorf("started is %+v with %+v", m, m.Start)
				}
				c.log = append(c.log, m.WorkflowID)
			default:
				c.t.Errorf("said is %T", in)
			}
		}
		if said = said[out.Heard:]; len(said) == 0 && c.table.NextDue() > int64(now) {
			return
		}
	}
}

// end ends the runs of all open fires, and says so twice.
func (c *clockwork) end(now time.Duration, status string) {
	c.t.Helper()
	var ends []core.Input
	for _, f := range c.table.Fires() {
		if f.Run != "" {
			ends = append(ends, core.FromChild{Call: f.Number, Status: status, Run: f.Run})
		}
	}
	c.step(now, append(ends, ends...)...)
}

// expect demands what was started since it was asked the last time, by the hour.
func (c *clockwork) expect(want ...string) {
	c.t.Helper()
	got := make([]string, len(c.log))
	for i, id := range c.log {
		got[i] = strings.NewReplacer("s/1970-01-01T", "", ":00:00Z", "").Replace(id)
	}
	if !slices.Equal(got, want) {
		c.t.Errorf("got %q, want %q", got, want)
	}
	c.log = nil
}

func (c *clockwork) counts(started, skipped, missed int64) {
	c.t.Helper()
	d := c.table.Detail()
	if d.Started != started || d.Skipped != skipped || d.Missed != missed {
		c.t.Errorf("started %d, skipped %d, missed %d; want %d, %d, %d", d.Started, d.Skipped, d.Missed, started, skipped, missed)
	}
}

const h = time.Hour

// TestE49_OverlapPolicies: what becomes of the fires of 02, 03 and 04 while the run of
// 01 is open, and when it has ended.
func TestE49_OverlapPolicies(t *testing.T) {
	for _, test := range []struct {
		overlap       string
		during        []string // while it is open
		first, second []string // when it has ended, and when what followed has
		third         []string
		skipped       int64
	}{
		{overlap: core.OverlapSkip, skipped: 3},
		{overlap: core.OverlapBufferOne, first: []string{"02"}, skipped: 2},
		{overlap: core.OverlapBufferAll, first: []string{"02"}, second: []string{"03"}, third: []string{"04"}},
		{overlap: core.OverlapCancel, during: []string{"cancel 01"}, first: []string{"04"}, skipped: 2},
		{overlap: core.OverlapTerminate, during: []string{"terminate 01"}, first: []string{"04"}, skipped: 2},
		{overlap: core.OverlapAllow, during: []string{"02", "03", "04"}},
	} {
		t.Run(test.overlap, func(t *testing.T) {
			c := newClockwork(t, history.Schedule{Overlap: test.overlap})
			c.step(h)
			c.expect("01")
			for n := time.Duration(2); n <= 4; n++ {
				c.step(n * h)
			}
			c.expect(test.during...)
			for i, want := range [][]string{test.first, test.second, test.third, nil} {
				c.end(4*h+time.Duration(i), "completed")
				c.expect(want...)
			}
			c.counts(4-test.skipped, test.skipped, 0)
			if n := len(c.table.Detail().Recent); n != int(4-test.skipped) || len(c.rows) != 0 {
				t.Errorf("%d fires are on record, and %d rows", n, len(c.rows))
			}
			c.step(5 * h)
			c.expect("05")
		})
	}
}

// TestE49_CatchUp: what was missed within the window is fired in its order, what is
// older is counted, and nothing is fired twice.
func TestE49_CatchUp(t *testing.T) {
	c := newClockwork(t, history.Schedule{Overlap: core.OverlapAllow, CatchUp: 3 * h})
	c.step(h)
	c.expect("01")
	c.step(10*h + h/2)
	c.expect("08", "09", "10")
	c.counts(4, 0, 6)
	c.step(10*h + h/2)
	c.expect()

	c = newClockwork(t, history.Schedule{Overlap: core.OverlapSkip})
	c.step(10*h + h/2)
	c.expect("01") // the others would overlap
	c.counts(1, 9, 0)

	// Ten years in one go.
	c = newClockwork(t, history.Schedule{Overlap: core.OverlapAllow, CatchUp: 300 * h})
	c.step(87_660 * h)
	if n := len(c.log); n != 301 {
		t.Errorf("%d fires were caught up with", n)
	}
	c.counts(301, 0, 87_660-301)
}

// TestE49_PauseOfASchedule: nothing of a pause is caught up with; a trigger and a
// backfill fire in it; who said so is on record.
func TestE49_PauseOfASchedule(t *testing.T) {
	c := newClockwork(t, history.Schedule{Overlap: core.OverlapBufferAll})
	c.step(2*h + 1)
	c.expect("01") // and 02 waits
	c.step(3*h+2, core.ToSchedule{Word: core.SchedulePause, At: int64(2*h + 2), By: "Ada", Why: "too much"})
	c.expect()
	if d := c.table.Detail(); d.Pause == nil || d.Pause.By != "Ada" || d.Pause.Reason != "too much" || c.table.NextDue() != core.Never {
		t.Errorf("it is paused: %+v, next at %d", d.Pause, c.table.NextDue())
	}
	c.counts(1, 1, 0)
	c.end(4*h, "completed")
	c.expect()
	c.step(5*h, core.ToSchedule{Word: core.ScheduleTrigger, At: int64(4*h + 1)})
	c.expect("04:00:00.000000001Z")
	c.end(5*h+1, "completed")
	backfill := core.ToSchedule{Word: core.ScheduleBackfill, At: int64(5*h + 2), From: int64(3 * h), Until: int64(5 * h), Overlap: core.OverlapBufferAll}
	c.step(5*h+2, backfill, backfill)
	c.expect("03")
	for i, want := range []string{"04", "05"} {
		c.end(5*h+3+time.Duration(i), "completed")
		c.expect(want)
	}
	c.end(5*h+5, "completed")
	c.step(9*h, core.ToSchedule{Word: core.ScheduleResume, At: int64(7*h + 1)})
	c.expect("08") // and 09 waits
	c.end(9*h+1, "completed")
	c.expect("09")
}

// TestE49_ScheduleIsSetAndDeleted: a schedule that is set to what it does stays as it
// is; another spec counts from when it was said; a deleted one fires nothing and may
// be made again; what was decided stays.
func TestE49_ScheduleIsSetAndDeleted(t *testing.T) {
	c := newClockwork(t, history.Schedule{Overlap: core.OverlapBufferAll})
	spec := c.table.Detail().Spec
	c.step(2*h + 1)
	c.expect("01")
	c.step(2*h+2, core.ToSchedule{Word: core.ScheduleSet, At: int64(2*h + 2), Spec: &spec})
	if len(c.table.Fires()) != 2 || c.last.State != nil {
		t.Error("it changed although it does that already")
	}
	other := spec
	other.Workflow, other.Overlap = "other", core.OverlapAllow
	c.step(4*h+1, core.ToSchedule{Word: core.ScheduleSet, At: int64(3*h + 1), Spec: &other})
	c.expect("04") // 03 was due before, and waits
	if n := len(c.table.Fires()); n != 4 {
		t.Errorf("there are %d fires", n)
	}
	c.step(4*h+2, core.ToSchedule{Word: core.ScheduleDelete, At: int64(4*h + 2)})
	c.end(9*h, "completed")
	c.step(10*h, core.ToSchedule{Word: core.ScheduleTrigger, At: int64(10 * h)})
	c.expect()
	if c.table.NextDue() != core.Never || len(c.table.Fires()) != 0 || len(c.rows) != len(c.table.Log()) {
		t.Errorf("deleted it is due at %d, with %d rows", c.table.NextDue(), len(c.rows))
	}
	c.step(6*h+1, core.ToSchedule{Word: core.ScheduleSet, At: int64(3 * h), Spec: &spec})
	c.expect("05") // 03 and 04 were decided before
	c.end(6*h+2, core.ChildIDInUse)
	c.expect("06")
	if last := c.table.Detail().Recent; len(last) != 1 || last[0].Status != core.ChildIDInUse || last[0].Error == "" {
		t.Errorf("on record is %+v", last)
	}
}

// TestE49_OfTwoThatReplaceTheSameOneDoes: the other one is refused, and noted.
func TestE49_OfTwoThatReplaceTheSameOneDoes(t *testing.T) {
	c := newClockwork(t, history.Schedule{Overlap: core.OverlapSkip})
	base := c.table.Detail()
	set := func(at int64, by, workflow string) {
		spec := base.Spec
		spec.Workflow = workflow
		c.step(time.Duration(at)+1, core.ToSchedule{Word: core.ScheduleSet, At: at, Spec: &spec, Base: base.Set, Request: by, By: by})
	}
	set(1, "ann", "first")
	set(2, "bob", "second")
	if got, by := c.table.Detail(), c.table.LastSet(); got.Spec.Workflow != "first" || got.Set != 1 || by == nil || by.By != "ann" {
		t.Errorf("it starts %s, as %+v has set it", got.Spec.Workflow, by)
	}
	if n := c.table.Asked("set", "bob"); n == nil || n.Outcome != core.Refused {
		t.Errorf("of the other one is noted %+v", n)
	}
	base = c.table.Detail()
	if set(3, "cid", "second"); c.table.Detail().Spec.Workflow != "second" {
		t.Error("it is refused although it replaces what there is")
	}
}

// TestE49_ATimeZoneThatIsNotKnown: a schedule whose times a node cannot tell says why,
// is looked at again, and goes on where they are known, with what was missed.
func TestE49_ATimeZoneThatIsNotKnown(t *testing.T) {
	c := newClockwork(t, history.Schedule{TimeZone: "Mars", Overlap: core.OverlapAllow})
	ignorant := c.config.Calendar
	if d := c.table.Detail(); d.Problem != "no such zone" || c.table.NextDue() == core.Never {
		t.Errorf("its problem is %q, and it is due at %d", d.Problem, c.table.NextDue())
	}
	wise := func(history.Schedule) (core.Calendar, error) { return hourly{}, nil }
	c.config.Calendar = wise
	c.step(2 * h)
	c.expect("01", "02")
	c.config.Calendar = ignorant
	c.load()
	c.table.Step(int64(3*h+1), nil)
	if c.state = c.table.State(); c.table.Detail().Problem == "" || c.state.Wake > int64(4*h) {
		t.Errorf("a node that does not know the zone has no problem: %+v", c.state)
	}
	c.config.Calendar = wise
	c.step(4*h + 1)
	c.expect("03", "04")
	if d := c.table.Detail(); d.Problem != "" {
		t.Errorf("its problem is still %q", d.Problem)
	}
}

// TestE49_Jitter: it is the same whenever asked, differs from time to time, and does
// not reach the next nominal time.
func TestE49_Jitter(t *testing.T) {
	c := newClockwork(t, history.Schedule{Overlap: core.OverlapAllow, Jitter: 5 * h})
	nominal, due := c.table.Upcoming(200)
	var spread []time.Duration
	for i := range due {
		late := time.Duration(due[i] - nominal[i])
		if late < 0 || late >= h || i > 0 && nominal[i] != nominal[i-1]+int64(h) {
			t.Errorf("%d is due at %d", nominal[i], due[i])
		}
		spread = append(spread, late)
	}
	slices.Sort(spread)
	if spread[30] > h/4 || spread[170] < 3*h/4 {
		t.Errorf("the jitter is not spread: %v", spread)
	}
	c.step(time.Duration(due[0] - 1))
	c.expect()
	c.step(time.Duration(due[0]))
	c.expect("01")
	if _, again := c.table.Upcoming(1); again[0] != due[1] {
		t.Error("the jitter is another one when asked again")
	}
}

// TestE49_BufferIsBounded: no more than so many fires wait.
func TestE49_BufferIsBounded(t *testing.T) {
	c := newClockwork(t, history.Schedule{Overlap: core.OverlapBufferAll, CatchUp: 5000 * h})
	c.step(1300*h + 1)
	if n := len(c.table.Fires()); n != 1001 {
		t.Errorf("%d fires are open or wait", n)
	}
	c.counts(1, 299, 0)
}

// TestF21_AScheduleKeepsALog: of what people said, and what came of it; not of a program
// that says the same each time it starts.
func TestF21_AScheduleKeepsALog(t *testing.T) {
	c := newClockwork(t, history.Schedule{})
	spec := c.table.Detail().Spec
	set := core.ToSchedule{Word: core.ScheduleSet, At: int64(h / 2), Spec: &spec, By: "node"}
	c.step(h/2, set) // as the one who made it does
	set.At = int64(h/2) + 5
	c.step(h/2+5, set)
	other := spec
	other.Overlap = core.OverlapAllow
	c.step(h/2+6, core.ToSchedule{Word: core.ScheduleSet, At: int64(h/2) + 6, Spec: &other, By: "ann"})
	for n, word := range []core.ScheduleWord{core.SchedulePause, core.SchedulePause, core.ScheduleResume, core.ScheduleResume, core.ScheduleTrigger, core.ScheduleBackfill, core.ScheduleDelete} {
		at := int64(h/2) + int64(n+1)*int64(time.Second)
		c.step(time.Duration(at), core.ToSchedule{Word: word, At: at, By: "bob", Why: "so", From: 1, Until: at})
	}
	var got []string
	for _, n := range c.table.Log() {
		got = append(got, strings.TrimSpace(strings.Join([]string{n.By, n.Word, n.Outcome, n.Text}, " ")))
	}
	want := []string{
		"node set applied it is new", "ann set applied", "bob pause applied", "bob pause unchanged it is paused already", "bob resume applied",
		"bob resume unchanged it is not paused", "bob trigger applied workflow s/1970-01-01T00:30:05Z",
		"bob backfill applied 0 times from 1970-01-01T00:00:00Z to 1970-01-01T00:30:06Z", "bob delete applied",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the log has\n%s", strings.Join(got, "\n"))
	}
}
