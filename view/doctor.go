package view

import "time"

// DoctorFilter selects what ops.Doctor checks. The zero value selects everything.
type DoctorFilter struct {
	Since time.Time // only runs created at this time or later; gates and schedules always
	Limit int       // at most this many findings; 0: 1000
	// Progress, if set, is called from time to time with how many runs were read so far.
	Progress func(runs int)
}

// The values of Finding.Kind.
const (
	FindingDamage   = "damage"   // its bytes differ from those that were written, or it contradicts what else is on record
	FindingNewer    = "newer"    // a newer version has written it, or it is damaged
	FindingCoded    = "coded"    // it is encoded, and this program has no codec, key or blob that decodes it
	FindingMissing  = "missing"  // turns are missing from a history
	FindingLeak     = "leak"     // a closed run is at a gate
	FindingUnserved = "unserved" // a call that no live node runs
	FindingCrash    = "crash"    // code that crashed its process is held until a person releases it

	// Of the database as a whole, as the SQL stores see it: see the constants of package
	// store that begin with Symptom.
	FindingOrphan   = "orphan"   // rows belong to a run that does not exist
	FindingStuck    = "stuck"    // a message waits although a live node owns its partition
	FindingClock    = "clock"    // clocks differ, or one was set back
	FindingPool     = "pool"     // connections are few or used up
	FindingVacuum   = "vacuum"   // dead rows or pages pile up
	FindingBlocking = "blocking" // a transaction keeps others waiting
	FindingTimeout  = "timeout"  // a limit of the server is too short
)

// Finding is a problem that ops.Doctor found.
type Finding struct {
	Kind       string `json:"kind"`                  // see FindingDamage
	WorkflowID string `json:"workflow_id,omitempty"` // of the run that it is about; empty if it is about none
	RunID      string `json:"run_id,omitempty"`      // of that run
	Status     string `json:"status,omitempty"`      // of the run
	Gate       string `json:"gate,omitempty"`        // name of the gate that it is about; empty if it is about none
	Schedule   string `json:"schedule,omitempty"`    // name of the schedule that it is about; empty if it is about none
	Subject    string `json:"subject,omitempty"`     // of the database: a table, a session, a setting
	Turn       int64  `json:"turn,omitempty"`        // of the run's history
	Problem    string `json:"problem"`               // what is wrong, in a sentence
	Do         string `json:"do"`                    // what to do about it
}

// Checkup is the result of ops.Doctor.
type Checkup struct {
	OK     bool `json:"ok"`     // nothing is wrong
	Runs   int  `json:"runs"`   // that were read, open and closed
	Turns  int  `json:"turns"`  // of these runs, that were read
	Others int  `json:"others"` // gates and schedules
	// More says that there are more findings than the limit; reading stopped there.
	More     bool      `json:"more,omitempty"`
	Findings []Finding `json:"findings"` // in the order in which they were found; empty if nothing is wrong
}
