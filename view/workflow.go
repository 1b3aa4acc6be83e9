package view

import "time"

// WorkflowStats says of one workflow who has it, how many of its runs are open, and how those
// went that began or ended lately. Of the open runs only the newest are counted, MaxWorkflowRuns
// over all workflows.
type WorkflowStats struct {
	Workflow string `json:"workflow"` // name of the definition, or of the flow file
	// Builds are the builds of the live nodes of the group that have it, by name. A flow file is
	// on no node by its own name.
	Builds []WorkflowBuild `json:"builds,omitempty"`

	Open int `json:"open"` // runs, whenever they were started
	Held int `json:"held"` // of these, those that wait for code or are parked

	Started   int `json:"started"`   // lately: their first turn was taken
	Completed int `json:"completed"` // lately, whenever they were started, as the next two
	Failed    int `json:"failed"`    // failed or timed out
	Canceled  int `json:"canceled"`  // canceled or terminated

	// Median and P95 are the times from the start to the end that half and 95 of 100 of those did
	// not exceed that completed or failed; 0 if there are none. They are within a half of the truth.
	Median time.Duration `json:"median"`
	P95    time.Duration `json:"p95"`

	Latest  *time.Time `json:"latest,omitempty"`   // the hour in which the latest of Started began, nil if there is none
	AtLeast bool       `json:"at_least,omitempty"` // there are more open runs than were counted
}

// MaxWorkflowRuns is how many open runs are counted for WorkflowStats.
const MaxWorkflowRuns = 5000

// WorkflowBuild is a build that has a workflow.
type WorkflowBuild struct {
	Build   string `json:"build"`             // see Node.Build
	Version string `json:"version,omitempty"` // workflow.Version, "" if it declares none
	Nodes   int    `json:"nodes"`             // live nodes of that build
}
