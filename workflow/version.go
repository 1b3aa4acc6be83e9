package workflow

import (
	"fmt"

	"github.com/perdure/perdure/internal/history"
)

// VersionOf lets code be changed while runs of it are under way. Where the code
// was changed it asks which version of the change this run has, and does as that
// version did:
//
//	if workflow.VersionOf(wf, "check-first", 0, 1) == 0 {
//		... // as it was before
//	} else {
//		... // as it is now
//	}
//
// The first time a run comes here it gets the latest version, which is recorded:
// the run keeps it, even in a loop and when latest rises later. A run that had
// come by before the code asked has version 0. The least is the oldest version that
// the code still has a way for: raise it when no run of an older one is left, and
// take the mark out when no open run has it on record.
//
// A run whose version is not in the range is parked, as is one that has a mark
// which the code lacks: both go on with code that suits them. The name of a change
// is unique in its workflow. Versions count from 0; a range that is none, or a name
// that cannot be recorded, panics, which parks the run.
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
