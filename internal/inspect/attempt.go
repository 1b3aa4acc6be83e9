package inspect

import (
	"cmp"
	"context"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// Attempts returns the attempts of a run's calls, or of one call if call is not 0, by
// call and number. It merges two sources: the ledger has the attempts of all calls with
// a failed one, the history has those that closed a call. Of a call with very many
// attempts the ledger keeps the first core.FirstAttempts and the last
// core.LastAttempts; NotKept shows the gap. The tries of a block of code that is retried
// are listed if the call is that block.
func (in *Inspector) Attempts(ctx context.Context, workflowID, run string, call int64) ([]view.Attempt, error) {
	row, err := in.Find(ctx, workflowID, run)
	if err != nil {
		return nil, err
	}
	return in.AttemptsOf(ctx, row, call)
}

// AttemptsOf is Attempts for a run whose row is known.
func (in *Inspector) AttemptsOf(ctx context.Context, row *store.Run, call int64) ([]view.Attempt, error) {
	all, _, err := in.attempts(ctx, row, call)
	return all, err
}

// attempts returns all attempts, and the records of those in the ledger.
func (in *Inspector) attempts(ctx context.Context, row *store.Run, call int64) (all []view.Attempt, kept []store.Attempt, err error) {
	made := closing{call: call}
	s, _, err := in.begin(ctx, row, 0, made.add)
	if err != nil {
		return nil, nil, err
	}
	return in.merge(ctx, row, s, &made, call)
}

// merge adds what the ledger has of a run, or of one of its calls, to what its history has.
func (in *Inspector) merge(ctx context.Context, row *store.Run, s *Snapshot, made *closing, call int64) (all []view.Attempt, kept []store.Attempt, err error) {
	kept, err = in.db.Attempts(ctx, row.Partition, row.ID, call)
	if err != nil {
		return nil, nil, err
	}
	if call == 0 { // the tries of blocks are no attempts of calls
		kept = slices.DeleteFunc(kept, func(a store.Attempt) bool { return a.Name == core.BlockName })
	}
	out := make([]view.Attempt, 0, len(kept)+len(made.closed))
	known := map[core.AttemptRef]bool{}
	for _, a := range kept {
		known[core.AttemptRef{Call: a.Call, Attempt: a.Number}] = true
		out = append(out, attemptOf(a))
	}
	of := func(v *view.Attempt) bool {
		return (call <= 0 || v.Call == call) && !known[core.AttemptRef{Call: v.Call, Attempt: v.Number}]
	}
	for i := range made.closed {
		if of(&made.closed[i]) {
			out = append(out, made.closed[i])
		}
	}
	if row.Status.Open() {
		for _, v := range s.inFlight(row.ID) {
			if of(&v) {
				out = append(out, v)
			}
		}
	}
	slices.SortFunc(out, func(a, b view.Attempt) int {
		return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(a.Number, b.Number))
	})
	for i := range out {
		if out[i].RunID != "" {
			continue
		}
		out[i].NotKept = out[i].Number - 1
		if i > 0 && out[i-1].Call == out[i].Call {
			out[i].NotKept -= out[i-1].Number
		}
	}
	return out, kept, in.tellOfWorkers(ctx, row.Partition, out)
}

func attemptOf(a store.Attempt) view.Attempt {
	d := ledgerDetail(&a)
	return view.Attempt{
		Call: a.Call, Name: a.Name, Number: a.Number, ID: d.ID, Outcome: a.Outcome, Reason: a.Reason,
		ErrorType: a.ErrorType, Message: d.Message, Stack: d.Stack, Node: d.Node,
		Queued: optional(d.Queued), Started: optional(a.Started), Ended: optional(a.Ended),
		Delay: d.Delay, Next: optional(d.Next), Rule: d.Rule,
	}
}

// ledgerDetail returns what the ledger says of an attempt beside what stands in columns.
// If that cannot be read, the message says so.
func ledgerDetail(a *store.Attempt) (d core.AttemptDetail) {
	if err := history.Unseal(a.Data, &d); !readable(err) {
		d = core.AttemptDetail{Message: "(" + history.Damaged("the record of this attempt", err).Error() + ")"}
	}
	return d
}

// closing collects the attempts that closed a call: the history has a record of them.
type closing struct {
	call    int64 // only of this one; 0: of all
	names   map[int64]string
	started map[int64]*history.Event
	closed  []view.Attempt
}

func (c *closing) add(s *Snapshot, t *core.StoredTurn) {
	if c.names == nil {
		c.names, c.started = map[int64]string{}, map[int64]*history.Event{}
	}
	for i := range t.Events {
		ev := &t.Events[i]
		if ev.Call == 0 || c.call > 0 && ev.Call != c.call {
			continue
		}
		switch ev.Kind {
		case history.ActivityScheduled, history.StepScheduled:
			c.names[ev.Call] = ev.Name
		case history.AttemptStarted:
			c.started[ev.Call] = ev
		case history.CallCompleted, history.CallFailed, history.CallCanceled:
			if began := c.started[ev.Call]; began != nil {
				c.closed = append(c.closed, closedAttempt(&s.Start, t.Number, c.names[ev.Call], began, ev))
			}
			delete(c.names, ev.Call)
			delete(c.started, ev.Call)
		}
	}
}

// closedAttempt returns the attempt of which the history has when it began, and how it closed
// its call in a turn.
func closedAttempt(start *history.Start, turn int64, name string, began, ev *history.Event) view.Attempt {
	by := madeBy(start, turn, ev.Call)
	a := view.Attempt{
		Call: ev.Call, Name: name, Number: began.Attempt, ID: core.AttemptID(cmp.Or(by, start.Run), ev.Call, began.Attempt), RunID: by,
		Outcome: closedBy[ev.Kind], Reason: ev.Reason, Node: began.Node,
		Queued: optional(began.Queued), Started: optional(began.Started), Ended: optional(ev.Ended),
	}
	if ev.Kind == history.CallCompleted {
		a.Reason = string(retry.ReasonSucceeded)
	}
	if ev.Failure != nil {
		a.ErrorType, a.Message = ev.Failure.TypeName(), ev.Failure.Message
	}
	return a
}

// inFlight returns the attempts of an open run that have not ended.
func (s *Snapshot) inFlight(run string) (out []view.Attempt) {
	for _, p := range s.Pending() {
		if p.State != view.CallRunning && p.State != view.CallExternal {
			continue
		}
		a := view.Attempt{
			Call: p.Call, Name: p.Name, Number: p.Attempt, ID: core.AttemptID(run, p.Call, p.Attempt),
			Outcome: p.State, Node: p.Node, Started: &p.Scheduled,
		}
		if row, ok := s.rows[p.Call]; ok {
			if progress, err := core.DecodeProgress(row.Data); readable(err) {
				a.Queued, a.Started = optional(progress.QueuedAt), optional(progress.StartedAt)
			}
		}
		out = append(out, a)
	}
	return out
}

var closedBy = map[history.Kind]string{
	history.CallCompleted: view.OutcomeCompleted,
	history.CallFailed:    view.OutcomeFailed,
	history.CallCanceled:  view.OutcomeCanceled,
}
