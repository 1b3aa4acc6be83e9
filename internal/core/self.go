package core

import (
	"cmp"
	"maps"
	"slices"
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

// NextCall returns the number of the next call.
func (r *Run) NextCall() int64 { return r.calls.lastCall + 1 }

// Jitter returns the jitter draw for an attempt of a call.
func (r *Run) Jitter(call int64, attempt int) float64 { return r.journal.jitter(call, attempt) }

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

// Length returns the number of recorded events, not counting the start event.
func (r *Run) Length() int { return r.length }

// Backlog returns the number of signals that the code has not read.
func (r *Run) Backlog() int { return r.signals.backlog }

// Ended reports whether the run is closed.
func (r *Run) Ended() bool { return r.ended }

// Idle reports whether the run can be evicted: no attempt runs or waits for a slot, and no
// hook is still to be called for a pause.
func (r *Run) Idle() bool { return r.calls.busy == 0 && r.calls.unnotified == 0 }

// AwaitsSlots reports whether everything in flight is a call that waits for a slot. Such
// calls have rows.
func (r *Run) AwaitsSlots() bool {
	return r.calls.queued > 0 && r.calls.busy == r.calls.queued && r.calls.unnotified == 0
}

// Lack is an activity and why its calls cannot start here.
type Lack struct{ Activity, Why string }

// Compare orders lacks.
func (l Lack) Compare(other Lack) int {
	return cmp.Or(cmp.Compare(l.Activity, other.Activity), cmp.Compare(l.Why, other.Why))
}

// NotRegistered is what Config.Lacks returns of a call whose activity the node does not have.
const NotRegistered = "its activity is not registered"

// Unserved returns, sorted, what Config.Lacks said of calls that are queued therefore.
func (r *Run) Unserved() []Lack {
	if len(r.calls.unserved) == 0 {
		return nil // without the iterator's allocations: every turn asks
	}
	return slices.SortedFunc(maps.Keys(r.calls.unserved), Lack.Compare)
}

// AwaitsMessage reports whether the code waits for a signal, for another run, or to begin. A message
// may then come soon, however far off the next due time is.
func (r *Run) AwaitsMessage() bool {
	if r.calls.childCalls > 0 || r.calls.inQueues > 0 || r.admission.waits() {
		return true
	}
	for _, m := range r.signals.byName {
		if len(m.waiting) > 0 {
			return true
		}
	}
	return false
}

// Damaged reports whether only a part of the run's record could be read.
func (r *Run) Damaged() bool { return r.damaged }

// State returns the state of the run's row after the last step.
func (r *Run) State() State { return r.row.state }

// Say sets the status text of the run. It is not a command and not in history: code that
// replays sets the same text again. The text is part of the run's row, which is written
// only if the text differs.
func (r *Run) Say(text string) { r.row.says = text }

// Says returns the status text in the run's row.
func (r *Run) Says() string { return r.row.writtenSays }

// Pin returns the build to which the run is pinned, empty for none.
func (r *Run) Pin() string { return r.row.pin }

// Awaited returns the names in the run's row of signals that it takes although it is full.
func (r *Run) Awaited() []string { return r.row.awaited }

// Rejoins reports whether the run has yet to continue from the history it began with.
func (r *Run) Rejoins() bool { return r.rejoining.turns != nil }
