package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/workflow"
)

func init() { shapes = append(shapes, versionShape) }

// versionShape asks for versions of changes, before and after it waits, and says
// where it is. A run that forgot a version would call something else.
var versionShape = shape{
	name: "version-marks",
	flow: func(*book) workflow.Func[string, string] {
		return func(wf *workflow.Context, in string) (string, error) {
			pick := func(change string, latest int) activity.Activity[string, string] {
				return []activity.Activity[string, string]{cleanup, work, more}[workflow.VersionOf(wf, change, 0, latest)]
			}
			for round := range 3 {
				workflow.SetStatus(wf, fmt.Sprintf("round %d of 3", round+1))
				var err error
				if in, err = workflow.Call(wf, pick("who", 1), in); err != nil {
					return "", err
				}
				if round > 0 {
					in, err = workflow.Call(wf, pick("and-then", 2), in)
				}
				if err != nil {
					return "", err
				}
				if err := workflow.Sleep(wf, 10*time.Minute); err != nil {
					return "", err
				}
			}
			workflow.SetStatus(wf, "all rounds made")
			return in, nil
		}
	},
	bodies: func(*book) bodies {
		return bodies{"work": after(time.Second), "more": after(time.Second), "cleanup": after(time.Second)}
	},
	meddle: func(t *testing.T, env *perduretest.Env) {
		time.Sleep(time.Minute) // in the first round, whatever happens
		d, err := env.Engine().Workflow(theID).Describe(t.Context())
		if err != nil {
			t.Error(err)
		} else if d.CustomStatus != "round 1 of 3" {
			t.Errorf("after a minute the run says %q", d.CustomStatus)
		}
	},
}
