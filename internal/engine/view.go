package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// Find returns a run's row: by run ID, or the latest of the workflow ID.
func (e *Engine) find(ctx context.Context, workflowID, run string) (*store.Run, error) {
	if err := e.usable(workflowID); err != nil {
		return nil, err
	}
	row, err := e.db.Find(ctx, entity.Place(e.group, workflowID), workflowID, run)
	if err == nil && row.WorkflowID != workflowID {
		return nil, store.ErrNotFound
	}
	return row, err
}

// List returns runs, newest first. Pages that go on from the last run of the one before
// neither repeat nor leave out a run that was there all the time.
func (e *Engine) List(ctx context.Context, filter view.Filter) ([]Run, error) {
	rows, err := e.db.List(ctx, runFilter(filter, e.group.All()))
	if err != nil {
		return nil, err
	}
	out := make([]Run, len(rows))
	for i := range rows {
		out[i] = viewRun(&rows[i])
	}
	return out, nil
}

// Counts returns how many runs and calls are in which state.
func (e *Engine) Counts(ctx context.Context) (view.Counts, error) {
	c, err := e.db.Counts(ctx, e.group.All())
	if err != nil {
		return view.Counts{}, err
	}
	v := view.Counts{Runs: map[string]int{}, Calls: map[string]int{}, NextRetry: optionalTime(c.NextRetry)}
	for status, n := range c.Runs {
		v.Runs[string(status)] = n
	}
	for state, n := range c.Calls {
		v.Calls[core.ShownState(core.CallState(state))] = n
	}
	return v, nil
}

// Info says what and where the database is.
func (e *Engine) Info() store.Info { return e.db.Info() }

func viewRun(r *store.Run) Run {
	v := Run{
		WorkflowID: r.WorkflowID, RunID: r.ID, Workflow: r.Type, Status: string(r.Status), Attempt: r.Attempt,
		Created: time.Unix(0, r.Created).UTC(), Closed: optionalTime(r.Closed), Priority: r.Priority, Attributes: record.Attributes(r.Attributes),
	}
	if r.Wake != store.Never {
		v.NextWake = optionalTime(r.Wake)
	}
	if d, err := core.DecodeDetail(r.Detail); err == nil {
		v.CustomStatus, v.Paused = d.Says, viewPause(d.Paused)
	}
	return v
}

func optionalTime(ns int64) *time.Time {
	if ns == 0 {
		return nil
	}
	t := time.Unix(0, ns).UTC()
	return &t
}

// Describe returns a run with its pending calls. It reads what is committed and
// asks nobody, so it works from any process and for closed runs.
func (e *Engine) Describe(ctx context.Context, workflowID, run string) (*Description, error) {
	row, err := e.find(ctx, workflowID, run)
	if err != nil {
		return nil, err
	}
	start, err := history.DecodeStart(row.Start)
	if err != nil {
		return nil, err
	}
	detail, err := core.DecodeDetail(row.Detail)
	if err != nil {
		return nil, err
	}
	d := &Description{
		Run: viewRun(row), Input: showPayload(start.Input), Memo: showPayload(start.Memo), Trace: start.Trace,
		Result: showOptional(detail.Result), Failure: showFailure(detail.Failure), Reason: detail.Reason, Stack: detail.Stack,
	}
	if d.Mismatch, err = showMismatch(detail.Mismatch); err != nil {
		return nil, err
	}
	d.After, d.Next, d.Parent = start.After, detail.Next, viewParent(start.Parent)
	d.ChainDeadline = optionalTime(start.ChainDeadline)
	if at := core.RunDeadline(&start); at != core.Never {
		d.RunDeadline = optionalTime(at)
	}
	d.Schedule, d.Base = viewScheduled(start.Scheduled), viewBase(&start)
	if d.Chain, err = e.chain(ctx, row, start); err != nil || !row.Status.Open() {
		return d, err
	}
	s, err := e.snapshot(ctx, row)
	if err != nil {
		return nil, err
	}
	d.Pending, d.Updates = s.pending(), s.updates()
	d.HistoryLength, d.Warnings = len(s.events), e.warnings(len(s.events), len(d.Pending), s.unread)
	if err := errors.Join(e.findPlaces(ctx, row.ID, d.Pending), e.findChildren(ctx, d.Pending)); err != nil {
		return nil, err
	}
	return d, e.markSwitched(ctx, d.Pending)
}

// markSwitched says of calls that their activity is paused.
func (e *Engine) markSwitched(ctx context.Context, calls []PendingCall) error {
	if e.currentPhase() == client { // it does not listen
		if err := e.readSwitches(ctx); err != nil {
			return err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range calls {
		c := &calls[i]
		if w, off := e.switches.off(store.SwitchActivity, c.Name); off && c.Kind == "activity" {
			c.ActivityPaused = &PausedInfo{By: w.By, Why: w.Why, Since: time.Unix(0, w.Time).UTC()}
		}
	}
	return nil
}

// TurnEvent is an event of a history with its place.
type TurnEvent struct {
	Turn int64     `json:"turn"`
	Time time.Time `json:"time"`
	history.Event
}

// History returns the start event and all events of a run.
func (e *Engine) History(ctx context.Context, workflowID, run string) (history.Start, []TurnEvent, error) {
	row, err := e.find(ctx, workflowID, run)
	if err != nil {
		return history.Start{}, nil, err
	}
	s, err := e.snapshot(ctx, row)
	if err != nil {
		return history.Start{}, nil, err
	}
	return s.start, s.events, nil
}

// Events returns the history of a run, the start event first.
func (e *Engine) Events(ctx context.Context, workflowID, run string) ([]view.Event, error) {
	start, events, err := e.History(ctx, workflowID, run)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(start)
	if err != nil {
		return nil, err
	}
	out := make([]view.Event, 0, len(events)+1)
	out = append(out, view.Event{Time: time.Unix(0, start.Created).UTC(), Kind: string(history.RunStarted), Name: start.Type, Record: raw})
	for i := range events {
		ev, err := showEvent(&events[i])
		if err != nil {
			return nil, err
		}
		out = append(out, ev)
	}
	return out, nil
}

// snapshot is a run as committed, read without running its code.
type snapshot struct {
	start  history.Start
	events []TurnEvent
	epochs map[int64]int64 // of turns, by turn number
	rows   map[int64]store.Call
	owners map[int64]string
	unread int // signals that no call awaits, once the open calls are worked out
}

func (e *Engine) snapshot(ctx context.Context, row *store.Run) (*snapshot, error) {
	start, err := history.DecodeStart(row.Start)
	if err != nil {
		return nil, err
	}
	// Rows first: a call that closes in between is then closed in the history.
	calls, err := e.db.Calls(ctx, row.Partition, row.ID)
	if err != nil {
		return nil, err
	}
	turns, err := e.readTurns(ctx, row.Partition, row.ID)
	if err != nil {
		return nil, err
	}
	owners, err := e.db.Owners(ctx, row.Partition)
	if err != nil {
		return nil, err
	}
	s := &snapshot{start: start, epochs: map[int64]int64{}, rows: map[int64]store.Call{}, owners: map[int64]string{}}
	for _, c := range calls {
		s.rows[c.Number] = c
	}
	for _, o := range owners {
		s.owners[o.Epoch] = o.Node
	}
	for _, t := range turns {
		s.epochs[t.Number] = t.Epoch
		for _, ev := range t.Events {
			s.events = append(s.events, TurnEvent{Turn: t.Number, Time: time.Unix(0, t.Time).UTC(), Event: ev})
		}
	}
	return s, nil
}

var callKinds = map[history.Kind]string{
	history.ActivityScheduled: "activity",
	history.StepScheduled:     "step",
	history.TimerStarted:      "timer",
	history.SignalAwaited:     "signal",
	history.ChildScheduled:    "child",
	history.DetachedScheduled: "detached",
}

// pending works the open calls out of history and rows.
func (s *snapshot) pending() []PendingCall {
	closed := map[int64]bool{}
	delivered := map[string]int{}
	edited := map[int64]*retry.Policy{}
	for _, ev := range s.events {
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
	if s.start.Carried != nil {
		for _, signal := range s.start.Carried.Signals {
			delivered[signal.Name]++
		}
	}
	var out []PendingCall
	for _, ev := range s.events {
		kind, begins := callKinds[ev.Kind]
		if !begins || closed[ev.Call] {
			continue
		}
		if ev.Kind == history.SignalAwaited && delivered[ev.Name] > 0 {
			delivered[ev.Name]--
			continue
		}
		if p := edited[ev.Call]; p != nil {
			ev.Policy = p
		}
		out = append(out, s.pendingCall(kind, ev))
	}
	s.unread = 0
	for _, n := range delivered {
		s.unread += n
	}
	return out
}

// updates are those that have no answer yet, oldest first.
func (s *snapshot) updates() (open []PendingUpdate) {
	for _, ev := range s.events {
		switch ev.Kind {
		case history.UpdateAccepted:
			open = append(open, PendingUpdate{ID: ev.ID, Name: ev.Name, Accepted: ev.Time})
		case history.UpdateCompleted:
			open = slices.DeleteFunc(open, func(u PendingUpdate) bool { return u.ID == ev.ID })
		}
	}
	return open
}

func (s *snapshot) pendingCall(kind string, ev TurnEvent) PendingCall {
	p := PendingCall{Call: ev.Call, Kind: kind, Name: ev.Name, State: "waiting", Scheduled: ev.Time, Next: optionalTime(ev.Due)}
	if ev.Child != nil {
		p.Child = viewChild(ev.Event)
	}
	if kind != "activity" && kind != "step" {
		return p
	}
	p.State, p.Attempt, p.Node = "running", 1, s.owners[s.epochs[ev.Turn]]
	var policy retry.Policy
	if ev.Policy != nil {
		policy = *ev.Policy
	}
	p.Max, p.Policy = policy.AttemptLimit(), policy.String()
	if w := policy.Within; w > 0 && w != retry.Forever {
		deadline := ev.Time.Add(w)
		p.Deadline = &deadline
	}
	row, ok := s.rows[ev.Call]
	if !ok {
		inFlight(&p, ev.Time.UnixNano(), &policy)
		return p
	}
	p.Attempt, p.Node = row.Attempt, ""
	if row.State != store.Dispatched {
		p.State = string(row.State)
		p.Next = optionalTime(row.Due)
	}
	if progress, err := core.DecodeProgress(row.Data); err == nil {
		p.Failures, p.LostToCrashes = progress.Failures, progress.Losses
		if progress.Last != nil {
			p.LastError, p.LastErrorType = progress.Last.Message, progress.Last.TypeName()
		}
		if row.State == store.Dispatched {
			p.Node = progress.Node
			inFlight(&p, progress.StartedAt, &policy)
		}
		if at, verdict := progress.Awaits(); row.State == store.Gated && at >= 0 && at < len(ev.Gates) {
			p.Gate = &GateWait{Name: ev.Gates[at].Name, Verdict: verdict}
		}
		if row.State == store.External {
			p.Started, p.TimesOut = optionalTime(progress.StartedAt), optionalTime(progress.TimesOut(&policy))
		}
		p.LastHeartbeat = optionalTime(progress.BeatAt)
		if !progress.Details.Absent() {
			p.Heartbeat = showOptional(&progress.Details)
		}
		p.Paused = viewPause(progress.Pause)
	}
	return p
}

// inFlight adds what can be said of an attempt that runs.
func inFlight(p *PendingCall, started int64, policy *retry.Policy) {
	p.Started = optionalTime(started)
	if limit := policy.AttemptTimeout; limit > 0 {
		end := p.Started.Add(limit)
		p.TimesOut = &end
	}
}
