package core

import (
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// Pause says why a call or a run waits for an operator, and since when.
type Pause struct {
	By     string `json:"by,omitempty"` // who paused it; empty for the engine
	Reason string `json:"reason,omitempty"`
	At     int64  `json:"at"`            // ns since 1970
	Due    int64  `json:"due,omitempty"` // when the interrupted backoff ends
	// Exhausted says that the engine paused the call because its attempts, time or budget are
	// used up.
	Exhausted bool `json:"exhausted,omitempty"`
	// OfRun says that the run is paused: the call resumes with it.
	OfRun bool `json:"of_run,omitempty"`
}

// Waiting is a call that the engine itself made wait for an operator.
type Waiting struct {
	AttemptRef
	Name     string
	State    CallState // Paused or Quarantined
	Reason   string
	Failures int
	Failure  *history.Failure // the last one, nil if no attempt failed
	At       int64
}

// exhausted pauses a call whose attempts, time or budget are used up.
func (a *attempts) exhausted(c *Call, reason retry.Reason) {
	a.suspendByEngine(c, Paused, reason)
}

// quarantine stops a call whose attempts crash processes.
func (a *attempts) quarantine(c *Call) {
	a.suspendByEngine(c, Quarantined, retry.ReasonCrashLimit)
}

// suspendByEngine makes a call wait for an operator, who is told.
func (a *attempts) suspendByEngine(c *Call, state CallState, reason retry.Reason) {
	a.happened(history.Event{
		Kind: history.CallControlled, Call: c.Number, Name: c.Name, Operation: string(PauseCall),
		Reason: string(reason), Outcome: Applied, Note: string(state),
	})
	c.Pause = &Pause{Reason: string(reason), At: a.journal.now, Exhausted: state == Paused}
	a.suspend(c, state)
	if a.journal.config.Tell {
		a.calls.setUntold(c, true)
		a.calls.tellWaiting(c)
	}
}

// suspend makes a call wait for an operator. It keeps nothing at its gates.
func (a *attempts) suspend(c *Call, state CallState) {
	a.gating.leaveGates(c, c.verdict)
	c.verdict = ""
	a.calls.setState(c, state)
	c.due = 0
	a.calls.touch(c)
}

// pause makes a call wait because an operator said so. An attempt in flight may end; only
// the next one waits.
func (o *operations) pause(c *Call, in Control) {
	switch {
	case c.state == Quarantined:
		o.answer(in, c, Unchanged, "it is quarantined: it waits for a person already")
		return
	case c.Pause != nil && c.Pause.OfRun: // it stays paused when the run is resumed
		o.answer(in, c, Applied, "it is paused with its run, and will be when that is resumed")
		c.Pause = &Pause{By: in.By, Reason: in.Reason, At: o.journal.now, Due: c.Pause.Due}
		o.calls.touch(c)
		return
	case c.Pause != nil:
		o.answer(in, c, Unchanged, "it is paused already")
		return
	}
	note := ""
	if inFlight(c.state) {
		note = "the attempt that is running may end; no other follows until the call is resumed"
	}
	o.answer(in, c, Applied, note)
	o.halt(c, &Pause{By: in.By, Reason: in.Reason, At: o.journal.now})
}

// halt makes a call wait where it stands. An attempt in flight may end if it has begun.
func (o *operations) halt(c *Call, p *Pause) {
	c.Pause = p
	if c.state == Dispatched {
		o.journal.out.Halted = append(o.journal.out.Halted, AttemptRef{c.Number, c.attempt})
	}
	switch {
	case inFlight(c.state), c.Undecided != nil:
		o.calls.touch(c)
	case c.state == Backoff:
		c.Pause.Due = c.due
		o.attempts.suspend(c, Paused)
	default:
		o.attempts.suspend(c, Paused)
	}
}

// resume continues a paused call. It waits out the rest of an interrupted backoff.
func (o *operations) resume(c *Call, in Control) {
	switch {
	case c.state == Quarantined:
		o.answer(in, c, Refused, "it is quarantined, because its attempts ended with their process; retry-now runs it again, alone")
		return
	case c.Pause == nil:
		o.answer(in, c, Unchanged, "it is not paused")
		return
	}
	o.answer(in, c, Applied, "")
	o.letGo(c)
}

// letGo ends the pause of a call. What is resumed goes on as if it had not been paused: no
// attempt starts after its time. Only who resumes a call that is paused because that is used
// up asks for one more.
func (o *operations) letGo(c *Call) {
	due := c.Pause.Due
	switch {
	case inFlight(c.state), c.Undecided != nil:
		c.Pause = nil
		o.calls.touch(c)
	case due > o.journal.now:
		c.Pause = nil
		o.attempts.backOffUntil(c, due)
	default:
		forced := c.Forced || c.Pause.Exhausted
		o.release(c)
		c.Forced = forced
		o.attempts.wantSlot(c)
	}
}

// setUntold notes whether the hook for pauses still has to be called.
func (t *callTable) setUntold(c *Call, untold bool) {
	if c.Untold == untold {
		return
	}
	c.Untold = untold
	if untold {
		t.untold++
	} else {
		t.untold--
	}
	t.touch(c)
}

// tellWaiting asks the caller to tell an operator that a call waits.
func (t *callTable) tellWaiting(c *Call) {
	t.journal.out.Waiting = append(t.journal.out.Waiting, Waiting{
		AttemptRef: AttemptRef{c.Number, c.attempt}, Name: c.Name, State: c.state, Reason: c.Pause.Reason,
		Failures: c.Failures, Failure: c.Last, At: c.Pause.At,
	})
}

// told notes that an operator was told.
func (t *callTable) told(in Told) {
	if c := t.byNumber[in.Call]; c != nil && c.attempt == in.Attempt {
		t.setUntold(c, false)
	}
}
