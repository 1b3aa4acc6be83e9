package view

import "time"

// Changes lists what happened in a group in the last hour, as far as the database still has it.
// Ended runs and failed attempts are elsewhere in a Status.
type Changes struct {
	Since time.Time `json:"since"` // an hour before the Status

	// Nodes are the nodes and workers, by name, of which a process ended since: those that
	// died first, at most ten. MoreNodes is how many others there are.
	Nodes     []NodeChange `json:"nodes,omitempty"`
	MoreNodes int          `json:"more_nodes,omitempty"`
	// Forgotten says that all processes that the database remembers ended since, so there may
	// have been more.
	Forgotten bool `json:"forgotten,omitempty"`
	// Joined is how many live nodes and workers with other names joined since.
	Joined int `json:"joined,omitempty"`

	// Builds are those of the live nodes that serve runs, the oldest first; none unless there
	// are several.
	Builds []ServingBuild `json:"builds,omitempty"`
	// Suspects are calls and runs that may have crashed their processes. They are tried apart
	// from all other work.
	Suspects []Suspect `json:"suspects,omitempty"`

	// Operations are the latest operations on activities, builds, gates and schedules since, at
	// most five, latest first. Those on runs are in the histories of the runs and not read
	// here: see ops.Audit.
	Operations     []AuditRecord `json:"operations,omitempty"`
	MoreOperations int           `json:"more_operations,omitempty"` // earlier ones
}

// NodeChange counts the processes with one node name that ended recently.
type NodeChange struct {
	Name   string `json:"name"`             // see perdure.NodeName
	Worker bool   `json:"worker,omitempty"` // it serves only queues
	Build  string `json:"build,omitempty"`  // of the process that ended last
	// Died is how many ended without leaving: another one took their name, or their lease
	// expired, so that they are dead, stand still or are cut off. Left is how many stopped in
	// order.
	Died int       `json:"died,omitempty"`
	Left int       `json:"left,omitempty"`
	Last time.Time `json:"last"`           // when the last of them ended
	Live bool      `json:"live,omitempty"` // a process with that name lives
}

// ServingBuild is a build that nodes have which serve runs.
type ServingBuild struct {
	Build string    `json:"build"` // see perdure.Build
	Nodes int       `json:"nodes"` // live ones that have it
	Since time.Time `json:"since"` // when the first of these nodes joined
}

// Suspect groups calls of an activity, or runs of a workflow, that may have crashed their
// processes.
type Suspect struct {
	Activity string `json:"activity,omitempty"` // of calls; empty for runs, whose code is suspected
	Workflow string `json:"workflow"`           // of the example: name of the definition
	Count    int    `json:"count"`              // calls, or runs
	// Deaths is how many processes died while the example alone was tried.
	Deaths     int    `json:"deaths,omitempty"`
	WorkflowID string `json:"workflow_id"`    // of the example, the one with the most deaths
	RunID      string `json:"run_id"`         // of the example
	Call       int64  `json:"call,omitempty"` // number of the example in its run; 0 of a run
}
