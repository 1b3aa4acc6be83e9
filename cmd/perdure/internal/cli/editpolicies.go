package cli

import (
	"context"
	"errors"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/policyedit"
	"github.com/perdure/perdure/view"
)

// showEdits shows what an edit changes for several calls, grouped by their policy.
func (a *app) showEdits(ctx context.Context, e *perdure.Engine, selected view.BulkResult, edit policyedit.Edit) error {
	classes := policyedit.NewClasses(edit)
	err := classes.AddSelected(selected.Records, func(id string) ([]view.Call, error) {
		d, err := e.Workflow(id).Describe(ctx)
		if errors.Is(err, perdure.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return d.Pending, nil
	})
	if call, ok := errors.AsType[*policyedit.CallError](err); ok {
		return usage("See: perdure policy explain --help", "Call %d (%s) of workflow %q cannot have that policy: %s", call.Call, call.Name, call.WorkflowID, human.Sentence(call.Error()))
	}
	if err != nil {
		return err
	}
	for _, c := range classes.All() {
		a.printf("%s (%s), such as in %s: %s\n  - %s\n  + %s\n  %s.\n\n", human.Plural(c.Calls, "call", "calls"), c.Name, c.Example, c.States(),
			c.Before, c.After, c.Consequence(a.env.Now()))
	}
	if seen := classes.Seen(); seen < selected.Calls && selected.Calls > len(selected.Records) {
		a.printf("These are %s of the %s that are selected; the others are not looked at one by one.\n\n", human.Count(seen), human.Plural(selected.Calls, "call", "calls"))
	}
	return nil
}
