package policylab

import (
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// Call is a recorded call. Times are in nanoseconds since 1970.
type Call struct {
	WorkflowID, RunID, Name string
	Number                  int64
	First                   int64     // when it was ready to run; Within counts from here
	Attempts                []Attempt // by number, at least one
}

// Attempt is an attempt that has ended. Numbers may have gaps: the attempts in a gap failed
// as the one before it did.
type Attempt struct {
	Number    int
	Outcome   core.Outcome
	ErrorType string
	Reason    retry.Reason
	Paused    bool         // the policy made the call wait for an operator
	Failure   *core.Judged // if it failed or timed out
	Queued    int64        // when it was ready to run
	Started   int64        // 0: it never ran
	Ended     int64
	Next      int64 // when the next one was due; 0 if there was none or no wait
	Question  int   // of a question about the attempt before: which one; 0 for an attempt
	Settled   bool  // a question found that it had no effect
}

// due returns when an attempt was due, as far as the record says.
func (c *Call) due(i int) int64 {
	a := &c.Attempts[i]
	if i > 0 {
		if before := &c.Attempts[i-1]; before.Next != 0 && before.Number == a.Number-1 && before.Next <= a.Queued {
			return before.Next
		}
	}
	if a.Queued == 0 {
		return a.Started
	}
	return a.Queued
}

// duration returns how long an attempt ran.
func (a *Attempt) duration() int64 {
	if a.Started == 0 {
		return 0
	}
	return a.Ended - a.Started
}

// executed returns the number of the last attempt that ran: one that a gate refused does
// not count.
func (c *Call) executed() int {
	last := &c.Attempts[len(c.Attempts)-1]
	if last.Outcome == core.RefusedByGate {
		return last.Number - 1
	}
	return last.Number
}

// ending returns how the call ended, according to its last attempt.
func (c *Call) ending() string {
	last := &c.Attempts[len(c.Attempts)-1]
	switch {
	case last.Outcome == core.Completed:
		return view.EndedSucceeded
	case last.Outcome == core.Canceled || last.Reason == retry.ReasonCanceled:
		return view.EndedCanceled
	case last.Paused || last.Reason == retry.ReasonCrashLimit:
		return view.EndedPaused
	case last.Reason.Retries():
		return view.EndedUnfinished
	}
	return view.EndedFailed
}

// took returns the duration of a call that succeeded.
func (c *Call) took() int64 { return c.Attempts[len(c.Attempts)-1].Ended - c.First }
