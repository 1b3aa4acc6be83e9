package cli

import (
	"context"
	"errors"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/policyedit"
	"github.com/perdure/perdure/view"
)

// showEdits shows what an edit changes for many calls, those that have the same policy
// together.
func (a *app) showEdits(ctx context.Context, e *perdure.Engine, selected view.BulkResult, edit policyedit.Edit) error {
	numbers := map[string][]int64{}
	var runs []string
	for _, r := range selected.Records {
		if numbers[r.WorkflowID] == nil {
			runs = append(runs, r.WorkflowID)
		}
		numbers[r.WorkflowID] = append(numbers[r.WorkflowID], r.Call)
	}
	classes := policyedit.NewClasses(edit)
	for _, id := range runs {
		d, err := e.Workflow(id).Describe(ctx)
		if errors.Is(err, perdure.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		for i := range d.Pending {
			if p := &d.Pending[i]; p.Policy != "" && slices.Contains(numbers[id], p.Call) {
				if err := classes.Add(id, p); err != nil {
					return usage("See: perdure policy explain --help", "Call %d (%s) of workflow %q cannot have that policy: %s", p.Call, p.Name, id, sentence(err))
				}
			}
		}
	}
	for _, c := range classes.All() {
		a.printf("%s (%s), such as in %s: %s\n  - %s\n  + %s\n  %s.\n\n", term.Plural(c.Calls, "call", "calls"), c.Name, c.Example, c.States(),
			c.Before, c.After, c.Consequence(a.env.Now()))
	}
	if seen := classes.Seen(); seen < selected.Calls && selected.Calls > len(selected.Records) {
		a.printf("These are %s of the %s that are selected; the others are not looked at one by one.\n\n", term.Count(seen), term.Plural(selected.Calls, "call", "calls"))
	}
	return nil
}
