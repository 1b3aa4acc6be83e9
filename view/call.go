package view

import "time"

// The states of open calls of activities and steps. A block of code that is retried
// (workflow.Retry) is an open call in CallBackoff while it waits for its next try; its
// tries are its attempts. Calls of other kinds are in CallWaiting.
const (
	CallRunning     = "running"
	CallQueued      = "queued"      // waits for a slot
	CallOffered     = "offered"     // waits in its queue until a process claims it that serves the queue
	CallGated       = "gated"       // waits at a gate
	CallBackoff     = "backoff"     // waits for its next attempt
	CallExternal    = "external"    // its attempt is completed from outside, by a token
	CallPaused      = "paused"      // waits until it is resumed
	CallQuarantined = "quarantined" // its attempts crashed their processes; waits for a person
	CallInDoubt     = "in-doubt"    // an attempt may have had its effect, and that is not known; waits for a person
	CallWaiting     = "waiting"
)

// CallRetrying is a value of Filter.Call and not a state: it selects runs with a call
// that Retries.
const CallRetrying = "retrying"

// Retries reports whether the call has failed and waits for its next attempt: in backoff, at a
// gate, in a queue or for a slot.
func (c *Call) Retries() bool {
	switch c.State {
	case CallBackoff, CallGated, CallQueued, CallOffered:
		return c.Failures > 0
	}
	return false
}

// Rests reports whether the call is paused, by itself or with its activity.
func (c *Call) Rests() bool {
	switch c.State {
	case CallPaused:
		return true
	case CallQueued, CallOffered:
		return c.ActivityPaused != nil
	}
	return false
}

// Call is an open call of a run.
type Call struct {
	Call  int64  `json:"call"`  // number in its run, from 1
	Kind  string `json:"kind"`  // activity, step, block, timer, signal, child, detached
	Name  string `json:"name"`  // of a child the name of its workflow, of a block workflow.Retry
	State string `json:"state"` // see CallRunning

	Attempt       int        `json:"attempt,omitempty"`         // number of the current or next attempt, from 1
	Max           int        `json:"max,omitempty"`             // attempts that the policy allows; retry.Unlimited (2147483647) if it sets no limit
	Failures      int        `json:"failures,omitempty"`        // attempts that failed or timed out
	LostToCrashes int        `json:"lost_to_crashes,omitempty"` // attempts that were lost with their process or its lease
	Next          *time.Time `json:"next,omitempty"`            // when the call continues by itself
	Deadline      *time.Time `json:"deadline,omitempty"`        // after which no attempt starts
	LastError     string     `json:"last_error,omitempty"`      // text of the latest failure; empty if no attempt failed
	LastErrorType string     `json:"last_error_type,omitempty"` // of the latest failure, see retry.TypeName
	// Crashes are the processes that the call crashed while it ran alone, and Crashed is when
	// it last did. NoOtherBuild says that every live node has a build on which it crashed.
	Crashes      []Crash    `json:"crashes,omitempty"`
	Crashed      *time.Time `json:"crashed,omitempty"`
	NoOtherBuild bool       `json:"no_other_build,omitempty"`
	Node         string     `json:"node,omitempty"` // that runs the attempt in flight: see Node.ID
	// Offered is when the attempt was put into the queue. Unserved says why no live
	// process can claim it, or why the node of the run may not start it; it is empty if
	// one can, or if the attempt does not wait.
	Offered   *time.Time `json:"offered,omitempty"`
	Unserved  string     `json:"unserved,omitempty"`
	Queue     string     `json:"queue,omitempty"`  // in which its attempts are offered; empty: they run where its run is
	Scheduled time.Time  `json:"scheduled"`        // when the code made the call
	Policy    string     `json:"policy,omitempty"` // by which the call is retried, in text notation

	// Started and TimesOut are the times of the attempt in flight.
	Started  *time.Time `json:"started,omitempty"`
	TimesOut *time.Time `json:"times_out,omitempty"`
	// Heartbeat and LastHeartbeat are the details and the time of the last recorded
	// heartbeat, which may be from an earlier attempt.
	Heartbeat     *Payload   `json:"heartbeat,omitempty"`
	LastHeartbeat *time.Time `json:"last_heartbeat,omitempty"`
	// Paused says who paused the call, and when and why. A running attempt may end, but
	// no other follows until the call is resumed.
	Paused *Pause `json:"paused,omitempty"`
	// ActivityPaused says who paused the activity, or the inline step, in the whole group.
	ActivityPaused *Pause `json:"activity_paused,omitempty"`
	// Doubt is the attempt that may have had its effect, while that is not known; nil for none.
	// Questions is how many of the numbers up to Attempt are those of questions about attempts.
	Doubt     *Doubt `json:"doubt,omitempty"`
	Questions int    `json:"questions,omitempty"`
	// Gate says where a gated call waits.
	Gate *GateWait `json:"gate,omitempty"`
	// Child is the run that a child or detached call started.
	Child *Child `json:"child,omitempty"`
}

// Doubt is an attempt that may have had its effect, and how far finding out has come.
type Doubt struct {
	Attempt  int        `json:"attempt"`            // its number
	ID       string     `json:"id"`                 // its ID
	Outcome  string     `json:"outcome"`            // how it ended: OutcomeFailed, OutcomeTimedOut, OutcomeLost or OutcomeDrained
	Node     string     `json:"node,omitempty"`     // that ran it
	Started  *time.Time `json:"started,omitempty"`  // when its body began
	Ended    *time.Time `json:"ended,omitempty"`    // nil if that is not known, because it was lost
	Error    string     `json:"error,omitempty"`    // text of its failure; empty if it was lost or drained
	Question int        `json:"question,omitempty"` // number of the current, next or latest question, from 1; 0 if none is asked
	Answer   string     `json:"answer,omitempty"`   // text of the failure of the latest question; empty if it did not fail
	Asking   bool       `json:"asking,omitempty"`   // the program is being asked, or will be at Next; else a person decides
}

// Crash is a process that a call crashed.
type Crash struct {
	Node  string `json:"node"`            // its name, or its ID if it is not remembered
	Build string `json:"build,omitempty"` // empty if it is not known
}

// Child is a run that an open call started.
type Child struct {
	WorkflowID string `json:"workflow_id"` // of the child
	// RunID and Status are those of the latest run of the child's chain. Status is
	// "starting" if there is no run yet. It is empty beyond the first 100 children of a
	// description.
	RunID  string `json:"run_id"`
	Status string `json:"status,omitempty"`
	// OnParentClose is what happens to the child when its parent closes: cancel,
	// terminate or abandon; empty of a detached one.
	OnParentClose string `json:"on_parent_close,omitempty"`
}

// Pause says who paused something, why and when.
type Pause struct {
	By    string    `json:"by,omitempty"`  // empty if the engine did
	Why   string    `json:"why,omitempty"` // reason that was given; empty if none was
	Since time.Time `json:"since"`         // when it was paused
	// Until is when the pause ends by itself; nil if somebody has to end it.
	Until *time.Time `json:"until,omitempty"`
}

// CallFilter selects open calls of activities and steps and, for operations that apply to
// them (retry now, another policy), blocks in backoff. A call is selected if it matches
// all fields. The zero value selects all.
type CallFilter struct {
	Call      int64    `json:"call,omitempty"`       // number in its run; 0: any
	Name      string   `json:"name,omitempty"`       // of the activity or step; empty: any
	States    []string `json:"states,omitempty"`     // see CallRunning; empty: any
	ErrorType string   `json:"error_type,omitempty"` // of the last failure, see retry.TypeName; empty: any
}

// PausedCall is a call that the engine paused or quarantined, or that is in doubt.
type PausedCall struct {
	WorkflowID string
	RunID      string
	Workflow   string // name of the definition
	Call       int64  // number in its run
	Name       string // of the activity or step
	State      string // CallPaused, CallQuarantined or CallInDoubt
	Reason     string // max_attempts, within, budget, crash_limit or unknown_outcome
	Failures   int    // attempts that failed
	Err        error  // the last failure, nil if no attempt failed
	Time       time.Time
}
