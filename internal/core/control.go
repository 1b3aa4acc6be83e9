package core

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// Operation is what an operator can do to a pending activity call or inline step, or to a
// run.
type Operation string

// Operations on calls. History and the command line use the same words.
const (
	RetryNow   Operation = "retry-now"   // the next attempt starts without waiting
	Skip       Operation = "skip"        // completes the call with a result
	FailNow    Operation = "fail"        // fails the call with an error
	PauseCall  Operation = "pause"       // no further attempt until the call is resumed
	ResumeCall Operation = "resume"      // continues where it was paused
	EditPolicy Operation = "edit-policy" // another policy from the next decision on
)

// CallOperations lists the operations on calls.
var CallOperations = []Operation{RetryNow, Skip, FailNow, PauseCall, ResumeCall, EditPolicy}

// Control asks for an operation on calls of a run, or on the run. The machine drops one
// whose ID it has seen. A Control without an ID cancels, terminates or signals a run and
// gets no answer: history holds only its effect, if any.
type Control struct {
	ID        string    `json:"id,omitempty"`
	Operation Operation `json:"operation"`
	Calls     Selection `json:"calls,omitzero"`
	Only      []int64   `json:"only,omitempty"` // if set, only these of the selected calls
	By        string    `json:"by,omitempty"`
	Reason    string    `json:"reason,omitempty"`

	Result  history.Payload  `json:"result,omitzero"`   // of Skip
	Failure *history.Failure `json:"failure,omitempty"` // of FailNow
	Policy  *retry.Policy    `json:"policy,omitempty"`  // of EditPolicy
	Change  string           `json:"change,omitempty"`  // of EditPolicy without a policy: see retry.Policy.Edit

	Signal   string          `json:"signal,omitempty"`    // name, of SignalTheRun
	SignalID string          `json:"signal_id,omitempty"` // of SignalTheRun; ID if empty
	Value    history.Payload `json:"value,omitzero"`      // of SignalTheRun

	// Builds are, of RetryNow, the builds of the live processes of the group, each with all
	// nodes that have or had it. A quarantined call that crashed on all of them is refused.
	// Nil: it is retried, whatever it crashed on.
	Builds map[string][]string `json:"builds,omitempty"`
	Force  bool                `json:"-"` // of RetryNow: the caller of an engine wants Builds to be nil

	From string `json:"from,omitempty"` // of MoveTheRun: only runs on this build, empty for any
	To   string `json:"to,omitempty"`   // of MoveTheRun: the build to move to

	Chain string `json:"chain,omitempty"` // if set, only runs of this chain

	Call     int64 `json:"call,omitempty"`      // of ResetTheRun: the first call to make again
	KeepKeys bool  `json:"keep_keys,omitempty"` // of ResetTheRun: under the idempotency keys that they had
	// Of ResetTheRun: Cut is the history with which the next run begins, or Fault says why
	// there is none. The caller of Step sets them.
	Cut   *Cut  `json:"-"`
	Fault error `json:"-"`
}

// Selection selects pending activity calls and inline steps of a run: those that match all
// of its fields. The zero value selects all.
type Selection struct {
	Call      int64    `json:"call,omitempty"`       // number, 0 for any
	Name      string   `json:"name,omitempty"`       // of the activity or step, "" for any
	States    []string `json:"states,omitempty"`     // as descriptions show them, none for any
	ErrorType string   `json:"error_type,omitempty"` // of the last failure, "" for any
}

// StateRunning is the state that descriptions show for a call with an attempt in flight.
const StateRunning = "running"

// ShownState returns the word that descriptions use for a state.
func ShownState(s CallState) string {
	if s == Dispatched || s == Remote {
		return StateRunning
	}
	return string(s)
}

// Has reports whether a call with this description is selected.
func (s Selection) Has(call int64, name, state, errorType string) bool {
	return (s.Call == 0 || s.Call == call) && (s.Name == "" || s.Name == name) &&
		(len(s.States) == 0 || slices.Contains(s.States, state)) && (s.ErrorType == "" || s.ErrorType == errorType)
}

// Outcomes of an operation, as CallControlled events hold them.
const (
	Applied    = "applied"
	Unchanged  = "unchanged"   // the call already was in that state
	Refused    = "refused"     // the call's state does not allow it
	NotPending = "not-pending" // the call does not exist or has ended
)

// carryOut carries out an operation on calls and records the outcome.
func (o *operations) carryOut(in Control) {
	found := false
	for _, n := range o.calls.openNumbers() {
		c := o.calls.byNumber[n]
		shown, state := c.shown(), ShownState(c.state)
		switch {
		case c.backoffOf != nil && (in.Operation.TakesBlocks() || in.Calls.Call == shown.Number):
			state = string(Backoff)
		case !c.attempted() && in.Calls.Call != n:
			continue
		}
		last := ""
		if shown.Last != nil {
			last = shown.Last.TypeName()
		}
		if in.Calls.Has(shown.Number, shown.Name, state, last) && (len(in.Only) == 0 || slices.Contains(in.Only, shown.Number)) {
			found = true
			o.operate(c, in)
		}
	}
	if !found {
		o.answer(in, &Call{Number: in.Calls.Call, Name: in.Calls.Name}, NotPending, "")
	}
}

// answer records the outcome of an operation on a call.
func (o *operations) answer(in Control, c *Call, outcome, note string) {
	e := history.Event{
		Kind: history.CallControlled, Call: c.Number, Name: c.Name, ID: in.ID, Operation: string(in.Operation),
		By: in.By, Reason: in.Reason, Outcome: outcome, Note: note,
	}
	if outcome == Applied {
		e.Policy = in.Policy
	}
	o.journal.out.Answered = true
	o.attempts.happened(e)
}

// applyControlled applies those effects of an operation that no row holds.
func (a *attempts) applyControlled(e *history.Event) {
	if e.ID != "" {
		a.asked.add(e.ID, a.journal.now)
	}
	if c := a.calls.byNumber[e.Call]; c != nil && e.Policy != nil {
		c.Policy = e.Policy
	}
	if b := a.calls.blocks[e.Call]; b != nil && e.Outcome == Applied {
		if e.Policy != nil {
			b.call.Policy = e.Policy
		}
		b.forced = b.forced || e.Operation == string(RetryNow)
	}
}

// operate carries out an operation on one call.
func (o *operations) operate(c *Call, in Control) {
	if !c.attempted() && c.backoffOf == nil {
		o.answer(in, c, Refused, "it is neither an activity nor a step")
		return
	}
	if o.journal.paused != nil && (in.Operation == RetryNow || in.Operation == ResumeCall) {
		o.answer(in, c.shown(), Refused, "its run is paused: no attempt starts until the run is resumed")
		return
	}
	if c.backoffOf != nil {
		o.operateBlock(c, in)
		return
	}
	switch in.Operation {
	case RetryNow:
		o.retryNow(c, in)
	case PauseCall:
		o.pause(c, in)
	case ResumeCall:
		o.resume(c, in)
	case Skip:
		if err := c.check(in.Result); err != nil {
			o.answer(in, c, Refused, err.Error())
			return
		}
		o.closeBy(c, in, history.Event{Kind: history.CallCompleted, Result: in.Result})
	case FailNow:
		o.closeBy(c, in, history.Event{Kind: history.CallFailed, Failure: in.Failure})
	case EditPolicy:
		o.editPolicy(c, in)
	default:
		o.answer(in, c, Refused, fmt.Sprintf("there is no operation %q; was it asked for by a newer version?", in.Operation))
	}
}

// CrashedEverywhere reports whether a call crashed nodes of each build.
func CrashedEverywhere(builds map[string][]string, crashedOn []string) bool {
	for _, nodes := range builds {
		if !slices.ContainsFunc(nodes, func(n string) bool { return slices.Contains(crashedOn, n) }) {
			return false
		}
	}
	return len(builds) > 0
}

// CrashesAgain says why a quarantined call is not retried.
func CrashesAgain(times int) string {
	return fmt.Sprintf("it crashed its process %d times, and every live node has a build on which it did: deploy another build first, or skip or fail it, or force it", times)
}

// retryNow starts the next attempt as soon as there is a slot. A quarantined call returns
// to the probation lane with a clean record.
func (o *operations) retryNow(c *Call, in Control) {
	switch c.state {
	case Backoff, Paused:
	case Quarantined:
		if CrashedEverywhere(in.Builds, c.CrashedOn) {
			o.answer(in, c, Refused, CrashesAgain(len(c.CrashedOn)))
			return
		}
		c.CrashedOn, c.OnProbation, c.Group = nil, true, 1
	case Queued:
		o.answer(in, c, Unchanged, "it waits for a free slot already")
		return
	case Offered:
		o.answer(in, c, Unchanged, "it waits in its queue already")
		return
	case Gated:
		o.answer(in, c, Unchanged, "it waits for its gate already")
		return
	default:
		note := "an attempt is running already"
		if c.StartedAt > o.journal.now { // on record ahead of its time
			note = "its next attempt is about to begin"
		}
		o.answer(in, c, Unchanged, note)
		return
	}
	o.answer(in, c, Applied, "")
	o.release(c)
	o.gating.askGatesNow(c)
	o.attempts.wantSlot(c)
}

// release ends the wait for an operator. The operator asked for the next attempt, so it
// starts even if Within has passed.
func (o *operations) release(c *Call) {
	c.Pause, c.Forced = nil, true
	o.calls.setUntold(c, false)
}

// editPolicy puts another policy in force. Decisions already made stand: a backoff in
// progress keeps its end.
func (o *operations) editPolicy(c *Call, in Control) {
	if in.Policy == nil && in.Change != "" {
		var now retry.Policy
		if c.Policy != nil {
			now = *c.Policy
		}
		edited, err := now.Edit(in.Change)
		if err != nil {
			o.answer(in, c, Refused, err.Error())
			return
		}
		in.Policy = &edited
	}
	switch {
	case in.Policy == nil:
		o.answer(in, c, Refused, "no policy was given")
	case in.Policy.Validate() != nil:
		o.answer(in, c, Refused, in.Policy.Validate().Error())
	case c.state == External && !bounded(in.Policy):
		o.answer(in, c, Refused, "its attempt is completed from outside, and the policy has neither an AttemptTimeout nor a HeartbeatTimeout")
	case c.Kind == history.BlockStarted && BlockFault(in.Policy) != "":
		o.answer(in, c, Refused, BlockFault(in.Policy))
	case reflect.DeepEqual(c.Policy, in.Policy):
		o.answer(in, c, Unchanged, "it has this policy already")
	default:
		o.answer(in, c, Applied, "")
		switch {
		case c.state == Queued, c.state == Offered, c.state == Gated && c.Undecided == nil:
			c.due = c.gatedDue()
			o.calls.watch(c)
			o.calls.offerAgain(c)
		case c.state == Backoff:
			o.calls.awaitBackoff(c) // it may go on record at another time
		case c.state == External, c.state == Remote:
			o.attempts.waitOutside(c)
		}
	}
}

// closeBy closes a call for an operator. It gives up an attempt in flight.
func (o *operations) closeBy(c *Call, in Control, e history.Event) {
	o.answer(in, c, Applied, "")
	e.Retry = o.ledger.summary(c, false, o.journal.now)
	switch {
	case inFlight(c.state):
		o.attempts.interrupt(c, true)
	case e.Retry != nil && c.Undecided == nil:
		e.Retry.TotalAttempts-- // the attempt that does not start
	}
	e.Call, e.Ended, e.Operation, e.By, e.Reason = c.Number, o.journal.now, string(in.Operation), in.By, in.Reason
	o.attempts.happened(e)
}

// inFlight reports whether a call in this state has an attempt in flight.
func inFlight(s CallState) bool { return s == Dispatched || s == External || s == Remote }

// check returns why the code could not read a result, or nil if it can or no Reader is set.
func (c *Call) check(result history.Payload) (err error) {
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
