package core

import (
	"strings"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// Place returns the next place in the order of the run, from 1. It orders what becomes ready
// for the code, and is the same in every replay. What the code makes ready while it runs has
// one place.
func (r *Run) Place() int64 { return r.journal.nextPlace() }

// Self returns the start event as the code sees it. A run that was reset or forked has the
// identity of the run whose history it continues, up to the call at which its own history
// begins.
func (r *Run) Self() history.Start {
	s := r.journal.start
	if s.Base != nil {
		was := r.journal.identity(r.calls.lastCall + 1)
		s.WorkflowID, s.Run, s.Attempt = was.WorkflowID, was.Run, was.Attempt
		s.Created, s.FirstTurn, s.ChainDeadline = was.Created, was.FirstTurn, was.ChainDeadline
	}
	return s
}

// Start returns the run's start event.
func (r *Run) Start() history.Start { return r.journal.start }

// Began returns Start without a copy. It is read-only.
func (r *Run) Began() *history.Start { return &r.journal.start }

// Now returns the time of the current turn, in ns since 1970.
func (r *Run) Now() int64 { return r.journal.now }

// CurrentTurn returns the number of the turn in which the code runs.
func (r *Run) CurrentTurn() int64 {
	return r.journal.currentTurn()
}

// NextCall returns the number of the next call.
func (r *Run) NextCall() int64 { return r.calls.lastCall + 1 }

// Draw returns the jitter draw for an attempt of a call.
func (r *Run) Draw(call int64, attempt int) float64 {
	return r.journal.jitter(call, attempt)
}

// DefaultPolicy returns the policy of calls without a policy of their own, nil for the zero
// policy.
func (r *Run) DefaultPolicy() *retry.Policy { return r.journal.config.Policy }

// CancelRequested reports whether the run was asked to cancel.
func (r *Run) CancelRequested() bool { return r.journal.cancellation.requested }

// CallID returns the external name of a call. A call that an earlier run of the workflow
// began, and that was started again after a reset, keeps the name it had there; so does a call
// that is made again, if whoever asked for the reset or fork said so.
func (r *Run) CallID(call int64, name string) string {
	return CallID(keyRun(&r.journal.start, call, name), call)
}

// AttemptIDs returns the external names of a call and of one of its attempts.
func (r *Run) AttemptIDs(call int64, name string, attempt int) (ofCall, ofAttempt string) {
	ofAttempt = AttemptID(r.journal.start.Run, call, attempt)
	if r.journal.start.Base != nil {
		return r.CallID(call, name), ofAttempt
	}
	return ofAttempt[:strings.LastIndexByte(ofAttempt, '.')], ofAttempt // shares the string of ofAttempt
}

// AwaitsEnd reports whether the end of an attempt is still to come. That includes an
// offered attempt whose claim has not arrived.
func (r *Run) AwaitsEnd(a AttemptRef) bool {
	c := r.calls.byNumber[a.Call]
	return c != nil && c.attempt == a.Attempt && (inFlight(c.state) || c.state == Offered)
}
