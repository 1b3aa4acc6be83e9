package core

import (
	"errors"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/suspects"
	"github.com/perdure/perdure/retry"
)

// This file says what follows when an attempt has not completed its call: judge decides, and
// conclude carries the verdict out.

// ending is the end of an attempt that did not complete its call, or what keeps the next one
// from starting.
type ending struct {
	outcome  Outcome          // "" if the next attempt does not start
	failure  *history.Failure // nil if the attempt was lost or given back
	reason   retry.Reason     // if the policy has no say
	at       int64
	canceled bool // the call ends with it
	charged  bool // the call has been charged for it, and the gates know of it
	denied   bool // a gate's budget allows no other attempt

	notDone bool // the attempt says that it had no effect, although it did not end by itself
	settled bool // a question found that it had none
}

// verdict is what follows an ending.
type verdict struct {
	retry.Decision
	then  sequel
	next  int64 // when the next attempt is due, 0 for immediately
	until int64 // when the gates may grant it
}

type sequel int

const (
	thenRetry sequel = iota
	thenFail
	thenCancel
	thenPause
	thenQuarantine
	thenAsk    // it may have had its effect, and the program is asked
	thenDecide // it may have had its effect, and a person decides
)

// judge decides what follows an ending. The first case that applies decides, and the call's
// policy if none does.
func (a *attempts) judge(c *Call, e ending) verdict {
	now := a.journal.now
	v := verdict{Decision: retry.Decision{Reason: e.reason, Max: c.Policy.AttemptLimit()}, until: now}
	switch {
	case e.reason == retry.ReasonBreaker, e.reason == retry.ReasonWithin: // no attempt starts any more
		v.then = thenFail
		return v
	case e.canceled: // no attempt is wanted any more
		v.then = thenCancel
		return v
	}
	if then := a.lostInDoubt(c, &e); then != retry.RepeatUnknown {
		v.Verify, v.Pause, v.Reason = then == retry.VerifyUnknown, then == retry.PauseUnknown, retry.ReasonUnknown
		v.then = v.inDoubt(c)
		return v
	}
	switch {
	case e.reason == retry.ReasonCrashLimit: // it killed too many processes
		v.then = thenQuarantine
		return v
	case e.outcome == Lost && c.StartedAt > now:
		// On record ahead of its time: the old node may not know yet that it lost the run, and
		// begin the attempt. The next one is due at the same time.
		v.next, v.until = c.StartedAt, c.StartedAt
		return v
	case e.outcome == Lost: // another attempt, now
		return v
	case e.outcome == Drained: // another attempt, now or when a claimed one was due
		if c.StartedAt > now {
			v.next = c.StartedAt
		}
		return v
	}
	s := retry.State{Attempt: c.Failures, First: time.Unix(0, c.First), Previous: c.Previous, OverBudget: e.denied, Settled: e.settled}
	if !e.charged {
		if s.Probe = c.probes(); !s.Probe { // the failure of a probe is charged only if it ends the call
			s.Attempt++
		}
	}
	v.Decision = retry.Decide(c.Policy, s, retry.Classify(e.failure.Err()), time.Unix(0, e.at), a.journal.jitter(c.Number, c.attempt))
	switch v.until = nextOf(v.Decision); {
	case v.Verify, v.Reason == retry.ReasonUnknown:
		v.then = v.inDoubt(c)
	case v.Pause:
		v.then = thenPause
	case !v.Retry:
		v.then = thenFail
	case v.Delay > 0:
		v.next = v.until
	}
	return v
}

// inDoubt returns what follows an attempt that may have had its effect. A call that cannot be
// asked about waits for a person.
func (v *verdict) inDoubt(c *Call) sequel {
	switch {
	case v.Verify && c.Verify != nil:
		v.Reason = retry.ReasonVerify
		return thenAsk
	case v.Verify, v.Pause:
		return thenDecide
	}
	return thenFail
}

// conclude carries out what follows an ending. If gates' budgets have a say in the next
// attempt, the ending waits for them.
func (a *attempts) conclude(c *Call, e ending) {
	v := a.judge(c, e)
	fresh := e.reason == "" && !e.charged
	if fresh {
		c.gateOutcome = gateOutcome(v.Decision)
		if v.Reason != retry.ReasonProbe {
			c.Failures++
		}
	}
	if v.then == thenRetry && !e.charged {
		n := a.gating.backOff(c, c.gateOutcome, v.until, fresh && v.Reason != retry.ReasonProbe)
		c.gateOutcome = "" // the gates know it now
		if n > 0 {
			c.Undecided = &undecided{Outcome: e.outcome, Failure: e.failure, Ended: e.at, Judges: n}
			a.calls.setState(c, Gated)
			a.calls.touch(c)
			return
		}
	}
	a.recordEnding(c, e, v)
	if e.settled {
		c.Doubt, c.Owing = nil, v.then == thenRetry && e.failure != nil
	}
	switch v.then {
	case thenFail:
		a.closeFailed(c, v.Decision, e)
	case thenCancel:
		a.closeCanceled(c, e.at)
	case thenPause:
		c.attempt++
		a.suspendByEngine(c, Paused, v.Reason)
	case thenQuarantine:
		c.attempt++
		a.suspendByEngine(c, Quarantined, v.Reason)
	case thenAsk:
		a.beginDoubt(c, e)
		a.ask(c, e.at)
	case thenDecide:
		a.beginDoubt(c, e)
		a.suspendByEngine(c, InDoubt, v.Reason)
	default:
		c.attempt++
		a.retry(c, e, v)
	}
}

// retry waits for the next attempt, or makes it ready.
func (a *attempts) retry(c *Call, e ending, v verdict) {
	switch lost := e.outcome == Lost && !e.settled; {
	case lost && v.next == 0:
		a.noteLoss(c, e.reason)
	case lost:
		c.StartedAt, c.Node = 0, ""
	case e.outcome == Drained && !e.settled:
		c.clearProbation()
	default:
		c.Previous = v.Delay
	}
	if v.next != 0 {
		a.backOffUntil(c, v.next)
	} else {
		a.continueCall(c)
	}
}

// recordEnding adds an ending to the ledger. History alone tells that a first attempt ended
// canceled. An attempt that will not start gives its number back.
func (a *attempts) recordEnding(c *Call, e ending, v verdict) {
	switch {
	case e.outcome == "":
		c.attempt--
	case e.settled:
		if v.then == thenRetry && (e.outcome == Lost || e.outcome == Drained) {
			v.Reason = retry.ReasonAbsent
		}
		a.ledger.recordDecision(c, Absent, nil, v.Decision, e.at)
	case e.outcome == RefusedByGate:
		a.ledger.recordRefusal(c, e.failure)
		c.attempt--
	case e.reason == "":
		a.ledger.recordDecision(c, e.outcome, e.failure, v.Decision, e.at)
	case e.outcome != Canceled || c.attempt > 1 || e.failure != nil:
		a.ledger.record(c, e.outcome, e.failure, string(e.reason), max(e.at, c.StartedAt))
	}
}

// fail ends an attempt with a failure.
func (a *attempts) fail(c *Call, outcome Outcome, f *history.Failure, at int64) {
	if c.asking() {
		a.unanswered(c, f, 0, at)
		return
	}
	c.clearProbation()
	c.Forced = false
	c.remember(c.attempt, f, at)
	a.conclude(c, ending{outcome: outcome, failure: f, at: at})
}

// lose ends an attempt whose node no longer owns the run. The loss counts against the call
// only if the node died while it ran the attempt alone in the probation lane, and only as long
// as the node is not known to have survived. It does not count if the attempt is on record
// ahead of its time. CrashLimit 1 means that the call must not run again after any loss. Most
// processes die of something else, so a call is on probation only from its second loss within
// suspects.Window on.
func (a *attempts) lose(c *Call, in TakenOver) {
	if !c.asking() {
		c.Losses++
	}
	copied := c.StartedAt > 0 && c.StartedAt < in.CopiedAt
	survived, limit := copied || slices.Contains(in.Survivors, c.Node), crashLimit(c.Policy)
	if c.OnProbation && c.StartedAt <= a.journal.now && suspects.Alone(c.Group) && !slices.Contains(in.Excused, c.Node) {
		c.Group = 1
		c.CrashedOn = append(c.CrashedOn, c.Node)
		if !survived {
			a.journal.out.Crashed = append(a.journal.out.Crashed, Crash{AttemptRef{c.Number, c.attempt}, c.Name, c.Step(), c.Node, limit})
		}
	}
	c.CrashedOn = slices.DeleteFunc(c.CrashedOn, func(node string) bool { return slices.Contains(in.Survivors, node) })
	e := ending{outcome: Lost, reason: retry.ReasonWorkerLost, at: a.journal.now, canceled: a.isCanceled(c)}
	switch {
	case len(c.CrashedOn) >= limit, limit == 1 && !c.asking():
		e.reason = retry.ReasonCrashLimit
	case copied:
		e.reason = retry.ReasonCopied
	case survived:
		e.reason = retry.ReasonLeaseLost
	case slices.Contains(in.Unheard, c.Node):
		e.reason = retry.ReasonLeaseExpired
	}
	if c.asking() {
		a.loseQuestion(c, e)
		return
	}
	a.conclude(c, e)
}

// refuse ends a call whose gate refuses it. The coming attempt does not start and is not
// charged; the ledger records the refusal.
func (a *attempts) refuse(c *Call, i int) {
	c.AtGates[i].becomes(noTicket) // its ticket is gone
	if u := c.Undecided; u != nil {
		c.Undecided = nil
		e := u.ending()
		a.recordEnding(c, e, a.judge(c, e))
		c.attempt++
	}
	refusal := &retry.RefusedError{Gate: c.Gates[i].Name, Reason: retry.ReasonBreaker}
	if c.Last != nil {
		refusal.Last = c.Last.Err()
	}
	a.conclude(c, ending{outcome: RefusedByGate, failure: history.FromError(refusal), reason: retry.ReasonBreaker, at: a.journal.now})
}

// closeLate closes a call if its next attempt may no longer start.
func (a *attempts) closeLate(c *Call) bool {
	if !a.pastDeadline(c) {
		return false
	}
	last := c.Last
	if last == nil { // attempts were lost or given back, but none failed
		last = history.FromError(&retry.WorkerLostError{Worker: c.Node, Attempt: c.attempt - 1, Losses: c.Losses, Limit: crashLimit(c.Policy)})
	}
	a.conclude(c, ending{failure: last, reason: retry.ReasonWithin, at: a.journal.now})
	return true
}

// ending returns the ending that waits for budgets.
func (u *undecided) ending() ending {
	return ending{outcome: u.Outcome, failure: u.Failure, at: u.Ended, charged: true}
}

// hearBudget handles what a gate's budget says. It may refuse a retry after a question, too. The first denial decides, or the last of the
// expected answers. A gate that got a budget only after the call asked may deny although it
// was not asked: the decision stands, and the call enters that gate again.
func (a *attempts) hearBudget(c *Call, i int, in FromGate, denied bool) {
	u := c.Undecided
	if denied {
		c.AtGates[i].becomes(noTicket) // its ticket is gone
		a.calls.touch(c)
	}
	switch {
	case u == nil && denied && c.Owing && in.Attempt == c.comingAttempt():
		a.conclude(c, ending{failure: c.Last, at: a.journal.now, charged: true, settled: true, denied: true})
	case u == nil && denied:
		a.continueGated(c)
	case u == nil || in.Attempt != c.attempt || c.AtGates[i].Judged:
		a.journal.out.Dropped++
	case denied || u.Judges == 1:
		c.Undecided = nil
		e := u.ending()
		e.denied = denied
		a.conclude(c, e)
	default:
		c.AtGates[i].Judged = true
		u.Judges--
		a.calls.touch(c)
	}
}

// allowed returns how many executions the rule for the call's latest failure allows under
// the policy in force. Before the first failure it returns the policy's limit.
func (a *attempts) allowed(c *Call) int {
	if c.Last == nil {
		return c.Policy.AttemptLimit()
	}
	return a.judge(c, ending{outcome: Failed, failure: c.Last, at: a.journal.now, charged: true}).Max
}

// gateOutcome returns what a failed attempt says about what is behind the gates. A failure
// that no retry can change says nothing about it.
func gateOutcome(d retry.Decision) gates.Outcome {
	switch {
	case d.Reason == retry.ReasonProbe:
		return gates.FailedProbe
	case d.Retry, d.Verify, d.Reason == retry.ReasonUnknown, d.Reason == retry.ReasonTimeout, d.Reason.Exhausts():
		return gates.Failure
	}
	return gates.Neutral
}

// lostInDoubt says what follows an attempt that ended without a word of its own: it was lost,
// or given back by a shutdown. One that says that it never began, or did nothing, is in no doubt.
// That it was to begin later than now proves nothing: its node's clock may have been ahead of
// this one's.
func (a *attempts) lostInDoubt(c *Call, e *ending) retry.OnUnknown {
	if e.settled || e.notDone || e.outcome != Lost && e.outcome != Drained {
		return retry.RepeatUnknown
	}
	return c.Policy.AfterUnknown(retry.TypeWorkerLost)
}

// beginDoubt makes an ending wait for the answer of the program or of a person. The gates do
// not wait with it.
func (a *attempts) beginDoubt(c *Call, e ending) {
	a.gating.leave(c, c.gateOutcome)
	c.gateOutcome = ""
	c.Doubt = &Doubt{
		Attempt: c.attempt, ID: AttemptID(a.journal.start.Run, c.Number, c.attempt), Node: c.Node, Started: c.StartedAt, Ended: e.at, Outcome: e.outcome, Failure: e.failure, Reason: e.reason,
	}
	if e.outcome == Lost {
		c.Doubt.Ended = 0
	}
	c.attempt++
}

// ask asks the program, at a time or immediately. The first question waits until no request
// of the attempt can be under way any more.
func (a *attempts) ask(c *Call, at int64) {
	d := c.Doubt
	if d.Question == 0 {
		settled := addTime(at, c.Verify.SettleAfter)
		at, d.Since = settled, settled
	}
	d.Question++
	d.Asking = true
	c.Asked++
	if at > a.journal.now {
		a.backOffUntil(c, at)
	} else {
		a.continueCall(c)
	}
}

// unanswered decides what follows a question that found no answer, because it failed or asks
// to be asked again.
func (a *attempts) unanswered(c *Call, f *history.Failure, after time.Duration, ended int64) {
	c.clearProbation()
	d := c.Doubt
	if d.Said = f; f != nil {
		d.Failed++
	}
	s := retry.State{Attempt: d.Failed, First: time.Unix(0, d.Since), Previous: d.Previous}
	next := retry.NextQuestion(c.terms(), s, after, f.Err(), time.Unix(0, ended), a.journal.jitter(c.Number, c.attempt))
	a.ledger.recordDecision(c, Unknown, f, next, ended)
	c.attempt++
	if d.Previous = next.Delay; next.Retry {
		a.ask(c, next.At.UnixNano())
		return
	}
	d.Asking = false
	a.suspendByEngine(c, InDoubt, next.Reason)
}

// loseQuestion handles a question whose process died or lost the run: it is asked again, unless
// it has killed as many processes as an attempt may.
func (a *attempts) loseQuestion(c *Call, e ending) {
	at := max(c.StartedAt, a.journal.now)
	a.ledger.record(c, Unknown, nil, string(e.reason), at)
	if e.canceled {
		a.closeCanceled(c, a.journal.now)
		return
	}
	c.attempt++
	switch {
	case e.reason == retry.ReasonCrashLimit:
		c.Doubt.Asking = false
		a.suspendByEngine(c, Quarantined, e.reason)
		return
	case c.StartedAt > a.journal.now: // on record ahead of its time
		c.StartedAt, c.Node = 0, ""
	default:
		a.noteLoss(c, e.reason)
	}
	a.ask(c, at)
}

// noteLoss puts a call on probation that was lost twice in short succession.
func (a *attempts) noteLoss(c *Call, reason retry.Reason) {
	if reason == retry.ReasonLeaseLost || reason == retry.ReasonCopied {
		c.clearProbation()
		return
	}
	c.OnProbation = c.OnProbation || c.LostAt != 0 && a.journal.now-c.LostAt <= int64(suspects.Window)
	c.LostAt = a.journal.now
}

// errPendingQuestion is why a question cannot be answered from outside.
var errPendingQuestion = errors.New("the Verify function returned activity.ErrPending: a question is answered by its function; return retry.AskAgain to be asked later")

// endQuestion handles the end of a question.
func (a *attempts) endQuestion(c *Call, in AttemptEnded, ended int64) {
	switch {
	case in.Outcome == Completed:
		a.ledger.record(c, Found, nil, string(retry.ReasonFound), ended)
		a.closeCompleted(c, in, ended)
	case a.isCanceled(c):
		a.ledger.record(c, Unknown, in.Failure, string(retry.ReasonCanceled), ended)
		a.closeCanceled(c, ended)
	case in.Outcome == Absent:
		c.clearProbation()
		d := c.Doubt
		a.conclude(c, ending{outcome: d.Outcome, failure: d.Failure, reason: d.Reason, at: ended, charged: true, settled: true})
	case in.Outcome == Drained:
		a.ledger.record(c, Unknown, nil, string(retry.ReasonDrained), ended)
		c.attempt++
		c.clearProbation()
		a.ask(c, a.journal.now)
	case in.Outcome == Unknown:
		a.unanswered(c, nil, in.After, ended)
	case in.Outcome == Pending:
		a.unanswered(c, history.FromError(retry.Terminal(errPendingQuestion)), 0, ended)
	default:
		a.unanswered(c, in.Failure, 0, ended)
	}
}
