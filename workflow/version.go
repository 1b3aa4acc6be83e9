package workflow

import (
	"fmt"

	"github.com/perdure/perdure/internal/history"
)

// VersionOf allows code to be changed while it has open runs. At the change, the code
// asks which version of the change this run has, and does what that version did:
//
//	if workflow.VersionOf(wf, "check-first", 0, 1) == 0 {
//		... // as it was before
//	} else {
//		... // as it is now
//	}
//
// When a run first reaches the call, it gets the latest version, which is recorded: the
// run keeps it, even in a loop and when latest rises later. A run that passed this place
// before the code had the call gets version 0. least is the oldest version that the code
// still supports: raise it when no run of an older version is left, and remove the call
// when no open run has it on record.
//
// A run whose version is not in the range is parked, and so is a run with a recorded
// version for which the code has no call: both continue with code that fits. The name of
// a change is unique in its workflow. Versions count from 0. An invalid range or name
// panics, which parks the run.
func VersionOf(wf *Context, change string, least, latest int) int {
	wf.enter()
	if err := history.CheckName("name of a change", change); err != nil {
		panic(err)
	}
	if least < 0 || latest < 1 || least > latest {
		panic(fmt.Errorf("the change %q has versions from %d to %d: versions count from 0, which is the code before the change, and the latest is at least 1", change, least, latest))
	}
	return wf.instance.run.Version(change, least, latest)
}
