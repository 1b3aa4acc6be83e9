package view

import (
	"time"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/gate/spec"
)

// Gate is a gate with the calls at it. State that changes with time alone, such as the
// end of a cooldown, is that of the moment of reading.
type Gate struct {
	Name    string    `json:"name"`    // as activities give it with activity.Through
	Limit   int       `json:"limit"`   // slots
	Mode    string    `json:"mode"`    // what a call in backoff does with its slot: hold, release, rejoin
	Spec    gate.Spec `json:"spec"`    // in force: as the latest call declared it, and as people edited it
	Holders int       `json:"holders"` // slots taken, those of calls in backoff included
	Running int       `json:"running"` // attempts that passed and have not ended
	Waiting int       `json:"waiting"` // calls that wait for a slot, the rate or the breaker

	OldestWait    time.Duration `json:"oldest_wait"`     // 0 if no call waits
	HeldInBackoff int           `json:"held_in_backoff"` // slots
	InBackoff     int           `json:"in_backoff"`      // calls, with or without a slot

	Breaker   string     `json:"breaker,omitempty"`    // closed, open or half_open; empty without one, closed if each key has one (see OpenKeys)
	OpenUntil *time.Time `json:"open_until,omitempty"` // end of the cooldown of an open breaker, nil of another one
	Tokens    *float64   `json:"tokens,omitempty"`     // left in the retry budget; nil without one, and if each key has one
	OpenKeys  int        `json:"open_keys,omitempty"`  // run keys whose own breaker is open or half open

	Paused *Pause `json:"paused,omitempty"` // who paused the gate, nil if it is not paused
	// Edited says which fields of Spec people have edited; nil if none.
	Edited *GateEdited `json:"edited,omitempty"`
	// Log has the requests of people to the gate, latest first: the last hundred.
	Log []AuditRecord `json:"log,omitempty"`
	// Problem says why the gate's record cannot be read. Then nothing else is known about
	// the gate, and no call passes it.
	Problem string `json:"problem,omitempty"`
	// Keys are the run keys whose own breaker is open or half open, and those with the most calls
	// that wait here: at most MaxKeys. It is empty if all calls are of runs without a key.
	Keys []KeyWait `json:"keys,omitempty"`
	// KeyBounds are the bounds of those keys that a person gave their own.
	KeyBounds map[string]gate.PerKey `json:"key_bounds,omitempty"`
	// Tickets are the calls at the gate: the running ones, the waiting ones in the order
	// in which they are let through, those in backoff.
	Tickets []Ticket `json:"tickets,omitempty"`
}

// MaxKeys is how many run keys a view lists.
const MaxKeys = 10

// KeyWait counts the waiting and running calls of one run key; see workflow.Key.
type KeyWait struct {
	Key     string     `json:"key"`              // "": of runs without one
	Waiting int        `json:"waiting"`          // calls
	Running int        `json:"running"`          // calls that have a slot of the gate; 0 in a Status
	Oldest  *time.Time `json:"oldest,omitempty"` // when the oldest call began to wait; nil if none waits

	// Breaker, OpenUntil and Tokens are those of a Gate, where each key has its own.
	Breaker   string     `json:"breaker,omitempty"`
	OpenUntil *time.Time `json:"open_until,omitempty"`
	Tokens    *float64   `json:"tokens,omitempty"`
}

// Ticket is a call at a gate: running, waiting or in backoff.
type Ticket struct {
	WorkflowID string     `json:"workflow_id"`        // of the run of the call
	RunID      string     `json:"run_id"`             // of the run of the call
	Call       int64      `json:"call"`               // number in its run
	Attempt    int        `json:"attempt"`            // number of the attempt that runs, waits or follows the backoff, from 1
	State      string     `json:"state"`              // running, waiting, standby (it gave its slot back until another gate lets it pass) or backoff
	Slot       bool       `json:"slot,omitempty"`     // whether it holds one
	Priority   int        `json:"priority,omitempty"` // of the run, from -1000 to 1000: higher ones are let through first
	Key        string     `json:"key,omitempty"`      // of the run: keys take turns
	Since      time.Time  `json:"since"`              // it is in this state
	Until      *time.Time `json:"until,omitempty"`    // end of the backoff; nil if it waits at another gate
}

// GateWait is the position of an open call in the line of a gate.
type GateWait struct {
	Name    string `json:"name"`              // of the gate
	Place   int    `json:"place,omitempty"`   // from 1; 0 if it is not known
	Waiting int    `json:"waiting,omitempty"` // calls that wait there
	// Verdict says that an attempt has failed and the gate's budget decides whether
	// another one may follow.
	Verdict bool `json:"verdict,omitempty"`
	// Paused and OpenUntil say that no call passes the gate: it is paused, or its
	// circuit breaker is open. If Key is not empty, it is that of the calls of one run key.
	Paused    *Pause     `json:"paused,omitempty"`
	OpenUntil *time.Time `json:"open_until,omitempty"`
	Key       string     `json:"key,omitempty"`
}

// GateEdit overrides fields of what the code declares for a gate: Limit, Rate, Budget and
// Breaker, as far as they are set. AsInCode removes all earlier edits first.
type GateEdit = spec.Edit

// GateEdited is the edit in force of a gate, with who made the last change. It applies to
// the fields it names, whatever the code declares, until it is removed; other fields
// follow the code.
type GateEdited struct {
	GateEdit
	Declared gate.Spec `json:"declared"`      // by the latest call
	By       string    `json:"by,omitempty"`  // who made the last change
	Why      string    `json:"why,omitempty"` // reason that was given for it; empty if none was
	Since    time.Time `json:"since"`         // when the last change was made
}

// GateReset names the parts of a gate to reset.
type GateReset struct {
	Breaker bool // it closes, and counts no failures
	Budget  bool // it has all its tokens
	// Key is the run key whose own breaker or budget is meant; empty for those of all keys.
	Key string
}

// GateChange is the effect of a request to a gate, according to the state that was
// committed when it was made. The outcome is in the gate's log.
type GateChange struct {
	Gate      string    `json:"gate"`              // its name
	Operation string    `json:"operation"`         // edit, probe or reset
	DryRun    bool      `json:"dry_run,omitempty"` // nothing was changed: the effect is that of a request now
	Outcome   string    `json:"outcome"`           // Applied or Unchanged
	Note      string    `json:"note,omitempty"`    // what the change means, in words; may be empty
	Before    gate.Spec `json:"before"`            // what was in force
	After     gate.Spec `json:"after"`             // what is in force from now on
	Holders   int       `json:"holders"`           // slots taken before
	Waiting   int       `json:"waiting"`           // calls that waited before
	Starting  int       `json:"starting"`          // of these, that start now
	Refusing  int       `json:"refusing"`          // of these, that fail because the breaker is open
}
