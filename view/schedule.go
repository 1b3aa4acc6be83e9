package view

import (
	"time"

	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/schedule"
)

// Schedule is a schedule with its fires.
type Schedule struct {
	Name     string        `json:"name"`           // unique in its group
	Spec     schedule.Spec `json:"spec"`           // when it fires
	Workflow string        `json:"workflow"`       // name of the definition that it starts
	Input    Payload       `json:"input,omitzero"` // of the runs that it starts
	Memo     Payload       `json:"memo,omitzero"`  // of the runs that it starts, see workflow.Memo
	Set      time.Time     `json:"set"`            // when it was created or changed

	// Of the runs that it starts, see the options of package workflow; zero where it says nothing.
	Priority     int               `json:"priority,omitempty"`      // from -1000 to 1000: waiting calls of higher ones go first
	Key          string            `json:"key,omitempty"`           // where runs and calls wait, keys take turns
	Weight       int               `json:"weight,omitempty"`        // of the key, 0 for 1
	Attributes   map[string]string `json:"attributes,omitempty"`    // by which they are found
	Retry        *retry.Policy     `json:"retry,omitempty"`         // by which a run that fails is started again; nil: that of the code
	RunTimeout   time.Duration     `json:"run_timeout,omitempty"`   // limits each run
	ChainTimeout time.Duration     `json:"chain_timeout,omitempty"` // limits all runs of a chain together

	Paused *Pause `json:"paused,omitempty"` // who paused the schedule, nil if it is not paused
	// Problem says why the schedule cannot fire: for example, its node does not know
	// the time zone. It is empty if the schedule can.
	Problem string `json:"problem,omitempty"`

	Next    []UpcomingFire `json:"next,omitempty"`    // the next five, earliest first
	Open    []Fire         `json:"open,omitempty"`    // fires whose runs are open, earliest first
	Waiting []Fire         `json:"waiting,omitempty"` // fires that wait for these runs to close, in their order
	Recent  []Fire         `json:"recent,omitempty"`  // the last 20 that ended, latest first

	// Log has the requests of people to the schedule, latest first: the last hundred.
	Log []AuditRecord `json:"log,omitempty"`

	Started int64 `json:"started"` // fires that started a run
	Skipped int64 `json:"skipped"` // because of overlap, or of a pause while they waited
	Missed  int64 `json:"missed"`  // because no node was up within CatchUp
}

// UpcomingFire is a nominal time in the future.
type UpcomingFire struct {
	Nominal time.Time `json:"nominal"` // at which the spec lets it fire, without jitter
	Due     time.Time `json:"due"`     // nominal time and jitter: when it fires
}

// Fire is a nominal time that was reached.
type Fire struct {
	Nominal    time.Time `json:"nominal"`          // time of the spec, without jitter; of a trigger when it came
	Kind       string    `json:"kind,omitempty"`   // trigger or backfill; empty of a regular one
	WorkflowID string    `json:"workflow_id"`      // of the runs that it starts
	RunID      string    `json:"run_id,omitempty"` // its first run
	Since      time.Time `json:"since"`            // it was started, or waits
	By         string    `json:"by,omitempty"`     // who triggered it
	Why        string    `json:"why,omitempty"`    // reason that was given for a trigger or backfill; empty if none was

	// Status, Closed and Error are those of a fire that ended. Status is completed,
	// failed, canceled or terminated; id-in-use if the workflow ID belonged to another
	// run.
	Status string     `json:"status,omitempty"`
	Closed *time.Time `json:"closed,omitempty"`
	Error  string     `json:"error,omitempty"`
}

// ScheduledBy is the fire that started a chain of runs.
type ScheduledBy struct {
	Name    string    `json:"name"`    // of the schedule
	Nominal time.Time `json:"nominal"` // time of the spec, without jitter
}
