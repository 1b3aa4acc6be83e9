package core

import (
	"cmp"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// Progress is how far an activity call or inline step has come. Its exported fields are the
// data of the call's row.
type Progress struct {
	state   CallState
	attempt int // number of the current or coming attempt

	First     int64         `json:"first"`              // when the call was scheduled
	QueuedAt  int64         `json:"queued,omitempty"`   // when the current or coming attempt was ready to run
	StartedAt int64         `json:"started,omitempty"`  // when the attempt in flight was started
	Node      string        `json:"node,omitempty"`     // on which node
	Failures  int           `json:"failures,omitempty"` // charged against MaxAttempts
	Losses    int           `json:"losses,omitempty"`   // attempts lost with their process or its lease
	Drains    int           `json:"drains,omitempty"`   // attempts that a shutdown gave back
	Previous  time.Duration `json:"previous,omitempty"` // the last delay
	Cancel    bool          `json:"cancel,omitempty"`   // the code asked to cancel the call

	BeatAt  int64           `json:"beat_at,omitempty"` // the last recorded heartbeat of any attempt
	Details history.Payload `json:"details,omitzero"`  // details of the last heartbeat
	// Unserved says why the node that has the run cannot start the attempt that is queued.
	Unserved string `json:"unserved,omitempty"`
	// Pause says why the call waits for an operator, or will once the attempt in flight has
	// ended.
	Pause *Pause `json:"pause,omitempty"`
	// Forced says that an operator wants the coming attempt regardless of the time.
	Forced bool `json:"forced,omitempty"`
	// Untold says that the hook for pauses has perhaps not been called yet.
	Untold bool `json:"untold,omitempty"`

	// Inline says that the call is an inline step. It is set when the row is written, for its
	// readers.
	Inline bool `json:"inline,omitempty"`

	// LostAt is when the last attempt was lost with its process. It is 0 if an attempt has
	// since ended or run for long.
	LostAt int64 `json:"lost,omitempty"`
	// OnProbation says that attempts were lost in short succession: the next one runs in
	// the probation lane.
	OnProbation bool `json:"probation,omitempty"`
	// Group is how many suspects run in the probation lane together with the call, or ran
	// when they were lost, itself included; 0 before the first time. With an attempt in
	// flight, 0 means that a version wrote the row that ran one suspect at a time.
	Group int `json:"group,omitempty"`
	// CrashedOn lists the nodes that died while they ran the call alone on probation. They
	// count against CrashLimit. A node that turns out to have survived is removed.
	CrashedOn []string `json:"crashed_on,omitempty"`

	// AtGates is the call's position at each of its gates, in their order.
	AtGates []atGate `json:"passes,omitempty"`
	// Collecting is since when the call holds some of its gates while it waits for others,
	// 0 if it does not. Returned is how often since the last attempt it gave gates back for
	// that reason although it held them in order.
	Collecting int64 `json:"collecting,omitempty"`
	Returned   int   `json:"returned,omitempty"`
	// Undecided is the failed attempt while a budget has yet to say whether another one may
	// follow.
	Undecided *undecided `json:"undecided,omitempty"`
	// granted is the group size of the slot for the coming attempt.
	granted int
	// verdict is what the last attempt showed about what is behind the gates.
	verdict gates.Outcome

	Errors      []history.AttemptError `json:"errors,omitempty"`
	ErrorsTotal int                    `json:"errors_total,omitempty"`
	Last        *history.Failure       `json:"last,omitempty"`

	// renewed says that the call was made in another run and started again here. The turn
	// that scheduled it does not say when its first attempt began.
	renewed bool

	// Task is the attempt in the call's queue, 0 for none. Claimed says that a worker has
	// taken it.
	Task    int  `json:"task,omitempty"`
	Claimed bool `json:"claimed,omitempty"`
	// settled says that the end of the claimed attempt is among the inputs of this step.
	settled bool
	// givenUp says that the claimed attempt was lost or timed out in this step, without a
	// message of its end.
	givenUp bool

	Totals Totals `json:"totals,omitzero"` // over the attempts in the ledger
}

// A retry summary keeps the first and the last errors.
const (
	firstErrors = 5
	lastErrors  = 5
)

func (a *Progress) remember(number int, f *history.Failure, at int64) {
	a.ErrorsTotal++
	a.Last = f
	if len(a.Errors) == firstErrors+lastErrors {
		copy(a.Errors[firstErrors:], a.Errors[firstErrors+1:])
		a.Errors = a.Errors[:len(a.Errors)-1]
	}
	a.Errors = append(a.Errors, history.AttemptError{
		Attempt: number, Type: f.TypeName(), Message: clip(f.Message), At: at / int64(time.Millisecond),
	})
}

// wantSlot makes an attempt ready once it has passed its gates. The end of the step starts
// it if there is a slot.
func (a *attempts) wantSlot(c *Call) { a.wantSlotSince(c, a.journal.now) }

// wantSlotSince is wantSlot for an attempt that is ready at a time. One that may no longer
// start waits for the end of its time, which closes the call in the order of what else
// happened.
func (a *attempts) wantSlotSince(c *Call, at int64) {
	c.QueuedAt = at
	if a.pastDeadline(c) {
		a.calls.setState(c, Queued)
		c.due = c.deadline() + 1
		a.calls.watch(c)
		a.calls.touch(c)
		return
	}
	a.enterGates(c)
}

// enterGates asks for the next gate that an attempt needs. If the attempt has passed them
// all, enterGates makes it ready.
func (a *attempts) enterGates(c *Call) {
	if a.gating.askNextGate(c) {
		return
	}
	a.calls.setState(c, "")
	c.due, c.Collecting = 0, 0
	a.ready = append(a.ready, c)
	a.calls.touch(c)
}

// admitReady starts the ready attempts that have or get a slot and enqueues the rest. If the
// time of the run is over, it enqueues all.
func (a *attempts) admitReady(admit func(*Call) bool, over bool) {
	reserved, ready := a.reserved, a.ready
	a.reserved, a.ready = nil, nil
	for _, c := range reserved {
		switch {
		case c.state == Queued && c.holdsGates() && !over:
			a.dispatch(c)
			continue
		case c.state == Queued:
			ready = append(ready, c)
		}
		a.journal.out.Unused = append(a.journal.out.Unused, c.Number)
	}
	slices.SortStableFunc(ready, func(c, d *Call) int { return cmp.Compare(d.Priority, c.Priority) })
	for _, c := range ready {
		if c.Done || (c.state != "" && c.state != Queued) {
			continue
		}
		if over {
			a.calls.enqueue(c)
			continue
		}
		if a.gating.askNextGate(c) {
			continue
		}
		if c.Queue != "" && !c.Step() {
			a.offer(c)
			continue
		}
		admitted := admit(c)
		c.unslotted = false
		if admitted {
			a.dispatch(c)
			continue
		}
		a.calls.enqueue(c)
		a.calls.noteLack(c, a.gating.lacks(c))
	}
	if a.ready == nil {
		clear(ready)
		a.ready = ready[:0]
	}
}

// enqueue queues a ready attempt until it may ask for a slot again.
func (t *callTable) enqueue(c *Call) {
	if c.state == Queued {
		return // the row says so already
	}
	t.setState(c, Queued)
	c.due = c.queueDue()
	t.watch(c)
	t.touch(c)
}

// dispatch starts an admitted attempt.
func (a *attempts) dispatch(c *Call) {
	a.calls.setState(c, Dispatched)
	c.due, c.Returned = 0, 0
	c.StartedAt = max(a.journal.now, c.QueuedAt)
	c.Node = a.journal.config.Node
	if c.granted > 0 { // perhaps only because of its activity
		c.OnProbation = true
	}
	if c.OnProbation {
		c.Group = c.granted
	}
	a.calls.touch(c)
	a.journal.out.Dispatch = append(a.journal.out.Dispatch, a.dispatchOf(c))
}

// dispatchOf describes the coming attempt for the node or worker that runs it.
func (a *attempts) dispatchOf(c *Call) Dispatch {
	limit := c.Policy.AttemptLimit()
	return Dispatch{
		Call: c.Number, Attempt: c.attempt, Max: limit, Allowed: a.allowed(c), Final: c.Failures+1 >= limit && (limit == 1 || !c.probes()),
		Step: c.Step(), Probation: c.OnProbation,
		Name: c.Name, Queue: c.Queue, Priority: c.Priority, Trace: c.Trace, Input: c.Input,
		Scheduled: c.First, Queued: c.QueuedAt, Started: c.StartedAt, Latest: c.queueDue(),
		AttemptTimeout: c.Policy.AttemptTimeout, HeartbeatTimeout: c.Policy.HeartbeatTimeout, Details: c.Details,
	}
}

// allowed returns how many executions the rule for the call's latest failure allows under
// the policy in force. Before the first failure it returns the policy's limit.
func (a *attempts) allowed(c *Call) int {
	if c.Last == nil {
		return c.Policy.AttemptLimit()
	}
	return a.judgement(c, c.Last, a.journal.now, false).Max
}

// askAgain lets all queued calls ask for a slot.
func (a *attempts) askAgain() {
	for _, n := range a.calls.openNumbers() {
		if c := a.calls.byNumber[n]; c.state == Queued {
			a.ready = append(a.ready, c)
		}
	}
}

// granted notes that a slot is reserved for a queued call. The attempt starts at the end of
// the step, unless the step also closes the call.
func (a *attempts) granted(in Granted) {
	c := a.calls.byNumber[in.Call]
	if c != nil && slices.Contains(a.reserved, c) {
		return // a repeated grant of the same slot
	}
	if c == nil || c.state != Queued || (c.Step() && a.journal.program == nil) || !a.gating.served(c) || a.closeLate(c) {
		a.journal.out.Unused = append(a.journal.out.Unused, in.Call)
		return
	}
	c.due, c.granted = 0, in.Group // it no longer waits for a slot
	a.reserved = append(a.reserved, c)
}

// fireDue handles everything that is due by the moment of the step, earliest first.
func (a *attempts) fireDue() {
	for a.calls.nextDue() <= a.journal.moment {
		c := a.calls.dues.pop().call
		if c.state == Backoff && !a.calls.mayGoOn(c) {
			continue
		}
		if c.Kind == history.TimerStarted || c.state == Backoff {
			a.journal.out.Fired, a.journal.out.Late = a.journal.out.Fired+1, max(a.journal.out.Late, a.journal.now-c.due)
		}
		switch {
		case c.settled:
			c.due = 0
		case c.Kind == history.TimerStarted:
			a.happened(history.Event{Kind: history.TimerFired, Call: c.Number})
		case c.state == Backoff:
			a.wantSlotSince(c, max(a.journal.now, c.due))
		case c.state == External, c.state == Remote:
			c.givenUp = c.state == Remote
			a.timeOutside(c)
		case c.state == Gated && (c.Undecided != nil || a.gating.giveBackLate(c)):
		case (c.state == Queued || c.state == Gated || c.state == Offered) && !a.closeLate(c):
			a.queuedTooLong(c)
		}
	}
}

func (g *gating) stopped(c *Call) bool {
	return g.journal.config.Stopped != nil && g.journal.config.Stopped(c)
}

// attemptEnded handles the end of an attempt in flight.
func (a *attempts) attemptEnded(in AttemptEnded) {
	c := a.attemptInFlight(in.Call, in.Attempt, in.Ended)
	if c != nil {
		c.settled = false
	}
	if c == nil || c.state == External && !in.Outside {
		a.journal.out.Dropped++
		return
	}
	if in.Outside {
		in = a.saidOutside(c, in)
	}
	if c.state == Dispatched {
		c.StartedAt = max(c.StartedAt, in.Began)
	}
	ended := max(in.Ended, c.StartedAt)
	switch {
	case in.Outcome == Completed:
		c.verdict = gates.Success
		if c.attempt > 1 {
			a.ledger.record(c, Completed, nil, string(retry.ReasonSucceeded), ended)
		}
		if in.Transaction {
			a.journal.out.Transactions = append(a.journal.out.Transactions, AttemptRef{in.Call, in.Attempt})
		}
		a.recordStart(c)
		a.happened(history.Event{Kind: history.CallCompleted, Call: c.Number, Result: in.Result, Ended: ended, Retry: a.ledger.summary(c, false, ended)})
	case in.Unbegun && c.state == Dispatched && a.unbegun(c, ended):
	case a.isCanceled(c):
		if c.attempt > 1 || in.Failure != nil {
			a.ledger.record(c, Canceled, in.Failure, string(retry.ReasonCanceled), ended)
		}
		if in.Failure != nil && in.Outcome != Drained {
			c.Last = in.Failure
		}
		a.closeCanceled(c, ended)
	case in.Outcome == Pending:
		a.handOver(c, ended)
	case in.Outcome == Drained && c.StartedAt > a.journal.now && c.state == Dispatched:
		a.backOff(c) // the attempt never began; it keeps its number
	case in.Outcome == Drained: // a claimed attempt is on record, whether it began or not
		due := c.StartedAt
		a.ledger.record(c, Drained, nil, string(retry.ReasonDrained), ended)
		c.Drains++
		a.gating.backOffAtGates(c, gates.Neutral, a.journal.now, false)
		c.attempt++
		c.cleared()
		if due > a.journal.now {
			a.backOffUntil(c, due)
			return
		}
		a.goOn(c)
	default:
		a.attemptFailed(c, in.Outcome, in.Failure, ended)
	}
}

// attemptFailed charges a failure and asks the policy what follows. The failure of a probe is
// not charged, and no budget is asked, if another attempt follows: the call waits on.
func (a *attempts) attemptFailed(c *Call, outcome Outcome, f *history.Failure, ended int64) {
	c.cleared()
	c.Forced = false
	c.remember(c.attempt, f, ended)
	d := a.charge(c, f, ended)
	c.verdict = verdictOf(d)
	if d.Retry {
		if judges := a.gating.backOffAtGates(c, c.verdict, nextOf(d), d.Reason != retry.ReasonProbe); judges > 0 {
			c.Undecided = &undecided{Outcome: outcome, Failure: f, Ended: ended, Judges: judges}
			c.verdict = "" // the gates know it now
			a.calls.setState(c, Gated)
			a.calls.touch(c)
			return
		}
	}
	a.ledger.recordDecision(c, outcome, f, d, ended, nextOf(d))
	a.follow(c, d, f, ended)
}

// follow carries out the policy's decision about a failure.
func (a *attempts) follow(c *Call, d retry.Decision, f *history.Failure, ended int64) {
	switch {
	case d.Pause:
		c.attempt++
		a.exhausted(c, d.Reason)
	case !d.Retry:
		a.closeFailed(c, d.Reason, d.Max, f, ended)
	default:
		c.verdict = "" // the gates know it already
		c.attempt++
		c.Previous = d.Delay
		if d.Delay <= 0 {
			a.goOn(c)
			return
		}
		a.backOffUntil(c, nextOf(d))
	}
}

// goOn makes the next attempt ready, unless an operator has paused the call.
func (a *attempts) goOn(c *Call) {
	if c.Pause != nil {
		a.suspend(c, Paused)
		return
	}
	a.wantSlot(c)
}

// backOffUntil waits for the time of the next attempt. A paused call continues that wait
// when it is resumed.
func (a *attempts) backOffUntil(c *Call, at int64) {
	if c.Pause != nil {
		c.Pause.Due = at
		a.suspend(c, Paused)
		return
	}
	a.calls.setState(c, Backoff)
	c.due = at
	a.calls.awaitBackoff(c)
	a.calls.touch(c)
}

// offProbation takes an attempt in flight off probation: it has run long enough not to be
// what kills its process.
func (a *attempts) offProbation(in OffProbation) {
	c := a.calls.byNumber[in.Call]
	if c == nil || c.state != Dispatched && c.state != Remote || c.attempt != in.Attempt || !c.OnProbation {
		return
	}
	c.cleared()
	a.calls.touch(c)
	a.journal.out.OffProbation = append(a.journal.out.OffProbation, in.AttemptRef)
}

// cleared takes a call off probation because its process survived.
func (a *Progress) cleared() { a.OnProbation, a.Group, a.LostAt = false, 0, 0 }

// closeFailed closes a call with a failure made from the last one and the reason.
func (a *attempts) closeFailed(c *Call, reason retry.Reason, limit int, f *history.Failure, ended int64) {
	switch reason {
	case retry.ReasonTerminal:
	case retry.ReasonCanceled: // the body says so; the run was not asked to cancel
		f = history.FromError(&retry.AbortedError{Name: c.Name, Attempt: c.attempt, Phase: retry.PhaseExecution, Cause: f.Err()})
	default:
		f = history.Exhausted(retry.ExhaustedError{
			Name: c.Name, Attempts: c.Failures, Reason: reason, Max: limit, Within: c.Policy.Within,
		}, f)
	}
	a.recordStart(c)
	a.happened(history.Event{
		Kind: history.CallFailed, Call: c.Number, Failure: f, Ended: ended,
		Reason: string(reason), Retry: a.ledger.summary(c, reason.Exhausts(), ended),
	})
}

// closeCanceled closes a canceled call whose attempt did not succeed.
func (a *attempts) closeCanceled(c *Call, ended int64) {
	a.recordStart(c)
	a.happened(history.Event{
		Kind: history.CallCanceled, Call: c.Number, Ended: ended,
		Failure: history.Aborted(c.Name, c.attempt, retry.PhaseExecution, c.Last),
		Reason:  string(retry.ReasonCanceled), Retry: a.ledger.summary(c, false, ended),
	})
}

// recordStart records the attempt that closes a call (E21). An attempt that never ran is
// not recorded.
func (a *attempts) recordStart(c *Call) {
	if c.StartedAt == 0 {
		return
	}
	queued := c.QueuedAt
	if queued > c.StartedAt {
		queued = 0 // the time of the next attempt, which will not start
	}
	a.journal.emit(history.Event{
		Kind: history.AttemptStarted, Call: c.Number, Attempt: c.attempt, Node: c.Node,
		Queued: queued, Started: c.StartedAt,
	})
}
