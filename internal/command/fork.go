package command

import (
	"encoding/json"
	"fmt"

	"github.com/perdure/perdure/ops"
)

var forkRun = Row(Command{
	On: Runs, Name: "fork", Address: "POST /api/runs/{id}/fork", Short: "Start a copy of a workflow that continues from one of its calls", NoKey: true,
	Means: "A workflow under a new ID continues from a call of another one, which is not touched. With another input of the call, if it is of an activity or a child, or of the workflow, it continues from there with it. If its code then does something else before that call, it is parked with the difference.",
	More:  "See also: perdure reset",
	Example: `  perdure fork order-17 order-17-again --call 4
  perdure fork order-17 what-if --call 4 --call-input '{"cents": 100}'`,
}, func(a *Ask, p *fork) (f Forked, e Effect, err error) {
	if p.Call < 1 {
		return f, e, noCall(p.Call)
	}
	spec := ops.ForkSpec{WorkflowID: a.Name, RunID: p.Run, NewID: p.NewID, Call: p.Call, KeepKeys: p.KeepKeys}
	if p.Input != nil {
		spec.Input = p.Input
	}
	if p.CallInput != nil {
		spec.CallInput = p.CallInput
	}
	f = Forked{WorkflowID: p.NewID, DryRun: p.DryRun}
	if p.DryRun {
		f.Keeps, err = ops.PreviewFork(a.Ctx, a.Engine, spec)
		e.say("Would fork: " + f.Keeps + ".")
		return f, e, err
	}
	done, err := ops.Fork(a.Ctx, a.Engine, spec, ops.By(a.By), ops.Why(p.Why))
	f.RunID, f.Attached, e.Run = done.RunID, done.Attached, p.NewID
	e.Done = fmt.Sprintf("Workflow %s continues from call %d of %s.", p.NewID, p.Call, a.Name)
	if f.Attached {
		e.Done = "Workflow " + p.NewID + " was forked before."
	}
	return f, e, err
})

type fork struct {
	NewID     string          `json:"new_id" arg:"NEWID" help:"workflow ID of the new run" label:"Workflow ID of the new run" need:"choose the workflow ID of the new run"`
	Run       string          `json:"run,omitempty" help:"{ID} of an earlier run of the chain; see: perdure show" label:"Run ID" hint:"empty: the latest run"`
	Call      int64           `json:"call" help:"{number} of the first call that runs again" label:"Number of the first call that the new run makes" hint:"as the history shows it" need:"name the first one that the new run makes again, as histories number it"`
	KeepKeys  bool            `json:"keep_keys,omitempty" help:"calls that run again keep their idempotency keys"`
	Input     json.RawMessage `json:"input,omitempty" kind:"text" help:"another input of the workflow, as {JSON}" label:"Another input of the workflow, as JSON" hint:"may be empty"`
	CallInput json.RawMessage `json:"call_input,omitempty" kind:"text" help:"another input of the call, as {JSON}" label:"Another input of the call, as JSON" hint:"may be empty"`
	Reason
}

// Forked is the result of a fork.
type Forked struct {
	WorkflowID string `json:"workflow_id" doc:"of the new run"`
	RunID      string `json:"run_id,omitempty" doc:"of the new run; absent in a dry run"`
	Attached   bool   `json:"attached,omitempty" doc:"it was there already, from the same request"`
	DryRun     bool   `json:"dry_run,omitempty" doc:"nothing was started"`
	Keeps      string `json:"keeps,omitempty" doc:"of a dry run: what the new run would take over, in a sentence"`
}
