package inspect

import (
	"context"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// Snapshot is a run as it is committed. It is read without running the run's code.
type Snapshot struct {
	Start  history.Start
	Events []TurnEvent
	// Damage is what of the run's record cannot be read. Events are all others.
	Damage []*history.DamageError

	startLost bool                 // Start is only what the row says
	epochs    map[int64]int64      // of turns, by number
	rows      map[int64]store.Call // by number
	owners    map[int64]string     // node IDs by epoch
}

// Read reads a run.
func (in *Inspector) Read(ctx context.Context, row *store.Run) (*Snapshot, error) {
	s, _, err := in.begin(ctx, row, 0)
	return s, err
}

// begin reads a run and its first turns, at most limit (0: all), and reports whether
// these are all.
func (in *Inspector) begin(ctx context.Context, row *store.Run, limit int) (s *Snapshot, complete bool, err error) {
	s = &Snapshot{epochs: map[int64]int64{}, rows: map[int64]store.Call{}, owners: map[int64]string{}}
	if s.Start, err = record.Start(row); err != nil {
		s.Damage, s.startLost = append(s.Damage, damageOf(err)), !readable(err)
	}
	// Rows first: a call that closes in between is then closed in the history.
	calls, err := in.db.Calls(ctx, row.Partition, row.ID)
	if err != nil {
		return nil, false, err
	}
	stored, err := in.db.History(ctx, row.Partition, row.ID, 0, limit)
	if err != nil {
		return nil, false, err
	}
	turns, damage := record.Turns(&s.Start, 0, stored)
	s.Damage = append(s.Damage, damage...)
	owners, err := in.db.Owners(ctx, row.Partition)
	if err != nil {
		return nil, false, err
	}
	for _, c := range calls {
		s.rows[c.Number] = c
	}
	for _, o := range owners {
		s.owners[o.Epoch] = o.Node
	}
	for _, t := range turns {
		s.epochs[t.Number] = t.Epoch
		for _, ev := range t.Events {
			s.Events = append(s.Events, TurnEvent{Turn: t.Number, Time: at(t.Time), Event: ev})
		}
	}
	return s, limit == 0 || len(stored) < limit, nil
}

// The kinds of calls that are tried again by a policy.
const (
	KindActivity = "activity"
	KindStep     = "step"
	KindBlock    = "block" // of code that is retried, while it waits for its next try
)

var callKinds = map[history.Kind]string{
	history.ActivityScheduled: KindActivity,
	history.StepScheduled:     KindStep,
	history.TimerStarted:      "timer",
	history.SignalAwaited:     "signal",
	history.ChildScheduled:    "child",
	history.DetachedScheduled: "detached",
}

// Pending returns the open calls, by number.
func (s *Snapshot) Pending() []view.Call {
	calls, _ := s.pending()
	return calls
}

// pending returns the open calls, and how many signals none of them awaits.
func (s *Snapshot) pending() (calls []view.Call, unread int) {
	closed := map[int64]bool{}
	delivered := map[string]int{}
	edited := map[int64]*retry.Policy{}
	for _, ev := range s.Events {
		switch ev.Kind {
		case history.CallControlled:
			if ev.Policy != nil {
				edited[ev.Call] = ev.Policy
			}
		case history.CallCompleted, history.CallFailed, history.CallCanceled, history.TimerFired, history.TimerCanceled:
			closed[ev.Call] = true
		case history.CallCancelRequested:
			closed[ev.Call] = closed[ev.Call] || ev.Closed
		case history.SignalReceived:
			delivered[ev.Name]++
		}
	}
	if s.Start.Carried != nil {
		for _, signal := range s.Start.Carried.Signals {
			delivered[signal.Name]++
		}
	}
	blocks := map[int64]TurnEvent{}
	for _, ev := range s.Events {
		if ev.Kind == history.BlockStarted {
			blocks[ev.Call] = ev
		}
		kind, begins := callKinds[ev.Kind]
		if !begins || closed[ev.Call] {
			continue
		}
		if began, is := blocks[ev.Block]; is && ev.Attempt > 0 {
			if p := edited[ev.Block]; p != nil {
				began.Policy = p
			}
			calls = append(calls, blockInBackoff(began, ev))
			continue
		}
		if ev.Kind == history.SignalAwaited && delivered[ev.Name] > 0 {
			delivered[ev.Name]--
			continue
		}
		if p := edited[ev.Call]; p != nil {
			ev.Policy = p
		}
		calls = append(calls, s.call(kind, ev))
	}
	for _, n := range delivered {
		unread += n
	}
	return calls, unread
}

// updates returns those without a result, oldest first.
func (s *Snapshot) updates() (open []view.Update) {
	for _, ev := range s.Events {
		switch ev.Kind {
		case history.UpdateAccepted:
			open = append(open, view.Update{ID: ev.ID, Name: ev.Name, Accepted: ev.Time})
		case history.UpdateCompleted:
			open = slices.DeleteFunc(open, func(u view.Update) bool { return u.ID == ev.ID })
		}
	}
	return open
}

// blockInBackoff returns a block that began with one event and waits, since another one,
// for its next try.
func blockInBackoff(began, backoff TurnEvent) view.Call {
	p := view.Call{
		Call: began.Call, Kind: KindBlock, Name: core.BlockName, State: view.CallBackoff, Scheduled: began.Time,
		Attempt: backoff.Attempt + 1, Failures: backoff.Attempt, Next: optional(backoff.Due),
	}
	policy := began.Policy
	if policy == nil {
		policy = &retry.Policy{}
	}
	retriedBy(&p, policy, began.Time)
	if f := backoff.Failure; f != nil {
		p.LastError, p.LastErrorType = f.Message, f.TypeName()
	}
	return p
}

// call returns the open call that an event begins.
func (s *Snapshot) call(kind string, ev TurnEvent) view.Call {
	p := view.Call{Call: ev.Call, Kind: kind, Name: ev.Name, State: view.CallWaiting, Scheduled: ev.Time, Next: optional(ev.Due)}
	if ev.Child != nil {
		p.Child = childOf(ev.Event)
	}
	if kind != KindActivity && kind != KindStep {
		return p
	}
	p.State, p.Attempt, p.Node, p.Queue = view.CallRunning, 1, s.owners[s.epochs[ev.Turn]], ev.Queue
	var policy retry.Policy
	if ev.Policy != nil {
		policy = *ev.Policy
	}
	retriedBy(&p, &policy, ev.Time)
	row, ok := s.rows[ev.Call]
	if !ok {
		inFlight(&p, ev.Time.UnixNano(), &policy)
		return p
	}
	p.Attempt, p.Node = row.Attempt, ""
	if row.State != store.Dispatched && row.State != store.Remote {
		p.State = string(row.State)
		p.Next = optional(row.Due)
	}
	if progress, err := core.DecodeProgress(row.Data); readable(err) {
		p.Failures, p.LostToCrashes = progress.Failures, progress.Losses
		if progress.Last != nil {
			p.LastError, p.LastErrorType = progress.Last.Message, progress.Last.TypeName()
		}
		if row.State == store.Dispatched || row.State == store.Remote {
			p.Node = progress.Node
			inFlight(&p, progress.StartedAt, &policy)
		}
		if at, verdict := progress.Awaits(); row.State == store.Gated && at >= 0 && at < len(ev.Gates) {
			p.Gate = &view.GateWait{Name: ev.Gates[at].Name, Verdict: verdict}
		}
		if row.State == store.Offered {
			p.Offered = optional(progress.QueuedAt)
		}
		if row.State == store.Remote && progress.TimesOut(&policy) != core.Never {
			p.TimesOut = optional(progress.TimesOut(&policy))
		}
		if row.State == store.External {
			p.Started, p.TimesOut = optional(progress.StartedAt), optional(progress.TimesOut(&policy))
		}
		p.LastHeartbeat = optional(progress.BeatAt)
		if !progress.Details.Absent() {
			p.Heartbeat = optionalPayload(&progress.Details)
		}
		p.Paused = pause(progress.Pause)
	}
	return p
}

// retriedBy adds by which policy the call is retried, since a time.
func retriedBy(p *view.Call, policy *retry.Policy, since time.Time) {
	p.Max, p.Policy = policy.AttemptLimit(), policy.String()
	if w := policy.Within; w > 0 && w != retry.Forever {
		deadline := since.Add(w)
		p.Deadline = &deadline
	}
}

// inFlight adds when the attempt in flight started and times out.
func inFlight(p *view.Call, started int64, policy *retry.Policy) {
	p.Started = optional(started)
	if limit := policy.AttemptTimeout; limit > 0 {
		end := p.Started.Add(limit)
		p.TimesOut = &end
	}
}
