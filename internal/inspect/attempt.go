package inspect

import (
	"cmp"
	"context"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// Attempts returns a part of the attempts of a run's calls, by call and number. It merges
// two sources: the ledger has the attempts of all calls with a failed one, and the history
// has those that closed a call. For a call with very many attempts the ledger keeps the
// first core.FirstAttempts and the last core.LastAttempts; NotKept shows the gap. The tries
// of a retried block of code are listed only if part.Call is that block. The error is a
// *history.InputError if the part is invalid.
func (in *Inspector) Attempts(ctx context.Context, workflowID, run string, part view.AttemptRange) ([]view.Attempt, error) {
	if part.Call < 0 || part.After.Call < 0 || part.After.Number < 0 {
		return nil, &history.InputError{What: "part of the attempts", Problem: "has a negative number; calls and attempts are numbered from 1"}
	}
	if err := checkLimit(part.Limit); err != nil {
		return nil, err
	}
	row, err := in.Find(ctx, workflowID, run)
	if err != nil {
		return nil, err
	}
	return in.AttemptsOf(ctx, row, part)
}

// AttemptsOf is Attempts for a run whose row is known.
func (in *Inspector) AttemptsOf(ctx context.Context, row *store.Run, part view.AttemptRange) ([]view.Attempt, error) {
	p := attemptPart{in: in, row: row, AttemptRange: store.AttemptRange{Call: part.Call, After: store.AttemptKey(part.After), Limit: part.Limit}}
	if err := p.read(ctx); err != nil {
		return nil, err
	}
	out := merged(p.kept, p.made.closed, p.inFlight)
	if part.Limit > 0 && len(out) > part.Limit {
		out = out[:part.Limit:part.Limit]
	}
	notKept(out, part.After)
	return out, in.tellOfWorkers(ctx, row.Partition, out)
}

// CallMade returns the name and the queue of a call, which may have ended. It returns
// store.ErrNotFound if the history of the run has no such call.
func (in *Inspector) CallMade(ctx context.Context, row *store.Run, call int64) (name, queue string, err error) {
	start, err := record.Start(row)
	if !readable(err) {
		return "", "", err
	}
	found := false
	_, err = in.each(ctx, row, &start, 0, mostTurns, func(some stretch) (more bool) {
		for i := range some.turns {
			for _, ev := range some.turns[i].Events {
				if _, begins := callKinds[ev.Kind]; begins && ev.Call == call {
					name, queue, found = ev.Name, ev.Queue, true
				}
			}
		}
		return !found
	})
	if err == nil && !found {
		err = store.ErrNotFound
	}
	return name, queue, err
}

// merged returns the attempts in the ledger and, of the others, those that are in flight or
// closed a call, in order.
func merged(kept []store.Attempt, closed, inFlight []view.Attempt) []view.Attempt {
	out := make([]view.Attempt, 0, len(kept)+len(closed)+len(inFlight))
	for _, a := range kept {
		out = append(out, attemptOf(a))
	}
	out = append(append(out, closed...), inFlight...)
	// Of an attempt that was found twice, the first wins.
	slices.SortStableFunc(out, func(a, b view.Attempt) int {
		return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(a.Number, b.Number))
	})
	return slices.CompactFunc(out, func(a, b view.Attempt) bool { return a.Place() == b.Place() })
}

// notKept sets, for each attempt after a place, how many attempts are missing before it.
func notKept(all []view.Attempt, after view.AttemptPlace) {
	for i := range all {
		a := &all[i]
		if a.Call != after.Call {
			after = view.AttemptPlace{Call: a.Call}
		}
		if a.RunID == "" {
			a.NotKept = a.Number - 1 - after.Number
		}
		after.Number = a.Number
	}
}

func attemptOf(a store.Attempt) view.Attempt {
	d := ledgerDetail(&a)
	return view.Attempt{
		Call: a.Call, Name: a.Name, Number: a.Number, ID: d.ID, Outcome: a.Outcome, Reason: a.Reason,
		ErrorType: a.ErrorType, Message: d.Message, Stack: d.Stack, Node: d.Node,
		Queued: optional(d.Queued), Started: optional(a.Started), Ended: optional(a.Ended),
		Delay: d.Delay, Next: optional(d.Next), Rule: d.Rule, Question: d.Question,
	}
}

// ledgerDetail returns what the ledger record of an attempt holds beyond its columns. If
// that cannot be read, the message says so.
func ledgerDetail(a *store.Attempt) (d core.AttemptDetail) {
	if err := history.Unseal(a.Data, &d); !readable(err) {
		d = core.AttemptDetail{Message: "(" + history.Damaged("the record of this attempt", err).Error() + ")"}
	}
	return d
}

// closing collects the attempts that closed a call, from the history.
type closing struct {
	first   int64            // the lowest call to collect
	call    int64            // only this call; 0: all
	after   store.AttemptKey // only attempts after this one
	names   map[int64]string // names of the calls that began and have not closed
	started map[int64]*history.Event
	begun   int64 // the last call of any kind that began
	closed  []view.Attempt
}

func (c *closing) add(s *Snapshot, t *core.StoredTurn) {
	if c.names == nil {
		c.names, c.started = map[int64]string{}, map[int64]*history.Event{}
	}
	for i := range t.Events {
		ev := &t.Events[i]
		if _, begins := callKinds[ev.Kind]; begins {
			c.begun = max(c.begun, ev.Call)
		}
		if ev.Call == 0 || ev.Call < c.first || c.call > 0 && ev.Call != c.call {
			continue
		}
		switch ev.Kind {
		case history.ActivityScheduled, history.StepScheduled:
			c.names[ev.Call] = ev.Name
		case history.AttemptStarted:
			c.started[ev.Call] = ev
		case history.CallCompleted, history.CallFailed, history.CallCanceled:
			if began := c.started[ev.Call]; began != nil && c.after.Compare(store.AttemptKey{Call: ev.Call, Number: began.Attempt}) < 0 {
				c.closed = append(c.closed, closedAttempt(&s.Start, t.Number, c.names[ev.Call], began, ev))
			}
			delete(c.names, ev.Call)
			delete(c.started, ev.Call)
		}
	}
}

// horizon returns the call before which all calls have closed in the turns read so far.
func (c *closing) horizon() int64 {
	first := c.begun + 1
	for call := range c.names {
		first = min(first, call)
	}
	return first
}

// closedAttempt returns an attempt from its recorded start and the event that closed its
// call in a turn.
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
	a.Message, a.ErrorType = told(ev.Failure)
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
		if p.Doubt != nil && p.Doubt.Asking {
			a.Question = p.Doubt.Question
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
