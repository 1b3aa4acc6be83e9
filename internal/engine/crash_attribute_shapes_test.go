package engine_test

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workflow"
)

// relabeled changes what its run is found by, before and after calls, and what the next
// run of its chain has from it.
var relabeled = shape{
	name:  "attributes",
	start: []perdure.StartOption{workflow.Attributes(map[string]string{"stage": "new", "tier": "gold"})},
	flow: func(*book) workflow.Func[string, string] {
		return func(wf *workflow.Context, in string) (string, error) {
			if err := workflow.SetAttribute(wf, "stage", in); err != nil {
				return "", err
			}
			out, err := workflow.Call(wf, work, in)
			if err != nil {
				return "", err
			}
			workflow.RemoveAttribute(wf, "tier")
			if err := workflow.SetAttribute(wf, "after "+in, out); err != nil || in != "in" {
				return out, err
			}
			return workflow.ContinueAsNew(wf, theFlow, out)
		}
	},
	bodies: someFaster,
}
