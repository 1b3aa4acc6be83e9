package view

import "time"

// WorkflowStats says of one workflow who has it, how many of its runs are open, and how those
// ended that were started lately. Only the newest runs are counted, MaxWorkflowRuns of the open
// ones and as many of those that were started lately, over all workflows.
type WorkflowStats struct {
	Workflow string `json:"workflow"` // name of the definition, or of the flow file
	// Builds are the builds of the live nodes of the group that have it, by name. A flow file is
	// on no node by its own name.
	Builds []WorkflowBuild `json:"builds,omitempty"`

	Open int `json:"open"` // runs, whenever they were started
	Held int `json:"held"` // of these, those that wait for code or are parked

	Started   int `json:"started"`   // lately, also those that are open
	Completed int `json:"completed"` // of these
	Failed    int `json:"failed"`    // of these: failed or timed out
	Canceled  int `json:"canceled"`  // of these: canceled or terminated

	// Median and P95 are the times from the start to the end that half and 95 of 100 of Completed
	// did not exceed; 0 if there are none.
	Median time.Duration `json:"median"`
	P95    time.Duration `json:"p95"`

	Latest  *time.Time `json:"latest,omitempty"`   // the latest start of those counted, nil if there is none
	AtLeast bool       `json:"at_least,omitempty"` // there are more runs than were counted
}

// MaxWorkflowRuns is how many runs are counted for WorkflowStats: of the open ones, and of those
// that were started lately.
const MaxWorkflowRuns = 5000

// WorkflowBuild is a build that has a workflow.
type WorkflowBuild struct {
	Build   string `json:"build"`             // see Node.Build
	Version string `json:"version,omitempty"` // workflow.Version, "" if it declares none
	Nodes   int    `json:"nodes"`             // live nodes of that build
}
