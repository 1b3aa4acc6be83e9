package view

import "time"

// AuditFilter selects entries of the audit over a whole group. The zero value selects the
// latest hundred.
type AuditFilter struct {
	Since time.Time // only entries of this time or later; zero: all
	Until time.Time // only entries before this time; zero: all
	Limit int       // at most this many entries, the latest; 0: 100
	// Runs is how many runs are read, the latest started first; 0: 1,000, and fewer if
	// their histories have more than 10,000 turns in all. Operations on a run are in its
	// history, and no index finds them by time.
	Runs int
	// Before is Searched of the previous audit: only operations on runs that started
	// before that run are returned. Empty: from the latest run on, with operations on
	// activities, builds, gates and schedules.
	Before string
}

// AuditRecord is an entry of the audit over a whole group: who did what, when and why.
type AuditRecord struct {
	Time time.Time `json:"time"` // engine time at which it was carried out
	// Kind is the kind of the target: workflow, activity, gate, schedule or build. Name is its
	// workflow ID or name.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// RunID, Call and Step are of an operation on a run or one of its calls, as in
	// ControlRecord; Step is the name of the call.
	RunID string `json:"run_id,omitempty"`
	Call  int64  `json:"call,omitempty"`
	Step  string `json:"step,omitempty"`
	// Operation is one of those of ControlRecord; pause or resume of an activity;
	// canary or end-canary of a build; pause, resume, edit, probe or reset of a gate; set, pause, resume, trigger, backfill
	// or delete of a schedule.
	Operation string `json:"operation"`
	Request   string `json:"request,omitempty"` // its idempotency key; empty of what the engine did itself
	By        string `json:"by,omitempty"`      // empty if the engine did
	Why       string `json:"why,omitempty"`     // reason that was given; empty if none was
	Outcome   string `json:"outcome"`           // see Applied
	Note      string `json:"note,omitempty"`    // what the outcome means here, such as why it was refused; may be empty
}

// Audit is the audit over a whole group.
type Audit struct {
	Records []AuditRecord // latest first
	More    bool          // there are earlier entries than these
	Runs    int           // whose history was read
	// Unread says that there are earlier runs that were not read. Searched is the last
	// run that was read: pass it as Before to continue.
	Unread   bool
	Searched string
}
