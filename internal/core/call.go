package core

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/suspects"
	"github.com/perdure/perdure/retry"
)

// Call is one durable operation of a run. The code holds it to learn its result. The
// exported fields are read-only.
type Call struct {
	Number int64
	Kind   history.Kind // kind of the command that began it
	Name   string
	Queue  string
	Trace  string
	Input  history.Payload
	Policy *retry.Policy // in force, as recorded; read-only

	Verify *history.Verify // how to ask about an attempt in doubt, nil for not at all

	Gates    []history.GateSpec // what its attempts pass through, sorted by name
	Priority int                // at the gates and among calls that want a slot; higher goes first

	Child *ChildCall // set if the call starts a run
	Block int64      // block whose timer this is, 0 for none

	// Shielded says that a request to cancel the run does not reach the call.
	Shielded bool

	backoffOf *Block // block whose next try this backoff timer precedes, nil for none

	// Once Done, either Failure is set or Result is the value.
	Done    bool
	Result  history.Payload
	Failure *history.Failure
	Retry   *history.Summary

	// Since is the place at which the call became done in the order of the run: see
	// Run.Place.
	Since int64

	// Follower, if set, is notified when Done becomes true.
	Follower Follower

	// Reader, if set, checks whether the code can read a result.
	Reader Reader

	Progress
	due             int64 // timers, backoff, queue timeouts: when to look at the call next
	early           bool  // in backoff: the attempt may not need a slot until it begins
	unslotted       bool  // ready: the attempt needs no slot until it begins
	arrival         int64 // place of the received signal among those of its name
	cancelRequested bool  // by the code
	unserved        bool  // queued, and counted in callTable.unserved with its reason
	hasRow          bool  // the call has a row on disk
	isDirty         bool
	shared          *sharedRow // its row, if it has it together with others
}

// Follower is code that waits for a call. Follower and Reader are interfaces because a
// function would cost an allocation per call.
type Follower interface{ CallDone() }

// Reader reads a result for the code.
type Reader interface{ Read(history.Payload) error }

// Probation reports whether the next attempt runs in the probation lane.
func (c *Call) Probation() bool { return c.OnProbation }

// MayWaitOnRecord reports whether an attempt of the call may be on record before it has a slot:
// nothing is kept from others meanwhile, and if it is lost without having begun, it is repeated.
func (c *Call) MayWaitOnRecord() bool {
	return len(c.Gates) == 0 && (c.Queue == "" || c.Step()) && !c.OnProbation && crashLimit(c.Policy) > 1 && !c.leased()
}

// leased reports whether an attempt would not simply be repeated if it was lost.
func (c *Call) leased() bool {
	return c.Policy.AfterUnknown(retry.TypeWorkerLost) != retry.RepeatUnknown
}

// Unslotted reports whether the next attempt needs no slot until it begins: see
// Config.Unslotted.
func (c *Call) Unslotted() bool { return c.unslotted }

// Suspect returns what is known of a call whose process died while the call ran.
func (c *Call) Suspect() suspects.Suspect {
	return suspects.Suspect{Charged: len(c.CrashedOn), Group: c.Group}
}

// Step reports whether the call is an inline step, whose body is part of the workflow code.
func (c *Call) Step() bool { return c.Kind == history.StepScheduled }

func (c *Call) attempted() bool {
	return c.Kind == history.ActivityScheduled || c.Kind == history.StepScheduled
}

// abortedFailure returns the failure of a call that was given up without waiting for its
// attempt.
func abortedFailure(c *Call) *history.Failure {
	if !c.attempted() {
		return history.Aborted(c.Name, 1, retry.PhaseExecution, nil)
	}
	phase := retry.PhaseExecution
	attempt := c.attempt
	if c.Doubt != nil {
		return history.Aborted(c.Name, c.Doubt.Attempt, retry.PhaseBackoff, c.Last)
	}
	switch c.state {
	case "":
		if attempt > 1 { // its backoff has ended in this step
			phase, attempt = retry.PhaseBackoff, attempt-1
		}
	case Queued, Offered:
		phase = retry.PhaseQueue
	case Gated:
		if phase = retry.PhaseQueue; c.Undecided != nil {
			phase = retry.PhaseBackoff
		}
	case Backoff:
		phase, attempt = retry.PhaseBackoff, c.attempt-1
	case Paused, Quarantined, InDoubt:
		if attempt--; attempt == 0 { // paused before its first attempt
			phase, attempt = retry.PhaseQueue, 1
		}
	}
	return history.Aborted(c.Name, attempt, phase, c.Last)
}

// probes reports whether the attempt in flight is the probe of a breaker that makes calls wait.
func (c *Call) probes() bool {
	return slices.ContainsFunc(c.AtGates, func(p atGate) bool { return p.Probe })
}

// holdsGates reports whether a call holds all of its gates. A question needs none.
func (c *Call) holdsGates() bool {
	return c.asking() || !slices.ContainsFunc(c.AtGates, func(p atGate) bool { return !p.holds() })
}

// comingAttempt returns the number of the attempt for which the call asks gates.
func (c *Call) comingAttempt() int {
	if c.Undecided != nil {
		return c.attempt + 1
	}
	return c.attempt
}

// subject returns the call as operators know it. For the backoff of a block that is the
// block.
func (c *Call) subject() *Call {
	if c.backoffOf != nil {
		return &c.backoffOf.call
	}
	return c
}

// checkResult returns why the code could not read a result, or nil if it can or no Reader is
// set.
func (c *Call) checkResult(result history.Payload) (err error) {
	if c.Reader == nil {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the result cannot be read: panic: %v", p)
		}
	}()
	if err := c.Reader.Read(result); err != nil {
		return fmt.Errorf("the result does not fit: %w", err)
	}
	return nil
}

// awaitsRun reports whether the call waits for the end of its child.
func (c *Call) awaitsRun() bool { return c.Kind == history.ChildScheduled }

// attemptsMade returns how many attempts a given-up call has had, without one that did not
// begin.
func (c *Call) attemptsMade() int {
	if inFlight(c.state) || c.Undecided != nil || c.asking() {
		return c.attemptNumber()
	}
	return c.attemptNumber() - 1
}

// inFlight reports whether a call in this state has an attempt in flight.
func inFlight(s CallState) bool { return s == Dispatched || s == External || s == Remote }

func (c *Call) row() Row {
	c.Cancel = c.cancelRequested
	c.Inline = c.Step()
	row := Row{Call: c.Number, State: c.state, Name: c.Name, Queue: c.Queue, Attempt: c.attempt, Data: seal(&c.Progress)}
	if c.state == Backoff {
		row.Due = c.due
	}
	return row
}

// inOrder reports whether the gates that the call holds come before those it lacks.
func (c *Call) inOrder() bool {
	lacks := slices.IndexFunc(c.AtGates, func(p atGate) bool { return !p.holds() })
	return !slices.ContainsFunc(c.AtGates[lacks:], atGate.holds)
}

// givesBack returns when the call gives back what it holds, 0 if it holds nothing.
func (c *Call) givesBack() int64 {
	if c.Collecting == 0 {
		return 0
	}
	return addTime(c.Collecting, gates.Patience(Patience, c.inOrder(), c.Returned))
}

// gatedDue returns when a call that waits for a gate has to act: give back what it holds,
// or give up.
func (c *Call) gatedDue() int64 {
	due := c.queueDue()
	if back := c.givesBack(); back != 0 && (due == 0 || back < due) {
		due = back
	}
	return due
}

// queueDue returns when a queued call stops waiting for a slot: at the end of its
// QueueTimeout, or when the attempt may no longer start.
func (c *Call) queueDue() int64 {
	var due int64
	if c.asking() {
		return due
	}
	if c.Policy.QueueTimeout > 0 {
		due = addTime(c.QueuedAt, c.Policy.QueueTimeout)
	}
	if end := c.deadline(); c.attempt > 1 && !c.Forced && end != Never && (due == 0 || end < due) {
		due = end + 1
	}
	return due
}

// deadline returns the last moment at which an attempt after a failure may start.
func (c *Call) deadline() int64 {
	return withinEnd(c.First, c.Policy.Within)
}

// setOutcome records how a child ended.
func (c *ChildCall) setOutcome(e *history.Event) {
	if c != nil && e.Child != nil {
		c.Run, c.Status, c.Reason = e.Child.Run, e.Child.Status, e.Reason
		if c.Status == ChildIDInUse {
			c.Reason = e.Note
		}
	}
}
