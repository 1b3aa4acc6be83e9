package core

import "github.com/perdure/perdure/internal/history"

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
