package inspect

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

const (
	auditLimit = 100
	auditRuns  = 1000
	auditPage  = 200 // runs per query
)

// AuditGroup returns the operations in the group, latest first: on runs, activities, gates
// and schedules.
func (in *Inspector) AuditGroup(ctx context.Context, filter view.AuditFilter) (*view.Audit, error) {
	if err := in.check(ctx); err != nil {
		return nil, err
	}
	if err := errors.Join(checkLimit(filter.Limit), checkLimit(filter.Runs), checkBefore(filter.Before)); err != nil {
		return nil, err
	}
	a := &auditor{filter: filter, turns: maxPage}
	if filter.Runs == 0 {
		a.turns = in.search / 10
	}
	a.filter.Limit, a.filter.Runs = cmp.Or(filter.Limit, auditLimit), cmp.Or(filter.Runs, auditRuns)
	reads := []func(context.Context, *auditor) error{in.auditSwitches, in.auditGates, in.auditSchedules, in.auditRuns}
	if filter.Before != "" {
		reads = reads[len(reads)-1:] // the previous page had the others
	}
	for _, read := range reads {
		if err := read(ctx, a); err != nil {
			return nil, err
		}
	}
	a.sort()
	return &a.out, nil
}

// auditor collects the latest entries.
type auditor struct {
	filter view.AuditFilter
	turns  int // how many more turns may be read, over all histories
	out    view.Audit
}

func (a *auditor) add(r view.AuditRecord) {
	if r.Time.Before(a.filter.Since) || !a.filter.Until.IsZero() && !r.Time.Before(a.filter.Until) {
		return
	}
	if a.out.Records = append(a.out.Records, r); len(a.out.Records) >= 2*a.filter.Limit+1000 {
		a.sort()
	}
}

// sort orders the entries and drops the oldest beyond the limit.
func (a *auditor) sort() {
	slices.SortStableFunc(a.out.Records, func(x, y view.AuditRecord) int { return y.Time.Compare(x.Time) })
	if len(a.out.Records) > a.filter.Limit {
		a.out.Records, a.out.More = a.out.Records[:a.filter.Limit:a.filter.Limit], true
	}
}

// auditSwitches adds who paused and resumed which activities, and who gave which share of new runs to
// which build.
func (in *Inspector) auditSwitches(ctx context.Context, a *auditor) error {
	log, err := in.db.Switches(ctx, in.group.Name, 0)
	for _, w := range slices.Backward(log) {
		r := view.AuditRecord{Time: at(w.Time), Kind: w.Kind, Name: w.Name, Request: w.Request, By: w.By, Why: w.Why, Outcome: view.Applied}
		switch c := Canary(w); {
		case w.Kind == store.SwitchActivity:
			r.Operation = map[bool]string{true: "pause", false: "resume"}[w.Off]
			if end := w.Ends(); end != 0 {
				r.Note = "until " + at(end).Format(time.RFC3339)
			}
		case w.Kind != store.SwitchCanary:
			continue
		case c.Ended:
			r.Kind, r.Operation = "build", "end-canary"
		default:
			r.Kind, r.Operation = "build", "canary"
			r.Note = strconv.FormatFloat(c.Percent, 'f', -1, 64) + " % of new runs begin there"
		}
		a.add(r)
	}
	return err
}

// auditGates adds the operations on gates that still exist.
func (in *Inspector) auditGates(ctx context.Context, a *auditor) error {
	gates, err := in.Gates(ctx)
	for i := range gates {
		a.addLog("gate", gates[i].Name, gates[i].Paused, gates[i].Log)
	}
	return err
}

// auditSchedules adds the operations on schedules.
func (in *Inspector) auditSchedules(ctx context.Context, a *auditor) error {
	return in.eachTimetable(ctx, func(_ string, t *core.Timetable, damage error) {
		if damage != nil {
			return
		}
		s := scheduleOf(t)
		a.addLog("schedule", s.Name, s.Paused, s.Log)
		a.addFires(s)
	})
}

// addLog adds the log of a gate or schedule, and its pause. The pause may be in force
// although the log no longer has its note.
func (a *auditor) addLog(kind, name string, p *view.Pause, log []view.AuditRecord) {
	for _, r := range log {
		a.add(r)
	}
	if p != nil && !slices.ContainsFunc(log, func(r view.AuditRecord) bool { return r.Operation == "pause" && r.Time.Equal(p.Since) }) {
		a.add(view.AuditRecord{Time: p.Since, Kind: kind, Name: name, Operation: "pause", By: p.By, Why: p.Why, Outcome: view.Applied})
	}
}

// addFires adds fires by hand that the schedule remembers but its log does not.
func (a *auditor) addFires(s *view.Schedule) {
	for _, f := range slices.Concat(s.Open, s.Waiting, s.Recent) {
		if f.Kind != "" && (len(s.Log) == 0 || f.Since.Before(s.Log[len(s.Log)-1].Time)) {
			a.add(view.AuditRecord{
				Time: f.Since, Kind: "schedule", Name: s.Name, Operation: f.Kind, By: f.By, Why: f.Why, Outcome: view.Applied, Note: "workflow " + f.WorkflowID,
			})
		}
	}
}

// logOf returns the log of a gate or schedule as users see it, latest first.
func logOf(kind, name string, notes []core.Note) (log []view.AuditRecord) {
	for _, n := range slices.Backward(notes) {
		log = append(log, view.AuditRecord{
			Time: at(n.At), Kind: kind, Name: name, Operation: n.Word, Request: n.Request, By: n.By, Why: n.Why, Outcome: n.Outcome, Note: n.Text,
		})
	}
	return log
}

// auditRuns adds the operations on the runs that started last. It skips runs outside of the
// requested time. It reads the whole history of a run.
func (in *Inspector) auditRuns(ctx context.Context, a *auditor) error {
	last := ""
	filter := store.Filter{Partitions: in.group.All(), Until: a.filter.Until, Before: a.filter.Before, Limit: min(auditPage, a.filter.Runs+1)}
	return wanted(in.eachRow(ctx, Bounded(filter), func(row *store.Run) error {
		switch {
		case row.Closed != 0 && time.Unix(0, row.Closed).Before(a.filter.Since):
			return nil
		case a.out.Runs == a.filter.Runs || a.turns <= 0:
			a.out.Unread, a.out.Searched = true, last
			return errEnough
		}
		a.out.Runs++
		last = row.ID
		return in.auditRun(ctx, row, a)
	}))
}

// auditRun adds the operations on a run. Operations in copied history belong to the run
// that it was copied from.
func (in *Inspector) auditRun(ctx context.Context, row *store.Run, a *auditor) error {
	start, _ := record.Start(row) // the description says what cannot be read
	records, read, err := in.controls(ctx, row, &start, start.Base.LastCut())
	a.turns -= read
	if errors.Is(err, store.ErrNotFound) {
		return nil // deleted meanwhile
	}
	if err != nil {
		return err
	}
	if own, err := in.recordedReset(ctx, row, &start); err != nil {
		return err
	} else if own {
		records = records[1:] // told with the run that was reset
	}
	for _, r := range slices.Backward(records) {
		a.add(view.AuditRecord{
			Time: r.Time, Kind: "workflow", Name: r.WorkflowID, RunID: r.RunID, Call: r.Call, Step: r.Name,
			Operation: r.Operation, Request: r.Request, By: r.By, Why: r.Why, Outcome: r.Outcome, Note: r.Note,
		})
	}
	return nil
}

// recordedReset reports whether a run began with a reset that is in the history of the run
// before it: that of an open run, which its owner carried out.
func (in *Inspector) recordedReset(ctx context.Context, row *store.Run, start *history.Start) (bool, error) {
	if start.Base == nil || start.Initiator != history.ResetOfRun {
		return false, nil
	}
	before, err := in.db.Find(ctx, row.Partition, row.WorkflowID, start.Base.Run)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil // deleted
	}
	return err == nil && before.Status == store.Continued, err
}
