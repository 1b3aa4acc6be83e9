package view

import "time"

// ActivityStats says how the calls of one activity or step of one workflow ended. Blocks
// of code that are retried are counted separately from the calls in them, under the name
// workflow.Retry: a try is an attempt.
//
// The numbers are exact for closed runs. Of an open run, fewer than 32 recent successes
// at the first attempt may not be counted yet.
type ActivityStats struct {
	Workflow string `json:"workflow"` // name of the definition, or of the flow file
	Name     string `json:"name"`     // of the activity or step

	Calls     int64 `json:"calls"`     // that have ended
	FirstTry  int64 `json:"first_try"` // succeeded at the first attempt
	Recovered int64 `json:"recovered"` // succeeded later
	Exhausted int64 `json:"exhausted"` // used up their attempts, time or budget
	Failed    int64 `json:"failed"`    // were stopped for another reason
	Canceled  int64 `json:"canceled"`  // were canceled, by themselves or with their run
	ByHand    int64 `json:"by_hand"`   // skipped or failed by a person
	Attempts  int64 `json:"attempts"`  // of all of them

	// Retrying is the time from the end of the first attempt to the end of the call,
	// summed over the calls with more than one attempt.
	Retrying time.Duration `json:"retrying"`
	// MeanRetrying is Retrying divided by the calls that did not succeed at the first
	// attempt; 0 if there are none.
	MeanRetrying time.Duration `json:"mean_retrying"`

	// Median and P95 are the times from when a call was scheduled to its end that half and 95 of
	// 100 of those did not exceed that succeeded, exhausted or failed; 0 if there are none. They
	// are within a half of the truth.
	Median time.Duration `json:"median"`
	P95    time.Duration `json:"p95"`

	// FirstTryRate is FirstTry divided by the calls that were neither canceled nor
	// ended by hand; 0 if there are none.
	FirstTryRate float64 `json:"first_try_rate"`
	// AttemptsPerCall is the mean number of attempts, 0 without calls.
	AttemptsPerCall float64 `json:"attempts_per_call"`
}

// HourFilter selects what is counted by the hour.
type HourFilter struct {
	Workflow string // name of the definition, or of the flow file; empty: all
	Activity string // of the activity or step, whose calls are counted; empty: runs are
	// Since and Until bound the hours: the first has Since in it, and the last begins before
	// Until. There are at most MaxHours.
	Since, Until time.Time
}

// MaxHours is how many hours are counted at a time.
const MaxHours = 24 * 31

// HourStats says how runs began and ended in an hour, or how calls ended.
type HourStats struct {
	Hour time.Time `json:"hour"` // when it began

	Started   int64 `json:"started"`   // runs; calls are not counted when they start
	Completed int64 `json:"completed"` // with a result
	Failed    int64 `json:"failed"`    // failed, exhausted or timed out
	Canceled  int64 `json:"canceled"`  // canceled, terminated or ended by hand
	// Attempts are those of the calls that ended in the hour, also where runs are counted.
	Attempts int64 `json:"attempts"`

	// Median and P95 are as in ActivityStats and WorkflowStats.
	Median time.Duration `json:"median"`
	P95    time.Duration `json:"p95"`
}

// ErrorStats says how often attempts of an activity or step ended with a type of error.
type ErrorStats struct {
	Name      string `json:"name"`       // of the activity or step
	ErrorType string `json:"error_type"` // type of the error, see retry.TypeName
	Attempts  int    `json:"attempts"`   // that ended with it, and questions about attempts that did
	Calls     int    `json:"calls"`      // to which these belong
	Recovered int    `json:"recovered"`  // of these calls, those that succeeded in the end

	RecoveredShare float64   `json:"recovered_share"` // Recovered / Calls
	First          time.Time `json:"first"`           // end of the earliest of the attempts
	Last           time.Time `json:"last"`            // end of the latest

	Example FoundAttempt `json:"example"` // the latest one
}

// MaxErrors is how many failed attempts are counted, the latest, for the errors of an hour in
// Status, and for those of a page of the dashboard.
const MaxErrors = 10_000

// Counts says how many runs and calls are in which state.
type Counts struct {
	Runs  map[string]int `json:"runs"`  // by status, see StatusRunning
	Calls map[string]int `json:"calls"` // by state, see CallRunning; a running first attempt is not counted

	// Away is how many open runs another node serves than the one that owns their partition:
	// they moved there because its code fits them.
	Away int `json:"away,omitempty"`

	// NextRetry is when the next call ends its backoff, nil if none is in backoff.
	NextRetry *time.Time `json:"next_retry,omitempty"`

	// Most is set if counting stopped somewhere: a number that has reached it says how many
	// there are at least. Completed runs are counted as all that are nothing else: if another
	// number of runs has reached Most, they are not among Runs.
	Most int `json:"most,omitempty"`
}

// More reports whether there may be more than a number of c says.
func (c *Counts) More(n int) bool { return c.Most > 0 && n >= c.Most }

// MaxCounted is how far Status counts runs and calls of a state.
const MaxCounted = 100_000
