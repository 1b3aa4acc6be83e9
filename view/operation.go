package view

import (
	"encoding/json"
	"time"
)

// The outcomes of an operation.
const (
	Applied    = "applied"
	Unchanged  = "unchanged"   // the call or run was already in that state
	Refused    = "refused"     // the call or run is not in a state for it
	NotPending = "not-pending" // there is no such open call
	Selected   = "selected"    // of a dry run
	WouldWait  = "would-wait"  // of a dry run: it is selected, and its attempt would wait at a gate or for its activity to be resumed
)

// ControlRecord is an entry of a run's audit: an operation of a person on the run or
// on one of its calls, or the engine's own decision to pause a call.
type ControlRecord struct {
	WorkflowID string `json:"workflow_id"` // of the run
	RunID      string `json:"run_id"`      // of the run
	// Call is the number of the call; for a reset the first call that is made again. It
	// is 0 for an operation on the run, or if no call was selected.
	Call int64  `json:"call,omitempty"`
	Name string `json:"name,omitempty"` // of the activity, the step, the signal or the build to which a run moves
	// Operation is retry-now, skip, fail, pause, resume or edit-policy; for a run cancel,
	// terminate, signal, pause-run, resume-run, reset, move-runs or fork.
	Operation string    `json:"operation"`
	Request   string    `json:"request,omitempty"` // its idempotency key; empty of what the engine did itself
	By        string    `json:"by,omitempty"`      // empty if the engine did
	Why       string    `json:"why,omitempty"`     // reason that was given; empty if none was
	Outcome   string    `json:"outcome"`           // see Applied
	Note      string    `json:"note,omitempty"`    // what the outcome means here, such as why it was refused; may be empty
	Time      time.Time `json:"time,omitzero"`     // engine time at which it was carried out; zero in a dry run
	// Policy is the retry policy that an edit-policy put in force.
	Policy json.RawMessage `json:"policy,omitempty"`
}

// SwitchRecord is an entry of the log of activities that were paused and resumed in a
// whole group.
type SwitchRecord struct {
	Group   string `json:"group"`         // of nodes, see perdure.Group; empty is the default group
	Kind    string `json:"kind"`          // activity
	Name    string `json:"name"`          // of the activity or step
	Paused  bool   `json:"paused"`        // false: resumed
	Request string `json:"request"`       // idempotency key of the request
	By      string `json:"by,omitempty"`  // who paused or resumed it
	Why     string `json:"why,omitempty"` // reason that was given; empty if none was
	// Warning says that no node or worker is known that has the activity.
	Warning string    `json:"warning,omitempty"`
	Time    time.Time `json:"time,omitzero"` // when it was paused or resumed; zero in a dry run
	// Until is when the pause ends by itself; nil if it lasts until the activity is resumed, and in a dry
	// run.
	Until *time.Time `json:"until,omitempty"`
}

// BulkResult sums up an operation on many runs.
type BulkResult struct {
	Request string `json:"request,omitempty"` // its ID: repeating the request with it does what is left
	DryRun  bool   `json:"dry_run,omitempty"` // nothing was done: runs, calls and records say what is selected
	Runs    int    `json:"runs"`              // that were selected, or have calls that were
	Calls   int    `json:"calls"`             // that were selected; 0 of an operation on runs

	// A run may change between selection and operation.

	Applied    int `json:"applied"`     // calls or runs that were changed
	Unchanged  int `json:"unchanged"`   // calls or runs that were already in that state
	Refused    int `json:"refused"`     // calls or runs whose state does not allow it
	NotPending int `json:"not_pending"` // calls that were not open any more
	// Waiting is how many calls a dry run of retry-now selects whose attempts would not start: see
	// WouldWait.
	Waiting int `json:"waiting,omitempty"`
	Ended   int `json:"ended"` // runs that had closed before the operation
	// Unknown are the workflow IDs that were named and that no run has.
	Unknown    []string `json:"unknown,omitempty"`
	Unanswered int      `json:"unanswered"` // runs whose owner has not carried it out yet, or of a selection that were not reached in time

	// Gone counts the runs or calls of a selection that have changed since: nothing is
	// done to them. It includes those to which the same request was applied before.
	Gone int `json:"gone"`

	// Selection is the selection of a dry run, as text for ops.Selected. It is empty if
	// there are more than 100,000 runs and calls.
	Selection string `json:"selection,omitempty"`

	// Records are the first thousand results, or in a dry run the selected runs or calls.
	Records []ControlRecord `json:"records,omitempty"`
}

// Retention says how long closed runs and other records are kept. A duration counts from
// the end of the record; 0 keeps it for ever. The zero value keeps everything. A run that
// a caller in the same process waits for is kept until the caller has its result; a wait
// in another process ends with perdure.ErrNotFound if the run is deleted first.
type Retention struct {
	// Runs by how they ended. All runs of a chain are kept as long as the last one,
	// including those that had ended before they were reset.
	Completed, Failed, Canceled, Terminated, TimedOut time.Duration
	// Continued is for runs that a later run of their chain continues, even while the
	// chain is open. If it is 0, they are kept as long as the chain.
	Continued time.Duration

	// Statistics are the hourly counters of closed calls.
	Statistics time.Duration
	// Switches are entries of the log of paused activities that later ones replace.
	Switches time.Duration
}

// SweepResult says what a sweep deleted, or would delete.
type SweepResult struct {
	DryRun bool           `json:"dry_run,omitempty"` // nothing was deleted: the rest says what would be
	Runs   int            `json:"runs"`              // closed runs that are deleted
	Status map[string]int `json:"status,omitempty"`  // of these, by status
}
