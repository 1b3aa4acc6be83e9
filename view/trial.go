package view

import "time"

// The endings of calls in a PolicyTrial.
const (
	EndedSucceeded  = "succeeded"
	EndedFailed     = "failed"
	EndedPaused     = "paused" // waits for a person
	EndedCanceled   = "canceled"
	EndedUnfinished = "unfinished" // another attempt was to follow: it still waits, or a person or the end of its run ended it
	EndedUnknown    = "unknown"    // it would have needed an attempt after the last one on record
)

// TrialFilter selects the calls on which a policy is tried. The zero value selects all
// calls of activities and steps.
type TrialFilter struct {
	Workflow string    // name of the definition
	Activity string    // name of the activity or step; workflow.Retry: of blocks of code
	Since    time.Time // only calls whose first attempt ended at this time or later; zero: all
	Until    time.Time // only calls whose first attempt ended before this time; zero: all
}

// PolicyTrial is the result of ops.TryPolicy: how the calls in the ledger with an
// unsuccessful attempt would have gone with another retry policy.
type PolicyTrial struct {
	Policy   string     `json:"policy"`             // in text notation
	Workflow string     `json:"workflow,omitempty"` // as asked; empty: all
	Activity string     `json:"activity,omitempty"` // as asked; empty: all
	Since    *time.Time `json:"since,omitempty"`    // as asked
	Until    *time.Time `json:"until,omitempty"`    // as asked

	// From and To are the times between which the attempts that were read ran; nil if
	// there are none. Nothing earlier is kept, or it was not asked for.
	From *time.Time `json:"from,omitempty"`
	To   *time.Time `json:"to,omitempty"`
	// Read is the number of attempts that were read, and Calls that of the calls that
	// the policy was tried on.
	Read  int `json:"read"`
	Calls int `json:"calls"`
	// LeftOut is the number of calls whose first attempt was not read: it is older than
	// Since, or not kept.
	LeftOut int `json:"left_out"`
	// FirstTry is the number of calls that succeeded at their first attempt. They are
	// counted by the hour and are not part of the other numbers, because no policy
	// retries them.
	FirstTry int64 `json:"first_try"`

	Recorded TrialNumbers `json:"recorded"` // how the calls ended on record
	// Trial has the numbers with the policy. An attempt at a time without a record is
	// assumed to end like the recorded one nearest in time.
	Trial TrialNumbers `json:"trial"`
	// Worst and Best are bounds: every attempt without a record fails, or succeeds.
	Worst TrialBound `json:"worst"`
	Best  TrialBound `json:"best"`
	// Estimate is how many of the unknown calls would have succeeded if attempts succeed
	// as often as those on record after the same type of error; nil if none is on record.
	Estimate *float64 `json:"estimate,omitempty"`

	Classes     []TrialClass `json:"classes"`     // the largest first
	Load        TrialLoad    `json:"load"`        // how many attempts start when
	Assumptions []string     `json:"assumptions"` // that the numbers rest on, in sentences; empty if none was needed
}

// TrialNumbers says how calls ended.
type TrialNumbers struct {
	Succeeded  int `json:"succeeded"`  // calls, as are the following
	Failed     int `json:"failed"`     // stopped by the policy, or after a terminal error
	Paused     int `json:"paused"`     // wait for a person
	Canceled   int `json:"canceled"`   // with their run or by its code
	Unfinished int `json:"unfinished"` // another attempt was to follow
	Unknown    int `json:"unknown"`    // they would have needed an attempt after the last one on record
	Attempts   int `json:"attempts"`   // up to where it is known

	// P50 and P99 are how long calls that succeeded took from when they were ready to
	// run; half of them, and 99 of 100, were not slower. 0 if none succeeded.
	P50 time.Duration `json:"p50"`
	P99 time.Duration `json:"p99"`
}

// TrialBound is a lower or upper bound on what the calls would have done.
type TrialBound struct {
	Succeeded int `json:"succeeded"` // calls
	Attempts  int `json:"attempts"`  // of all calls
	// More says that some calls would have made more attempts than the 1,000 beyond their
	// record that are counted.
	More bool `json:"more,omitempty"`
}

// TrialClass groups calls with the same ending on record and the same ending with the policy.
type TrialClass struct {
	Recorded string `json:"recorded"` // see EndedSucceeded
	Trial    string `json:"trial"`    // with the policy, one of the same
	Calls    int    `json:"calls"`    // in the class
	// Assumed is how many of them had an attempt at another time than on record. Of the
	// others everything is known.
	Assumed          int       `json:"assumed"`
	RecordedAttempts int       `json:"recorded_attempts"` // of all calls in the class, on record
	TrialAttempts    int       `json:"trial_attempts"`    // of all calls in the class, with the policy
	Example          TrialCall `json:"example"`           // the one with the greatest difference in attempts
}

// TrialCall is one call of a PolicyTrial.
type TrialCall struct {
	WorkflowID       string `json:"workflow_id"`       // of the run of the call
	RunID            string `json:"run_id"`            // of the run of the call
	Call             int64  `json:"call"`              // number in its run
	Name             string `json:"name"`              // of the activity or step
	RecordedAttempts int    `json:"recorded_attempts"` // on record
	TrialAttempts    int    `json:"trial_attempts"`    // with the policy, as far as it is known
}

// TrialLoad counts the attempts that start over time, in at most 50 equal spans; empty spans
// are left out.
type TrialLoad struct {
	Width  time.Duration `json:"width"`  // of a span
	Points []TrialPoint  `json:"points"` // by time
}

// TrialPoint counts the attempts that start in one span of a TrialLoad.
type TrialPoint struct {
	Time     time.Time `json:"time"`     // its beginning
	Recorded int       `json:"recorded"` // attempts that start in it, on record
	Trial    int       `json:"trial"`    // attempts that start in it, with the policy
	Worst    int       `json:"worst"`    // attempts that start in it, if every attempt without a record fails
}
