package view

import "time"

// FileAttribute is the attribute of runs of flow files that names their file. Its value is
// shown as the workflow of the run, and a Filter finds them by it.
const FileAttribute = "file"

// FlowWorkflow is the name of the workflow that runs flow files, and FlowEnding that of the
// names of the files.
const (
	FlowWorkflow = "flow"
	FlowEnding   = ".flow"
)

// Filter selects runs. A run is selected if it matches all fields. The zero value
// selects all.
//
// Call is a state of calls: CallQueued, CallOffered, CallGated, CallBackoff,
// CallExternal, CallPaused or CallQuarantined. In listings CallPaused selects runs with a
// call that Rests, and CallRetrying runs with a call that Retries; in operations only the
// state of a call counts.
type Filter struct {
	Status     []string          // any of these, see StatusRunning; empty: any
	Workflow   string            // name of the definition, or of a flow file (see FileAttribute)
	Key        string            // of the run, see workflow.Key; empty: any
	IDPrefix   string            // of the workflow ID
	Call       string            // runs with a call in this state; empty: any
	ErrorType  string            // runs with a call whose latest attempt in the ledger ended with this type of error
	Attributes map[string]string // all of these
	// Text finds runs in whose workflow ID, input, memo, result, error, status text or attributes
	// it occurs, whatever the case of its letters. No index serves it: a search looks at about
	// 5,000 runs. Operations on all runs that match do not take it.
	Text   string
	Since  time.Time // only runs created at this time or later; zero: all
	Until  time.Time // only runs created before this time; zero: all
	Before string    // run ID of the last run of the page before; empty: the first page
	Limit  int       // per page, at most 1,000,000; 0: 100
	Waits  bool      // set Run.Wait, which costs a few reads for each open run
}
