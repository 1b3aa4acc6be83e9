package dashboard

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/view"
)

// schedulesPage is the list of schedules.
type schedulesPage struct {
	Rows []scheduleRow
	More int
}

// rowOfSchedule is a schedule in the list.
type scheduleRow struct {
	Schedule         linked
	Times, Workflow  string
	State, Says      string
	Next             *stamp
	Open, Waiting    int
	Last             string // status of the latest fire that ended
	LastRun          linked
	Closed           *stamp
	Started, Skipped int64
	Missed           int64
	Grave            bool
}

// maxSchedules is how many schedules the list shows.
const maxSchedules = 500

func schedules(q *request) (any, error) {
	all, err := ops.Schedules(q.ctx, q.engine)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b view.Schedule) int {
		rank := func(s *view.Schedule) int {
			switch {
			case s.Problem != "":
				return 0
			case s.Paused != nil:
				return 1
			}
			return 2
		}
		return cmp.Compare(rank(&a), rank(&b))
	})
	p := &schedulesPage{More: max(0, len(all)-maxSchedules)}
	for i := range all[:len(all)-p.More] {
		p.Rows = append(p.Rows, rowOfSchedule(q, &all[i]))
	}
	return p, nil
}

func rowOfSchedule(q *request, s *view.Schedule) scheduleRow {
	row := scheduleRow{
		Schedule: scheduleLink(s.Name), Times: wording.Times(s.Spec), Workflow: s.Workflow, Open: len(s.Open), Waiting: len(s.Waiting),
		Started: s.Started, Skipped: s.Skipped, Missed: s.Missed, State: "closed", Says: "on",
	}
	switch {
	case s.Problem != "":
		row.State, row.Says, row.Grave = view.WaitDamaged, "has a problem", true
	case s.Paused != nil:
		row.State, row.Says, row.Grave = view.StatusPaused, "paused", true
	case len(s.Next) == 0:
		row.State, row.Says = "calm", "never again"
	default:
		row.Next = q.until(&s.Next[0].Due)
	}
	if len(s.Recent) > 0 {
		f := &s.Recent[0]
		row.Last, row.LastRun, row.Closed = f.Status, runLink(f.WorkflowID, f.RunID), q.ago(f.Closed)
	}
	return row
}

// scheduleLink returns a link to a schedule.
func scheduleLink(name string) linked { return linked{name, link("schedule", "name", name)} }

// schedulePage shows one schedule.
type schedulePage struct {
	Row     scheduleRow
	Name    string
	Done    string
	Problem string
	Paused  string
	Since   *stamp
	Buttons []button
	Facts   []trait
	Input   folded
	Memo    folded
	Next    []nextFire
	Fires   []fireRow
	Fired   linked // for a requested trigger
	Log     []auditEntry
}

func (p *schedulePage) title() string { return p.Name + " · schedule" }

// nextFire is an upcoming fire.
type nextFire struct {
	Nominal stamp
	Due     *stamp
	Later   string // delay by jitter
}

// fireRow is a fire of a schedule.
type fireRow struct {
	Key     string
	Run     linked
	State   string
	Nominal stamp
	Since   *stamp
	Took    string
	Kind    string
	Why     folded
}

// scheduleNamed returns a schedule.
func (q *request) scheduleNamed(name string) (*view.Schedule, error) {
	s, err := ops.DescribeSchedule(q.ctx, q.engine, name)
	if errors.Is(err, perdure.ErrNotFound) {
		err = &absent{"schedule", name}
	}
	return s, err
}

func showSchedule(q *request) (any, error) {
	s, err := q.scheduleNamed(q.URL.Query().Get("name"))
	if err != nil {
		return nil, err
	}
	p := &schedulePage{Row: rowOfSchedule(q, s), Name: s.Name, Done: doneText(q, command.Schedule), Problem: s.Problem}
	if id := q.URL.Query().Get("fired"); id != "" {
		p.Fired = runLink(id, "")
	}
	if s.Paused != nil {
		p.Paused, p.Since = wording.ByAndWhy(s.Paused.By, s.Paused.Why), q.ago(&s.Paused.Since)
	}
	if q.operator() {
		names := []string{"trigger", "backfill", "pause", "delete"}
		if s.Paused != nil {
			names[2] = "resume"
		}
		p.Buttons = changeButtons(command.Schedule, s.Name, names...)
	}
	overlap := cmp.Or(s.Spec.Overlap, schedule.Skip)
	p.Facts = []trait{
		{Name: "times", Text: wording.Times(s.Spec)}, {Name: "starts", Text: s.Workflow}, {Name: "overlap", Text: string(overlap), Note: wording.Overlaps[overlap]},
	}
	if s.Spec.Jitter > 0 {
		p.Facts = append(p.Facts, trait{Name: "jitter", Text: human.Exact(s.Spec.Jitter)})
	}
	p.Facts = append(p.Facts,
		trait{Name: "catch-up", Text: human.Exact(cmp.Or(s.Spec.CatchUp, schedule.DefaultCatchUp)), Note: "how late a fire may be after a downtime"},
		trait{Name: "started", Text: human.Count(int(s.Started))}, trait{Name: "skipped", Text: human.Count(int(s.Skipped)), Note: "because of overlap or a pause"},
		trait{Name: "missed", Text: human.Count(int(s.Missed)), Note: "no node was up in time"}, trait{Name: "set", Time: q.ago(&s.Set)})
	p.Input = fold(s.Input.String(), "")
	if !s.Memo.Absent() {
		p.Memo = fold(s.Memo.String(), "")
	}
	for _, n := range s.Next {
		row := nextFire{Nominal: q.nominal(n.Nominal), Due: q.until(&n.Due)}
		if late := n.Due.Sub(n.Nominal); late > 0 {
			row.Later = human.Duration(late)
		}
		p.Next = append(p.Next, row)
	}
	p.fires(q, s)
	for i := range s.Log {
		p.Log = append(p.Log, rowOfAudit(q, &s.Log[i]))
	}
	return p, nil
}

// nominal formats a nominal time, which rarely has fractions of a second.
func (q *request) nominal(t time.Time) stamp {
	s := q.at(t)
	s.Text = strings.TrimSuffix(s.Text, ".000")
	return s
}

// maxFires is how many waiting or open fires the page shows.
const maxFires = 100

// fires adds the waiting, open and ended fires.
func (p *schedulePage) fires(q *request, s *view.Schedule) {
	add := func(f *view.Fire, state string, to *time.Time) {
		row := fireRow{Key: f.WorkflowID, State: state, Nominal: q.nominal(f.Nominal), Since: q.ago(&f.Since), Kind: cmp.Or(f.Kind, "regular"), Run: linked{Text: f.WorkflowID}}
		if f.RunID != "" {
			row.Run = runLink(f.WorkflowID, f.RunID)
		}
		if to != nil {
			row.Took = human.Duration(max(0, to.Sub(f.Since)))
		}
		row.Why = fold(cmp.Or(f.Error, wording.ByAndWhy(f.By, f.Why)), "")
		p.Fires = append(p.Fires, row)
	}
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
