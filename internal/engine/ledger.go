package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
)

// Attempts returns the attempts of a run's calls (of one call if call > 0), by
// call and number. Of a call with very many attempts the ledger keeps the first
// core.FirstAttempts and the last core.LastAttempts; NotKept shows the gap.
func (e *Engine) Attempts(ctx context.Context, workflowID, run string, call int64) ([]Attempt, error) {
	row, err := e.find(ctx, workflowID, run)
	if err != nil {
		return nil, err
	}
	return e.attemptsOf(ctx, row, call)
}

func (e *Engine) attemptsOf(ctx context.Context, row *store.Run, call int64) ([]Attempt, error) {
	kept, err := e.db.Attempts(ctx, row.Partition, row.ID, call)
	if err != nil {
		return nil, err
	}
	s, err := e.snapshot(ctx, row)
	if err != nil {
		return nil, err
	}
	out := make([]Attempt, 0, len(kept))
	known := map[attemptKey]bool{}
	for _, a := range kept {
		v, err := viewAttempt(a)
		if err != nil {
			return nil, err
		}
		known[attemptKey{row.ID, a.Call, a.Number}] = true
		out = append(out, v)
	}
	for _, v := range s.attempts(row.ID, row.Status.Open()) {
		if (call <= 0 || v.Call == call) && !known[attemptKey{row.ID, v.Call, v.Number}] {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(a, b Attempt) int {
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
	return out, nil
}

func viewAttempt(a store.Attempt) (Attempt, error) {
	var d core.AttemptDetail
	if err := json.Unmarshal(a.Data, &d); err != nil {
		return Attempt{}, unreadable(&a, err)
	}
	return Attempt{
		Call: a.Call, Name: a.Name, Number: a.Number, ID: d.ID, Outcome: a.Outcome, Reason: a.Reason,
		ErrorType: a.ErrorType, Message: d.Message, Stack: d.Stack, Node: d.Node,
		Queued: optionalTime(d.Queued), Started: optionalTime(a.Started), Ended: optionalTime(a.Ended),
		Delay: d.Delay, Next: optionalTime(d.Next), Rule: d.Rule,
	}, nil
}

// attempts are those the history knows: the ones that closed a call, and the ones
// that are running.
func (s *snapshot) attempts(run string, open bool) []Attempt {
	names := map[int64]string{}
	started := map[int64]history.Event{}
	var out []Attempt
	for _, ev := range s.events {
		switch ev.Kind {
		case history.ActivityScheduled, history.StepScheduled:
			names[ev.Call] = ev.Name
		case history.AttemptStarted:
			started[ev.Call] = ev.Event
		case history.CallCompleted, history.CallFailed, history.CallCanceled:
			st, ok := started[ev.Call]
			if !ok {
				continue
			}
			by := madeBy(&s.start, ev)
			a := Attempt{
				Call: ev.Call, Name: names[ev.Call], Number: st.Attempt, ID: core.AttemptID(cmp.Or(by, run), ev.Call, st.Attempt), RunID: by,
				Outcome: closedBy[ev.Kind], Reason: ev.Reason, Node: st.Node,
				Queued: optionalTime(st.Queued), Started: optionalTime(st.Started), Ended: optionalTime(ev.Ended),
			}
			if ev.Kind == history.CallCompleted {
				a.Reason = string(retry.ReasonSucceeded)
			}
			if ev.Failure != nil {
				a.ErrorType, a.Message = ev.Failure.TypeName(), ev.Failure.Message
			}
			out = append(out, a)
		}
	}
	if !open {
		return out
	}
	for _, p := range s.pending() {
		if p.State == "running" || p.State == "external" {
			a := Attempt{
				Call: p.Call, Name: p.Name, Number: p.Attempt, ID: core.AttemptID(run, p.Call, p.Attempt),
				Outcome: p.State, Node: p.Node, Started: &p.Scheduled,
			}
			if row, ok := s.rows[p.Call]; ok {
				if progress, err := core.DecodeProgress(row.Data); err == nil {
					a.Queued, a.Started = optionalTime(progress.QueuedAt), optionalTime(progress.StartedAt)
				}
			}
			out = append(out, a)
		}
	}
	return out
}

var closedBy = map[history.Kind]string{
	history.CallCompleted: string(core.Completed),
	history.CallFailed:    string(core.Failed),
	history.CallCanceled:  string(core.Canceled),
}
