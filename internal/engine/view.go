package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
)

// Run is a run as listings show it.
type Run struct {
	WorkflowID string     `json:"workflow_id"`
	RunID      string     `json:"run_id"`
	Workflow   string     `json:"workflow"` // name
	Status     string     `json:"status"`
	Attempt    int        `json:"attempt"`
	Created    time.Time  `json:"created"`
	Closed     *time.Time `json:"closed,omitempty"`
	NextWake   *time.Time `json:"next_wake,omitempty"` // when it goes on by itself, if it waits for a time
	// Priority is that of its calls among those that want a slot; see perdure.Priority.
	Priority int `json:"priority,omitempty"`
	// Attributes are what the run is found by: those of the start of its chain, as its
	// code has changed them.
	Attributes map[string]string `json:"attributes,omitempty"`
	// CustomStatus is what its code last said of where it stands, by
	// workflow.SetStatus.
	CustomStatus string `json:"custom_status,omitempty"`
	// Paused says who paused the run as a whole, and when.
	Paused *PausedInfo `json:"paused,omitempty"`
}

// Description is a run with all that can be said about where it stands.
type Description struct {
	Run
	Input   history.Payload  `json:"input,omitzero"`
	Memo    history.Payload  `json:"memo,omitzero"` // given at the start, by perdure.Memo
	Result  *history.Payload `json:"result,omitempty"`
	Failure *history.Failure `json:"failure,omitempty"`
	// Reason why it is held, or was terminated.
	Reason   string         `json:"reason,omitempty"`
	Mismatch *core.Mismatch `json:"mismatch,omitempty"`
	Stack    string         `json:"stack,omitempty"`
	// After is the last run that had the workflow ID before the run's chain began, if
	// one had.
	After string `json:"after,omitempty"`
	// HistoryLength is how many events an open run has on record. Warnings say which
	// limits it is near to.
	HistoryLength int      `json:"history_length,omitempty"`
	Warnings      []string `json:"warnings,omitempty"`
	// RunDeadline and ChainDeadline are when the run is closed as timed out if it is
	// open then: because its own time is up, or that of its chain.
	RunDeadline   *time.Time `json:"run_deadline,omitempty"`
	ChainDeadline *time.Time `json:"chain_deadline,omitempty"`
	// Next is the run that goes on for a continued one.
	Next string `json:"next,omitempty"`
	// Base says from which run and call the run goes on, of one that was reset or
	// forked; nil of others.
	Base *BaseInfo `json:"base,omitempty"`
	// Chain are the last runs of the run's chain, at most 20, oldest first; none if
	// the run is alone.
	Chain []ChainRun `json:"chain,omitempty"`
	Trace string     `json:"trace,omitempty"`
	// Parent is the call of a run that started the run's chain; nil if no run did.
	Parent *Parent `json:"parent,omitempty"`
	// Schedule is the fire of a schedule that started the run's chain; nil if none did.
	Schedule *ScheduledBy `json:"schedule,omitempty"`
	// Updates are those that were accepted and are not answered.
	Updates []PendingUpdate `json:"updates,omitempty"`
	// Pending are the calls that are not closed, by number.
	Pending []PendingCall `json:"pending,omitempty"`
}

// PendingUpdate is an update whose handler is under way.
type PendingUpdate struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Accepted time.Time `json:"accepted"`
}

// PendingCall is a call of a run that is not closed.
type PendingCall struct {
	Call  int64  `json:"call"`
	Kind  string `json:"kind"`  // activity, step, timer, signal, child, detached
	Name  string `json:"name"`  // of a child that of its workflow
	State string `json:"state"` // running, queued, gated, backoff, external, paused, quarantined, waiting

	Attempt       int        `json:"attempt,omitempty"` // current or coming
	Max           int        `json:"max,omitempty"`     // executions the policy allows
	Failures      int        `json:"failures,omitempty"`
	LostToCrashes int        `json:"lost_to_crashes,omitempty"`
	Next          *time.Time `json:"next,omitempty"`     // when it goes on
	Deadline      *time.Time `json:"deadline,omitempty"` // after which no attempt starts
	LastError     string     `json:"last_error,omitempty"`
	LastErrorType string     `json:"last_error_type,omitempty"`
	Node          string     `json:"node,omitempty"`
	Scheduled     time.Time  `json:"scheduled"`
	Policy        string     `json:"policy,omitempty"` // by which it is retried, in text notation

	// Of the attempt in flight: when it started, and when it times out at the
	// latest.
	Started  *time.Time `json:"started,omitempty"`
	TimesOut *time.Time `json:"times_out,omitempty"`
	// What the last heartbeat on record said and when it came, of the attempt in
	// flight or an earlier one.
	Heartbeat     *history.Payload `json:"heartbeat,omitempty"`
	LastHeartbeat *time.Time       `json:"last_heartbeat,omitempty"`
	// Paused says why the call waits for a person; of a running one, that no
	// attempt will follow until it is resumed.
	Paused *PausedInfo `json:"paused,omitempty"`
	// ActivityPaused says that no call of the activity starts an attempt.
	ActivityPaused *PausedInfo `json:"activity_paused,omitempty"`
	// Gate says where a call that is gated waits.
	Gate *GateWait `json:"gate,omitempty"`
	// Child is the run that the call has started, of a child or detached one.
	Child *ChildInfo `json:"child,omitempty"`
}

// PausedInfo says who paused a call or a run, and when.
type PausedInfo struct {
	By    string    `json:"by,omitempty"` // empty for the engine
	Why   string    `json:"why,omitempty"`
	Since time.Time `json:"since"`
}

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
func (e *Engine) List(ctx context.Context, filter store.Filter) ([]Run, error) {
	filter = boundedByTime(filter)
	filter.Partitions = e.group.All()
	rows, err := e.db.List(ctx, filter)
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
func (e *Engine) Counts(ctx context.Context) (store.Counts, error) {
	return e.db.Counts(ctx, e.group.All())
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
		Run: viewRun(row), Input: start.Input, Memo: start.Memo, Trace: start.Trace,
		Result: detail.Result, Failure: detail.Failure, Reason: detail.Reason, Mismatch: detail.Mismatch, Stack: detail.Stack,
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
		p.inFlight(ev.Time.UnixNano(), &policy)
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
			p.inFlight(progress.StartedAt, &policy)
		}
		if at, verdict := progress.Awaits(); row.State == store.Gated && at >= 0 && at < len(ev.Gates) {
			p.Gate = &GateWait{Name: ev.Gates[at].Name, Verdict: verdict}
		}
		if row.State == store.External {
			p.Started, p.TimesOut = optionalTime(progress.StartedAt), optionalTime(progress.TimesOut(&policy))
		}
		p.LastHeartbeat = optionalTime(progress.BeatAt)
		if !progress.Details.Absent() {
			p.Heartbeat = &progress.Details
		}
		p.Paused = viewPause(progress.Pause)
	}
	return p
}

// inFlight adds what can be said of an attempt that runs.
func (p *PendingCall) inFlight(started int64, policy *retry.Policy) {
	p.Started = optionalTime(started)
	if limit := policy.AttemptTimeout; limit > 0 {
		end := p.Started.Add(limit)
		p.TimesOut = &end
	}
}
