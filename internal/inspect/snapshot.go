package inspect

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// Snapshot is the committed state of a run, read without running its code. Of the history
// it keeps only what is open, however long the history is.
type Snapshot struct {
	Start history.Start
	// Damage is what cannot be read of the run's record. The rest of the Snapshot comes
	// from what can.
	Damage []*history.DamageError

	read      int64                // when it was read
	startLost bool                 // Start has only what the row holds
	rows      map[int64]store.Call // by number
	owners    map[int64]string     // node IDs by epoch
	builds    *builds              // nil if no call is quarantined
	events    int                  // number of events
	last      int64                // the last call that was made
	sound     int64                // the last call before an unreadable turn
	advanced  int64                // epoch of the last turn in which the code ran, 0 if unknown
	open      leftOpen
}

// GatesOf returns the gates of an open call as it declares them, in the order in which it asks them.
func (s *Snapshot) GatesOf(call int64) []history.GateSpec {
	if ev, is := s.open.calls[call]; is {
		return ev.Gates
	}
	return nil
}

// Read reads a run.
func (in *Inspector) Read(ctx context.Context, row *store.Run) (*Snapshot, error) {
	s, _, err := in.begin(ctx, row, 0)
	return s, err
}

// begin reads a run and its first turns, at most limit and mostTurns (0: all), and reports
// whether these are all. It passes each turn to the functions in also.
func (in *Inspector) begin(ctx context.Context, row *store.Run, limit int, also ...func(*Snapshot, *core.StoredTurn)) (s *Snapshot, complete bool, err error) {
	if s, err = in.unread(ctx, row); err != nil {
		return nil, false, err
	}
	n := mostTurns
	if limit > 0 {
		n = min(n, limit)
	}
	complete, err = in.each(ctx, row, &s.Start, 0, n, func(some stretch) (more bool) {
		s.add(some)
		for i := range some.turns {
			for _, f := range also {
				f(s, &some.turns[i])
			}
		}
		return limit == 0
	})
	if err == nil {
		err = in.nameOwners(ctx, row, s)
	}
	if err != nil {
		return nil, false, err
	}
	if s.Start.Carried != nil {
		for _, signal := range s.Start.Carried.Signals {
			s.open.delivered[signal.Name]++
		}
	}
	return s, complete, nil
}

// unread returns a run without any of its history.
func (in *Inspector) unread(ctx context.Context, row *store.Run) (s *Snapshot, err error) {
	s = &Snapshot{read: in.now(), rows: map[int64]store.Call{}, owners: map[int64]string{}, open: newLeftOpen()}
	if s.Start, err = record.Start(row); err != nil {
		s.Damage, s.startLost = append(s.Damage, damageOf(err)), !readable(err)
	}
	// Rows first: a call that closes in between then shows as closed in the history.
	calls, err := in.db.Calls(ctx, row.Partition, row.ID)
	quarantined := false
	for _, c := range store.Apart(calls) {
		s.rows[c.Number] = c
		quarantined = quarantined || c.State == store.Quarantined
	}
	if quarantined && err == nil {
		s.builds, err = in.builds(ctx)
	}
	return s, err
}

// nameOwners adds which nodes advanced the run.
func (in *Inspector) nameOwners(ctx context.Context, row *store.Run, s *Snapshot) error {
	owners, err := in.db.Owners(ctx, row.Partition)
	for _, o := range owners {
		s.owners[o.Epoch] = o.Node
	}
	return err
}

// stretch is a part of a history, as it was read.
type stretch struct {
	turns  []core.StoredTurn
	damage []*history.DamageError
	rows   int // how many turns are on record, readable or not
}

// each reads the history of a run after a turn, in parts of n turns, until do wants no
// more. It reports whether it read everything. It keeps at most one part in memory.
func (in *Inspector) each(ctx context.Context, row *store.Run, start *history.Start, after int64, n int, do func(stretch) (more bool)) (complete bool, err error) {
	for {
		stored, err := in.db.History(ctx, row.Partition, row.ID, after, n)
		if err != nil {
			return false, err
		}
		turns, damage := record.Turns(start, after, stored)
		more := do(stretch{turns, damage, len(stored)})
		if len(stored) < n {
			return true, nil
		}
		if !more {
			return false, nil
		}
		after = stored[len(stored)-1].Number
	}
}

// add processes a part of the history.
func (s *Snapshot) add(some stretch) {
	turns, damage := some.turns, some.damage
	unread := slices.ContainsFunc(s.Damage, func(d *history.DamageError) bool { return d.Turn > 0 })
	for i := range turns {
		t := &turns[i]
		s.events += len(t.Events)
		s.last = max(s.last, core.LastCall(turns[i:i+1]))
		if !unread && (len(damage) == 0 || t.Number < damage[0].Turn) {
			s.sound = s.last
		}
		for k := range t.Events {
			ev := &t.Events[k]
			if ev.Kind.Command() || ev.Kind == history.CodeAdvanced {
				s.advanced = t.Epoch
			}
			s.open.add(t, ev)
		}
	}
	s.Damage = append(s.Damage, damage...)
}

// Kinds of calls that are retried by a policy.
const (
	KindActivity = "activity"
	KindStep     = "step"
	KindBlock    = "block" // a retried block of code, while it waits for its next try
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

// pending returns the open calls and the number of signals that none of them awaits.
func (s *Snapshot) pending() (calls []view.Call, unread int) {
	delivered := maps.Clone(s.open.delivered)
	for _, number := range slices.Sorted(maps.Keys(s.open.calls)) {
		ev := s.open.calls[number]
		if began, is := s.open.blocks[ev.Block]; is && ev.Attempt > 0 {
			calls = append(calls, blockInBackoff(began.with(s.open.edited[ev.Block]), ev))
			continue
		}
		if ev.Kind == history.SignalAwaited && delivered[ev.Name] > 0 {
			delivered[ev.Name]--
			continue
		}
		calls = append(calls, s.call(callKinds[ev.Kind], ev.with(s.open.edited[number])))
	}
	// The timer of a block's backoff is a later call than the block.
	slices.SortStableFunc(calls, func(a, b view.Call) int { return cmp.Compare(a.Call, b.Call) })
	for _, n := range delivered {
		unread += n
	}
	return calls, unread
}

// blockInBackoff returns a block that waits for its next try, from the events that began
// the block and the backoff.
func blockInBackoff(began, backoff openEvent) view.Call {
	p := view.Call{
		Call: began.Call, Kind: KindBlock, Name: core.BlockName, State: view.CallBackoff, Scheduled: began.at(),
		Attempt: backoff.Attempt + 1, Failures: backoff.Attempt, Next: optional(backoff.Due),
	}
	policy := began.Policy
	if policy == nil {
		policy = &retry.Policy{}
	}
	retriedBy(&p, policy, began.at())
	p.LastError, p.LastErrorType = told(backoff.Failure)
	return p
}

// call returns the open call that an event begins.
func (s *Snapshot) call(kind string, ev openEvent) view.Call {
	p := view.Call{Call: ev.Call, Kind: kind, Name: ev.Name, State: view.CallWaiting, Scheduled: ev.at(), Next: optional(ev.Due)}
	if ev.Child != nil {
		p.Child = childOf(*ev.Event)
	}
	if kind != KindActivity && kind != KindStep {
		return p
	}
	p.State, p.Attempt, p.Node, p.Queue = view.CallRunning, 1, s.owners[ev.epoch], ev.Queue
	var policy retry.Policy
	if ev.Policy != nil {
		policy = *ev.Policy
	}
	policy = *ev.Verify.InForce(&policy)
	retriedBy(&p, &policy, ev.at())
	row, ok := s.rows[ev.Call]
	if !ok {
		inFlight(&p, ev.time, &policy)
		return p
	}
	p.Attempt, p.Node = row.Attempt, ""
	if row.State != store.Dispatched && row.State != store.Remote {
		p.State = string(row.State)
		p.Next = optional(row.Due)
	}
	if progress, err := core.DecodeProgress(row.Data); readable(err) {
		if d := progress.Doubt; d != nil && d.Asking {
			policy = ev.Verify.Questions()
		}
		p.Failures, p.LostToCrashes = progress.Failures, progress.Losses
		if p.State == view.CallQuarantined && s.builds != nil {
			p.Crashes, p.NoOtherBuild = s.builds.crashes(progress)
			p.Crashed = optional(failedAt(progress))
		}
		p.LastError, p.LastErrorType = told(progress.Last)
		switch {
		case ahead(&row, progress, s.read):
			p.State, p.Next = view.CallBackoff, optional(progress.StartedAt)
		case row.State == store.Dispatched || row.State == store.Remote:
			p.Node = progress.Node
			inFlight(&p, progress.StartedAt, &policy)
		}
		if at, verdict := progress.Awaits(); row.State == store.Gated && at >= 0 && at < len(ev.Gates) {
			p.Gate = &view.GateWait{Name: ev.Gates[at].Name, Verdict: verdict}
		}
		if row.State == store.Queued {
			p.Unserved = progress.Unserved
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
		p.Doubt, p.Questions = doubtOf(progress.Doubt), progress.Asked
		p.LastHeartbeat = optional(progress.BeatAt)
		if !progress.Details.Absent() {
			p.Heartbeat = optionalPayload(&progress.Details)
		}
		p.Paused = pause(progress.Pause)
	}
	return p
}

// doubtOf returns the attempt that may have had its effect.
func doubtOf(d *core.Doubt) *view.Doubt {
	if d == nil {
		return nil
	}
	seen := &view.Doubt{
		Attempt: d.Attempt, ID: d.ID, Outcome: string(d.Outcome), Node: d.Node, Started: optional(d.Started), Ended: optional(d.Ended),
		Question: d.Question, Asking: d.Asking,
	}
	seen.Error, _ = told(d.Failure)
	seen.Answer, _ = told(d.Said)
	return seen
}

// ahead reports whether an attempt is on record ahead of its time and has not begun.
func ahead(row *store.Call, p *core.Progress, now int64) bool {
	return row.State == store.Dispatched && p.StartedAt > now
}

// retriedBy adds the policy by which the call is retried, in force since a time.
func retriedBy(p *view.Call, policy *retry.Policy, since time.Time) {
	p.Max, p.Policy = policy.AttemptLimit(), policy.String()
	if w := policy.Within; w > 0 && w != retry.Forever {
		deadline := since.Add(w)
		p.Deadline = &deadline
	}
}

// inFlight adds when the attempt in flight started and when it times out.
func inFlight(p *view.Call, started int64, policy *retry.Policy) {
	p.Started = optional(started)
	if limit := policy.AttemptTimeout; limit > 0 {
		end := p.Started.Add(limit)
		p.TimesOut = &end
	}
}
