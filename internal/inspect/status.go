package inspect

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// Limits of what a status reads and shows.
const (
	statusCalls  = 1000 // per state
	statusRuns   = 100  // per status
	statusGates  = 500
	statusErrors = 10
	statusFailed = 5
	statusSpan   = time.Hour
)

// Status returns an overview of the group.
func (in *Inspector) Status(ctx context.Context) (*view.Status, error) {
	if err := in.check(ctx); err != nil {
		return nil, err
	}
	s := &view.Status{Time: at(in.now()), Group: in.group.Name}
	all, err := in.servers(ctx, s)
	if err != nil {
		return nil, err
	}
	if s.Canary, err = in.CurrentCanary(ctx); err != nil {
		return nil, err
	}
	if s.Counts, err = in.Counts(ctx, view.MaxCounted); err != nil {
		return nil, err
	}
	o, err := in.obstacles(ctx)
	if err != nil {
		return nil, err
	}
	sum := &summary{groups: map[waitGroup]*view.Waiting{}, open: map[waitGroup]map[string]bool{}, keys: keyCounts{}, counts: &s.Counts}
	for _, add := range []func(context.Context, *obstacles, *summary) error{in.addPauses, in.addHeld, in.addCalls, in.addDeparted} {
		if err := add(ctx, o, sum); err != nil {
			return nil, err
		}
	}
	s.Waiting = sum.sorted()
	if s.Keys = sum.keys.most(); s.Keys != nil {
		s.OtherKeys = sum.keys.beyond(s.Keys)
	}
	if err := in.addNeeds(ctx, s.Waiting); err != nil {
		return nil, err
	}
	names := shownNames{in: in}
	for i := range s.Waiting {
		g := &s.Waiting[i]
		if g.Workflow, err = names.of(ctx, g.WorkflowID, g.RunID, g.Workflow); err != nil {
			return nil, err
		}
	}
	lost, err := in.lost(ctx, s.Time)
	if err != nil {
		return nil, err
	}
	errs, err := in.trends(ctx, s.Time)
	if err != nil {
		return nil, err
	}
	s.Errors = append(lost, errs...)
	if s.Failed, err = in.failedLately(ctx, s.Time); err != nil {
		return nil, err
	}
	if s.Queues, err = in.queues(ctx, o); err != nil {
		return nil, err
	}
	if s.Changes, err = in.changes(ctx, all, s.Time.Add(-statusSpan), len(lost) > 0); err != nil {
		return nil, err
	}
	s.Attention = needsAttention(s)
	return s, nil
}

// servers finds the nodes of the group, and returns those that are gone, too.
func (in *Inspector) servers(ctx context.Context, s *view.Status) (all []view.Node, err error) {
	nodes, err := in.Nodes(ctx)
	for _, n := range nodes {
		if n.Group != in.group.Name {
			continue
		}
		if all = append(all, n); n.Gone() && n.Partitions+n.Attempts == 0 {
			continue
		}
		s.Nodes = append(s.Nodes, n)
		s.Served = s.Served || n.State == view.NodeLive && !n.Worker
	}
	return all, err
}

// needsAttention reports whether something is stuck that no person has stopped.
func needsAttention(s *view.Status) bool {
	open := s.Runs[view.StatusRunning] + s.Runs[view.StatusPaused] + s.Runs[view.StatusParked] + s.Runs[view.StatusWaitingForCode]
	return !s.Served && open > 0 || slices.ContainsFunc(s.Waiting, func(w view.Waiting) bool { return w.NeedsAttention() })
}

// waitGroup is the key of a view.Waiting: what its calls and runs have in common.
type waitGroup struct{ kind, name, gate, queue, by, why string }

// summary collects what waits.
type summary struct {
	groups map[waitGroup]*view.Waiting
	order  []waitGroup
	open   map[waitGroup]map[string]bool // of which run keys the own breaker is open
	counts *view.Counts
	partly bool      // there is more than was read of what is added now
	keys   keyCounts // of calls that wait for a slot, a gate or a worker
}

// add counts something that waits.
func (s *summary) add(w view.Wait, workflowID, run, workflow string) {
	at := waitGroup{kind: w.For, name: w.Name, gate: w.Gate, queue: w.Queue}
	if !w.ByItself() && w.For != view.WaitParked && w.For != view.WaitDamaged {
		at.by, at.why = w.By, w.Why
	}
	if w.For == view.WaitActivityPaused || w.Gate != "" {
		at.by, at.why = "", ""
	}
	if w.Gate != "" {
		at.name = ""
	}
	g, known := s.groups[at]
	if !known {
		g = &view.Waiting{Wait: w, WorkflowID: workflowID, RunID: run, Workflow: workflow}
		s.groups[at] = g
		s.order = append(s.order, at)
	}
	if w.Key != "" {
		if s.open[at] == nil {
			s.open[at] = map[string]bool{}
		}
		s.open[at][w.Key] = true
		g.Keys = len(s.open[at])
	}
	if run == "" {
		return // only the obstacle itself
	}
	g.AtLeast = g.AtLeast || s.partly
	if g.Count++; w.Failures > 0 || w.Error != "" {
		g.Failed++
	}
	since, until, failed := g.Since, g.Until, *g
	if g.RunID == "" || earlier(w.Since, since) {
		g.Wait, g.WorkflowID, g.RunID, g.Workflow = w, workflowID, run, workflow
	}
	if g.Error == "" { // no attempt of the oldest has failed
		g.Error, g.ErrorType = cmp.Or(failed.Error, w.Error), cmp.Or(failed.ErrorType, w.ErrorType)
	}
	if earlier(since, g.Since) {
		g.Since = since
	}
	if earlier(until, g.Until) {
		g.Until = until
	}
}

// earlier reports whether a is set and before b, or b is not set.
func earlier(a, b *time.Time) bool { return a != nil && (b == nil || a.Before(*b)) }

// sorted returns all groups, most serious first.
func (s *summary) sorted() []view.Waiting {
	all := make([]view.Waiting, 0, len(s.order))
	for _, at := range s.order {
		all = append(all, *s.groups[at])
	}
	slices.SortStableFunc(all, func(a, b view.Waiting) int {
		return cmp.Or(cmp.Compare(view.WaitRank(a.For), view.WaitRank(b.For)), cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Gate, b.Gate), cmp.Compare(a.Name, b.Name), cmp.Compare(a.WorkflowID, b.WorkflowID))
	})
	return all
}

// addPauses adds the paused activities and gates, whether or not anything waits for them.
func (in *Inspector) addPauses(ctx context.Context, o *obstacles, sum *summary) error {
	for name, off := range o.paused {
		sum.add(view.Wait{For: view.WaitActivityPaused, Name: name, Since: optional(off.Time), Until: optional(off.Ends()), By: off.By, Why: off.Why}, "", "", "")
	}
	read := 0
	return in.eachStanding(ctx, entity.Gate, func(row *store.Run) error {
		if read++; read > statusGates {
			return errEnough
		}
		w := view.Wait{Gate: entity.NameOf(row.ID)}
		d, err := core.DecodeGate(row.Detail)
		if damage := damageOf(err); damage != nil {
			sum.add(damagedWait(w, damage), "", "", "")
			return nil
		}
		o.gates[w.Gate] = &d
		if gateObstacle(&d, in.now(), &w) {
			if d.Pause != nil {
				w.Since = optional(d.Pause.At)
			}
			sum.add(w, "", "", "")
			return nil
		}
		if !d.Spec.Breaker.PerKey {
			return nil
		}
		open, err := o.openKeys(ctx)
		for _, key := range slices.Sorted(maps.Keys(open[w.Gate])) {
			sum.add(view.Wait{For: view.WaitBreaker, Gate: w.Gate, Key: key, Until: optional(open[w.Gate][key])}, "", "", "")
		}
		return err
	})
}

// addHeld adds the runs that are held as a whole.
func (in *Inspector) addHeld(ctx context.Context, o *obstacles, sum *summary) error {
	for _, status := range []store.Status{store.Parked, store.WaitingForCode, store.OnHold} {
		rows, err := in.db.List(ctx, store.Filter{Partitions: in.group.All(), Status: []store.Status{status}, Limit: statusRuns})
		if err != nil {
			return err
		}
		sum.partly = sum.counts.Runs[string(status)] > statusRuns
		for i := range rows {
			if w := heldRun(&rows[i]); w != nil {
				if err := o.awaitsBuild(ctx, &rows[i], w); err != nil {
					return err
				}
				sum.add(*w, rows[i].WorkflowID, rows[i].ID, rows[i].Type)
			}
		}
	}
	return nil
}

// addCalls adds the waiting calls.
func (in *Inspector) addCalls(ctx context.Context, o *obstacles, sum *summary) error {
	tickets, err := in.waitingTickets(ctx, sum)
	if err != nil {
		return err
	}
	fewTickets := sum.partly
	for _, state := range []store.CallState{store.Quarantined, store.InDoubt, store.Paused, store.Gated, store.Backoff, store.Queued, store.Offered, store.External} {
		calls, err := in.db.Waiting(ctx, store.CallFilter{Partitions: in.group.All(), State: state, Limit: statusCalls})
		if err != nil {
			return err
		}
		told := 0
		sum.partly = sum.counts.Calls[string(state)] > statusCalls || state == store.Gated && fewTickets
		for i := range calls {
			c := &calls[i]
			of := o.ofRow(&c.Call, c.Type)
			if err := errors.Join(o.atQueue(ctx, &of), o.atSlot(ctx, &of)); err != nil {
				return err
			}
			if state == store.Paused && pausedWithRun(&c.Call) {
				continue
			}
			for number := range c.Numbers() {
				if told++; told > statusCalls {
					break
				}
				w := of
				w.Call = number
				if t, waits := tickets[callKey{c.Run, number}]; waits && state == store.Gated {
					w.Gate, w.Since = t.gate, optional(t.since)
					if err := o.atGate(ctx, &w, c.Key); err != nil {
						return err
					}
				}
				if state == store.Gated || state == store.Queued || state == store.Offered {
					sum.keys.waits(c.Key, w.Since)
				}
				sum.add(w, c.WorkflowID, c.Run, c.Type)
			}
		}
	}
	return nil
}

// pausedWithRun reports whether a call is paused because its run is.
func pausedWithRun(c *store.Call) bool {
	p, err := core.DecodeProgress(c.Data)
	return readable(err) && p.Pause != nil && p.Pause.OfRun
}

type callKey struct {
	run  string
	call int64
}

// place is where a call waits, and since when.
type place struct {
	gate  string
	since int64
}

// waitingTickets returns the calls that wait at gates, and adds the runs that wait for others of
// their key.
func (in *Inspector) waitingTickets(ctx context.Context, sum *summary) (map[callKey]place, error) {
	rows, err := in.db.Waiting(ctx, store.CallFilter{Partitions: in.group.All(), State: store.TicketWaiting, Limit: statusCalls})
	if err != nil {
		return nil, err
	}
	tickets := map[callKey]place{}
	sum.partly = len(rows) == statusCalls
	for i := range rows {
		t, err := core.DecodeTicket(rows[i].Data)
		if err != nil {
			continue // the status names its gate
		}
		switch {
		case t.Phase != gates.Waiting:
		case t.Key.OfRun():
			w := view.Wait{For: view.WaitGate, Gate: entity.NameOf(rows[i].Run), Since: optional(t.Since)}
			sum.keys.waits(t.RunKey, w.Since)
			sum.add(w, t.Key.Workflow, t.Key.Run, "")
		default:
			tickets[callKey{t.Key.Run, t.Key.Call}] = place{entity.NameOf(rows[i].Run), t.Since}
		}
	}
	return tickets, nil
}

// lost returns how many attempts were lost in the last hour with their processes, compared with
// the hour before. They ended with no error.
func (in *Inspector) lost(ctx context.Context, now time.Time) (trends []view.ErrorTrend, err error) {
	entries, err := in.db.Ledger(ctx, store.LedgerFilter{
		Partitions: in.group.All(), Outcome: view.OutcomeLost, From: bound(now.Add(-2 * statusSpan)), Limit: statusCalls,
	})
	if err != nil {
		return nil, err
	}
	calls, names := map[string]map[callKey]bool{}, shownNames{in: in}
	for i := range entries {
		e := &entries[i]
		at := slices.IndexFunc(trends, func(t view.ErrorTrend) bool { return t.Name == e.Name })
		if at < 0 {
			example, err := names.attempt(ctx, e)
			if err != nil {
				return nil, err
			}
			trends = append(trends, view.ErrorTrend{
				ErrorStats: view.ErrorStats{Name: e.Name, Example: example, Last: *example.Ended}, Outcome: view.OutcomeLost, AtLeast: len(entries) == statusCalls,
			})
			at, calls[e.Name] = len(trends)-1, map[callKey]bool{}
		}
		t := &trends[at]
		if e.Ended < bound(now.Add(-statusSpan)) {
			t.Before++
			continue
		}
		calls[e.Name][callKey{e.Run, e.Call}] = true
		t.Attempts, t.Calls, t.First = t.Attempts+1, len(calls[e.Name]), *attemptOf(e.Attempt).Ended
	}
	trends = slices.DeleteFunc(trends, func(t view.ErrorTrend) bool { return t.Attempts == 0 })
	slices.SortStableFunc(trends, func(a, b view.ErrorTrend) int { return cmp.Compare(b.Attempts, a.Attempts) })
	return trends[:min(statusErrors, len(trends))], nil
}

// trends returns the errors of the last hour compared with the hour before.
func (in *Inspector) trends(ctx context.Context, now time.Time) ([]view.ErrorTrend, error) {
	last, err := in.ErrorStats(ctx, view.AttemptFilter{Since: now.Add(-statusSpan), Limit: view.MaxErrors + 1})
	if err != nil || len(last) == 0 {
		return nil, err
	}
	earlier, err := in.ErrorStats(ctx, view.AttemptFilter{Since: now.Add(-2 * statusSpan), Until: now.Add(-statusSpan), Limit: view.MaxErrors + 1})
	if err != nil {
		return nil, err
	}
	lately, then, before := 0, 0, map[[2]string]int{}
	for _, e := range last {
		lately += e.Attempts
	}
	for _, e := range earlier {
		then += e.Attempts
		before[[2]string{e.Name, e.ErrorType}] = e.Attempts
	}
	more := max(lately, then) > view.MaxErrors
	trends := make([]view.ErrorTrend, 0, statusErrors)
	for _, e := range last[:min(statusErrors, len(last))] {
		trends = append(trends, view.ErrorTrend{ErrorStats: e, Before: before[[2]string{e.Name, e.ErrorType}], AtLeast: more})
	}
	return trends, nil
}

// failedLately returns the runs that failed in the last hour.
func (in *Inspector) failedLately(ctx context.Context, now time.Time) ([]view.Run, error) {
	runs, err := in.List(ctx, view.Filter{Status: []string{view.StatusFailed}, Limit: statusRuns})
	runs = slices.DeleteFunc(runs, func(r view.Run) bool { return r.Closed == nil || r.Closed.Before(now.Add(-statusSpan)) })
	slices.SortStableFunc(runs, func(a, b view.Run) int { return b.Closed.Compare(*a.Closed) })
	return runs[:min(statusFailed, len(runs))], err
}
