package view

import "time"

// Status is an overview of a group: who serves it, what waits for what, and what fails.
// Of each kind of wait a bounded number of calls and runs is read, and AtLeast says where
// there are more. Runs and calls of a state are counted up to MaxCounted.
type Status struct {
	Time  time.Time `json:"time"`            // engine time
	Group string    `json:"group,omitempty"` // of nodes, see perdure.Group; empty is the default group

	// Nodes are the live and draining nodes of the group, and dead nodes whose work no
	// other node has taken over.
	Nodes []Node `json:"nodes,omitempty"`
	// Canary is the canary in force, nil if there is none.
	Canary *Canary `json:"canary,omitempty"`
	// Served reports whether a live node takes work.
	Served bool `json:"served"`

	Counts

	// Waiting says what calls and runs wait for, the most serious first.
	Waiting []Waiting `json:"waiting,omitempty"`
	// Keys are the run keys of which most calls wait for a slot, a gate or a worker, at most
	// MaxKeys, counted among the calls that Waiting counts. It is empty if no run has a key.
	Keys []KeyWait `json:"keys,omitempty"`
	// OtherKeys is how many calls wait that are of further keys.
	OtherKeys int `json:"other_keys,omitempty"`
	// Queues are the queues in which attempts are offered or run, or that a worker
	// serves, by name.
	Queues []Queue `json:"queues,omitempty"`
	// Errors are the most frequent types of errors of attempts in the last hour, at most
	// ten, and before them, as errors without a type, the attempts that were lost with their
	// processes.
	Errors []ErrorTrend `json:"errors,omitempty"`
	// Failed are runs that failed in the last hour, the latest first: at most five of the
	// latest hundred started ones.
	Failed []Run `json:"failed,omitempty"`

	// Changes is what happened in the last hour.
	Changes Changes `json:"changes"`

	// Attention reports whether something needs a person: runs without a node or fitting
	// code, or that will be when they are due; calls that the engine paused or quarantined, an
	// open breaker.
	Attention bool `json:"attention"`
}

// Waiting groups calls or runs that are blocked for the same reason.
type Waiting struct {
	// Wait is that of the example, but Since and Until are the earliest of all. If no attempt of
	// the example has failed, Error and ErrorType are those of another one, of which Failed says
	// how many there are.
	Wait
	Count   int  `json:"count"`              // calls or runs; 0 for a pause or a breaker that blocks nothing
	Failed  int  `json:"failed,omitempty"`   // how many of them have had an attempt that failed
	Keys    int  `json:"keys,omitempty"`     // how many run keys have an open breaker of their own at the gate; Key is one of them
	AtLeast bool `json:"at_least,omitempty"` // there may be more than Count
	// WorkflowID, RunID and Workflow are those of the example, the one that has waited
	// longest.
	WorkflowID string `json:"workflow_id,omitempty"`
	RunID      string `json:"run_id,omitempty"`
	Workflow   string `json:"workflow,omitempty"` // name of the definition, or of the flow file
}

// NeedsAttention reports whether a person has to look at it: as for Wait, and also if calls are
// blocked by a paused activity or gate, even if a person paused it.
func (w *Waiting) NeedsAttention() bool {
	return w.Wait.NeedsAttention() || w.Count > 0 && (w.For == WaitActivityPaused || w.For == WaitGatePaused)
}

// ErrorTrend says how often attempts ended with an error in the last hour, and in the
// hour before.
type ErrorTrend struct {
	ErrorStats
	// Outcome is OutcomeLost for attempts that were lost with their processes or with the
	// lease of their node: they have no type of error. It is empty for all others.
	Outcome string `json:"outcome,omitempty"`
	Before  int    `json:"before"`             // attempts in the hour before the last one
	AtLeast bool   `json:"at_least,omitempty"` // there may be more, in both hours: only the latest were read
}
