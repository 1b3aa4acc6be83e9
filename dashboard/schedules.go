package dashboard

import (
	"cmp"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

// schedulesPage is the list of schedules.
type schedulesPage struct {
	Done    string
	Buttons []button
	Rows    []*scheduleRow
	More    int
}

// scheduleRow is a schedule with its state.
type scheduleRow struct {
	*view.Schedule
	State, Says string
	rank        int // the first ones need attention
}

// Grave reports whether it needs attention.
func (r *scheduleRow) Grave() bool { return r.rank < 2 }

// maxSchedules is how many schedules the list shows.
const maxSchedules = 500

func schedules(q *request) (any, error) {
	all, err := ops.Schedules(q.ctx, q.engine)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b view.Schedule) int { return cmp.Compare(rowOfSchedule(&a).rank, rowOfSchedule(&b).rank) })
	p := &schedulesPage{More: max(0, len(all)-maxSchedules), Done: doneText(q, command.Schedule)}
	if q.operator() {
		set := command.Find(command.Schedule, "set")
		p.Buttons = []button{{Label: set.Makes, Says: set.Makes, Link: link("change", "kind", string(set.On), "do", set.Name, "new", "yes")}}
	}
	for i := range all[:len(all)-p.More] {
		p.Rows = append(p.Rows, rowOfSchedule(&all[i]))
	}
	return p, nil
}

func rowOfSchedule(s *view.Schedule) *scheduleRow {
	switch {
	case s.Problem != "":
		return &scheduleRow{s, view.WaitDamaged, "has a problem", 0}
	case s.Paused != nil:
		return &scheduleRow{s, view.StatusPaused, "paused", 1}
	case len(s.Next) == 0:
		return &scheduleRow{s, "calm", "never again", 2}
	}
	return &scheduleRow{s, "closed", "on", 2}
}

// scheduleLink returns a link to a schedule.
func scheduleLink(name string) linked { return linked{name, link("schedule", "name", name)} }

// schedulePage shows one schedule.
type schedulePage struct {
	*scheduleRow
	Done    string
	Buttons []button
	Facts   []fact
	Fires   []fireRow
	Fired   linked // for a requested trigger
}

func (p *schedulePage) title() string { return p.Name + " · schedule" }

// fireRow is a fire of a schedule.
type fireRow struct {
	*view.Fire
	State string
	To    *time.Time // its end, or now; nil if it has not begun
}

func showSchedule(q *request) (any, error) {
	name := q.URL.Query().Get("name")
	s, err := ops.DescribeSchedule(q.ctx, q.engine, name)
	if err != nil {
		return nil, missing("schedule", name, err)
	}
	p := &schedulePage{scheduleRow: rowOfSchedule(s), Done: doneText(q, command.Schedule)}
	if id := q.URL.Query().Get("fired"); id != "" {
		p.Fired = runLink(id, "")
	}
	if q.operator() {
		names := []string{"trigger", "backfill", "pause", "set", "delete"}
		if s.Paused != nil {
			names[2] = "resume"
		}
		p.Buttons = changeButtons(command.Schedule, s.Name, names...)
	}
	p.Facts = factsOf(append([]wording.Fact{{Name: "starts", Text: s.Workflow}}, wording.ScheduleFacts(s)...))
	p.fires(q, s)
	return p, nil
}

// maxFires is how many waiting or open fires the page shows.
const maxFires = 100

// fires adds the waiting, open and ended fires.
func (p *schedulePage) fires(q *request, s *view.Schedule) {
	add := func(f *view.Fire, state string, to *time.Time) { p.Fires = append(p.Fires, fireRow{f, state, to}) }
	for i := range s.Waiting[:min(len(s.Waiting), maxFires)] {
		add(&s.Waiting[i], view.CallWaiting, nil)
	}
	for i := len(s.Open) - 1; i >= max(0, len(s.Open)-maxFires); i-- {
		add(&s.Open[i], view.StatusRunning, &q.now)
	}
	for i := range s.Recent {
		add(&s.Recent[i], s.Recent[i].Status, s.Recent[i].Closed)
	}
}
