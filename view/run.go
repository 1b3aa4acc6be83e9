package view

import "time"

// The statuses of runs. The first four are those of open runs.
const (
	StatusRunning        = "running"
	StatusWaitingForCode = "waiting-for-code" // no live node has code that fits the run
	StatusParked         = "parked"           // its code failed in a turn, or does not fit its history
	StatusPaused         = "paused"           // as a whole, until it is resumed
	StatusCompleted      = "completed"
	StatusFailed         = "failed"
	StatusCanceled       = "canceled"
	StatusTerminated     = "terminated"
	StatusTimedOut       = "timed-out"
	StatusContinued      = "continued" // another run of its chain continues it
)

// RunPage is a page of runs, newest first.
type RunPage struct {
	Runs []Run `json:"runs"`
	// Searched is the run ID at which the search stopped before it had looked at all runs
	// and before the page was full: pass it as Before of the next page. It is empty if
	// all runs were looked at, or if the page is full.
	Searched string `json:"searched,omitempty"`
}

// Run is a run in a listing.
type Run struct {
	WorkflowID string     `json:"workflow_id"`          // that the caller of the start chose; the runs of its chain share it
	RunID      string     `json:"run_id"`               // globally unique
	Workflow   string     `json:"workflow"`             // name of the definition, or of the flow file
	Definition string     `json:"definition,omitempty"` // if Workflow is the name of a flow file
	Status     string     `json:"status"`               // see StatusRunning
	Attempt    int        `json:"attempt"`              // 1 unless the run retries a failed one
	Created    time.Time  `json:"created"`              // when it was started
	Closed     *time.Time `json:"closed,omitempty"`     // when it ended, nil while it is open
	NextWake   *time.Time `json:"next_wake,omitempty"`  // of a run that waits for a time: when it continues
	// Priority orders waiting calls: calls of runs with a higher priority get a slot
	// first.
	Priority int `json:"priority,omitempty"`

	// Key is the key of the run, "" for none: keys take turns where runs and calls wait; see
	// workflow.Key. Weight is that of the key, 0 for 1.
	Key    string `json:"key,omitempty"`
	Weight int    `json:"weight,omitempty"`
	// Attributes are the names and values by which the run is found: those of the start
	// of its chain with the changes of its code.
	Attributes map[string]string `json:"attributes,omitempty"`
	// CustomStatus is the text that the code last set with workflow.SetStatus.
	CustomStatus string `json:"custom_status,omitempty"`
	// Paused says who paused the whole run, nil if it is not paused.
	Paused *Pause `json:"paused,omitempty"`
	// Build is the build to which an open run is pinned (see workflow.Pinned); empty if
	// it is not pinned.
	Build string `json:"build,omitempty"`
	// Reason says why the run is held, or was terminated.
	Reason string `json:"reason,omitempty"`
	// Error and ErrorType say why a run failed.
	Error     string `json:"error,omitempty"`
	ErrorType string `json:"error_type,omitempty"`
	// Wait is what an open run waits for, nil if its code runs. Only listings with
	// Filter.Waits have it; of a run that is described, only why its code has not begun.
	Wait *Wait `json:"wait,omitempty"`
}

// Description is a run with its open calls and everything that is known about its state.
type Description struct {
	Run
	Input    Payload   `json:"input,omitzero"`     // with which it was started
	Memo     Payload   `json:"memo,omitzero"`      // given at the start, with workflow.Memo
	Result   *Payload  `json:"result,omitempty"`   // of a completed run
	Failure  *Failure  `json:"failure,omitempty"`  // of a failed run
	Mismatch *Mismatch `json:"mismatch,omitempty"` // of a parked run whose code does not fit its history
	Stack    string    `json:"stack,omitempty"`    // of a parked run whose code panicked or did not yield
	// Needs is the code with which the run would continue, if it waits for code or does
	// not fit the code of its node; nil if no known node had it. For a pinned run it is
	// its build.
	Needs *NeededCode `json:"needs,omitempty"`
	// Away is the name of the node that runs an open run, if that is not the owner of its
	// partition: its code fits there, or a canary lets it begin there.
	Away string `json:"away,omitempty"`
	// Damage says which part of the run's record cannot be read, nil if all can. Wait and
	// Pending are then computed from the rest.
	Damage *Damage `json:"damage,omitempty"`
	// After is the run ID of the last run that had the workflow ID before the chain
	// of this one began; empty if there was none.
	After string `json:"after,omitempty"`
	// HistoryLength is the number of recorded events of an open run.
	HistoryLength int `json:"history_length,omitempty"`
	// Warnings name the limits that an open run is close to.
	Warnings []string `json:"warnings,omitempty"`
	// RunDeadline and ChainDeadline are when the run, if it is still open, is closed
	// as timed out.
	RunDeadline   *time.Time `json:"run_deadline,omitempty"`
	ChainDeadline *time.Time `json:"chain_deadline,omitempty"`
	// Next is the run ID of the run that continues this one.
	Next string `json:"next,omitempty"`
	// Base is the run and call from which a reset or forked run continues; nil for
	// others.
	Base *Base `json:"base,omitempty"`
	// Chain holds the last runs of the run's chain, at most 20, oldest first; empty if
	// the run is the only one.
	Chain []ChainRun `json:"chain,omitempty"`
	Trace string     `json:"trace,omitempty"` // W3C trace parent
	// Headers are those of the run: see package intercept.
	Headers map[string]string `json:"headers,omitempty"`
	// Parent is the call that started the chain, nil if no run did.
	Parent *Parent `json:"parent,omitempty"`
	// Schedule is the fire that started the chain, nil if no schedule did.
	Schedule *ScheduledBy `json:"schedule,omitempty"`
	// Updates are those that were accepted and have no result yet, oldest first.
	Updates []Update `json:"updates,omitempty"`
	// Pending are the open calls of an open run, by number.
	Pending []Call `json:"pending,omitempty"`
}

// NeededCode is the code with which a run would continue, and where it was seen last.
type NeededCode struct {
	Build   string    `json:"build"`             // see Node.Build
	Version string    `json:"version,omitempty"` // workflow.Version, "" if the workflow declares none
	Node    string    `json:"node,omitempty"`    // name of the node that has it, or had it last; "" if none is remembered
	Seen    time.Time `json:"seen,omitzero"`     // when that node last renewed its lease; zero if none is remembered
	Live    bool      `json:"live"`              // whether the node is live
}

// Damage is the first part of a run's record that cannot be read.
type Damage struct {
	Problem string `json:"problem"`         // what cannot be read, and why
	Turn    int64  `json:"turn,omitempty"`  // of the history; 0 if it is another part
	Newer   bool   `json:"newer,omitempty"` // a newer version may have written it
	// Coded says that the record is not damaged but encoded, and that this program lacks
	// the codec, the key or the blob. The description then has no values.
	Coded bool `json:"coded,omitempty"`
	// LastCall is the last call before the damage; the run can be reset to it or to an
	// earlier one. 0 if there is none.
	LastCall int64 `json:"last_call,omitempty"`
}

// ChainRun is a run as a member of its chain: why it began and how it ended.
type ChainRun struct {
	Number   int    `json:"number"`   // position in the chain, from 1
	RunID    string `json:"run_id"`   // globally unique
	Workflow string `json:"workflow"` // name of the definition
	// Initiator says why the run began: continue-as-new, retry or reset; for the first
	// run schedule, fork, or empty.
	Initiator string     `json:"initiator,omitempty"`
	Attempt   int        `json:"attempt"`              // 1 unless the run retries a failed one
	Status    string     `json:"status"`               // see StatusRunning
	Created   time.Time  `json:"created"`              // when it was started
	FirstTurn *time.Time `json:"first_turn,omitempty"` // the end of its backoff, if it had one
	Closed    *time.Time `json:"closed,omitempty"`     // when it ended, nil while it is open
	// Error and ErrorType say how the run failed, whether or not it was retried.
	Error     string `json:"error,omitempty"`
	ErrorType string `json:"error_type,omitempty"`
}

// Base is the run and call from which a reset or forked run continues.
type Base struct {
	WorkflowID string `json:"workflow_id"`       // of the run whose history it began with
	RunID      string `json:"run_id"`            // of that run
	Call       int64  `json:"call"`              // the first call that it made itself
	Request    string `json:"request,omitempty"` // idempotency key of the reset or fork
	By         string `json:"by,omitempty"`      // who asked for it
	Why        string `json:"why,omitempty"`     // reason that was given; empty if none was
}

// Parent is the call of a run that started another run.
type Parent struct {
	WorkflowID string `json:"workflow_id"`        // of the run that made the call
	RunID      string `json:"run_id"`             // of that run
	Call       int64  `json:"call"`               // number in that run
	Detached   bool   `json:"detached,omitempty"` // the parent does not wait for the result
}

// Update is an update whose handler has not returned.
type Update struct {
	ID       string    `json:"id"`       // its idempotency key
	Name     string    `json:"name"`     // of the update, as the code handles it
	Accepted time.Time `json:"accepted"` // when its validator accepted it
}
