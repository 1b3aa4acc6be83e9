package view

import (
	"errors"
	"fmt"
	"strings"
)

// CodeFilter selects the open runs of a CodeCheck. The zero value selects all.
type CodeFilter struct {
	Workflow string // name of the definition
	IDPrefix string // of the workflow ID
	// Sample is how many runs of each workflow are replayed; 0: all. The choice of runs
	// is stable: it does not depend on which others are open.
	Sample int
	Limit  int // of findings that are listed; 0: 1,000. All are counted.
	// Progress is called after every hundred runs, and at the end, with how many have
	// been checked. It may be nil.
	Progress func(checked int)
}

// The verdicts of CheckCode on a run.
const (
	CodeFits       = "fits"       // the run continues
	CodeParks      = "parks"      // the code makes other calls than the history has, panics, or does not yield
	CodeMissing    = "no code"    // its workflow is not registered
	CodeUnreadable = "unreadable" // its history cannot be read, whatever the code
)

// CodeCheck is the result of ops.CheckCode: the open runs that could not continue with
// the code.
type CodeCheck struct {
	// OK says that no further run would stop: every run that does not fit has stopped for
	// that reason already.
	OK bool `json:"ok"`

	Open     int           `json:"open"`    // runs that are open and selected
	Checked  int           `json:"checked"` // of these, those that were looked at
	Types    []CodeType    `json:"types"`   // by name
	Findings []CodeFinding `json:"findings"`
	More     int           `json:"more,omitempty"` // findings that are not listed
}

// CodeType sums up the runs of one workflow.
type CodeType struct {
	Workflow   string `json:"workflow"`
	Open       int    `json:"open"`
	Checked    int    `json:"checked"`
	Fits       int    `json:"fits"`
	Parks      int    `json:"parks"`
	NoCode     int    `json:"no_code"`
	Unreadable int    `json:"unreadable"`
	Stops      int    `json:"stops"` // runs that do not fit and have not stopped yet
}

// CodeFinding is a run that could not continue. Its texts have no payloads.
type CodeFinding struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	Workflow   string `json:"workflow"` // name of the definition
	Status     string `json:"status"`   // as it is now, see StatusRunning
	Verdict    string `json:"verdict"`  // see CodeFits
	Stops      bool   `json:"stops"`    // the run has not stopped, and would stop with this code
	// Build is the build to which the run is pinned (see workflow.Pinned), empty for
	// none. If the code is another build, the run stops only if it is moved to it.
	Build  string `json:"build,omitempty"`
	Reason string `json:"reason"`
	// Turn and Command are the place of the first difference, from 1. Recorded is what
	// the history has there, Asked the call that the code makes. They are 0 and empty if
	// the code does not differ.
	Turn     int64  `json:"turn,omitempty"`
	Command  int    `json:"command,omitempty"`
	Recorded string `json:"recorded,omitempty"`
	Asked    string `json:"asked,omitempty"`
	Stack    string `json:"stack,omitempty"` // of a panic or of code that does not end
}

// Err returns nil if OK, else an error that lists the first findings, for tests and logs.
func (c *CodeCheck) Err() error {
	if c.OK {
		return nil
	}
	var b strings.Builder
	stops, listed := 0, 0
	for _, t := range c.Types {
		stops += t.Stops
	}
	fmt.Fprintf(&b, "%d of %d open runs that were looked at would stop with this code:", stops, c.Checked)
	const most = 20
	for i := range c.Findings {
		f := &c.Findings[i]
		if !f.Stops {
			continue
		}
		if listed++; listed > most {
			continue
		}
		fmt.Fprintf(&b, "\n  %s %q, run %s, %s: %s", f.Workflow, f.WorkflowID, f.RunID, f.Verdict, f.Reason)
	}
	if left := stops - min(listed, most); left > 0 {
		fmt.Fprintf(&b, "\n  and %d more", left)
	}
	return errors.New(b.String())
}
