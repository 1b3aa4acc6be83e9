package cli

import (
	"context"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/operation"
	"github.com/perdure/perdure/internal/policyedit"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// prepareEdit prepares the operation edit-policy.
func (a *app) prepareEdit(r *request) (action, error) {
	text, err := a.textValue("policy", r.text)
	if err != nil {
		return action{}, err
	}
	edit, op := policyedit.Edit(func(p retry.Policy) (retry.Policy, error) { return p.Edit(text) }), ops.ChangePolicy(text)
	if r.replace || isPreset(text) {
		whole, err := a.policyValue(text)
		if err != nil {
			return action{}, err
		}
		edit, op = func(retry.Policy) (retry.Policy, error) { return whole, nil }, ops.EditPolicy(whole)
	}
	if _, err := edit(retry.Policy{}); err != nil {
		return action{}, notPolicy(text, err)
	}
	act := carry(operation.OnCalls(op))
	act.before = func(ctx context.Context, e *perdure.Engine, id string) error {
		d, err := e.Workflow(id).Describe(ctx)
		if err != nil {
			return err
		}
		for i := range d.Pending {
			if p := &d.Pending[i]; p.Policy != "" && selects(&r.calls, p) {
				if err := a.showEdit(p, edit); err != nil {
					return err
				}
			}
		}
		return nil
	}
	act.beforeAll = func(ctx context.Context, e *perdure.Engine, selected view.BulkResult) error {
		return a.showEdits(ctx, e, selected, edit)
	}
	return act, nil
}

func isPreset(name string) bool {
	for _, p := range presets {
		if p.name == name {
			return true
		}
	}
	return false
}

// selects reports whether a filter selects a call.
func selects(f *view.CallFilter, p *view.Call) bool {
	return (f.Call == 0 || f.Call == p.Call) && (f.Name == "" || f.Name == p.Name) &&
		(len(f.States) == 0 || slices.Contains(f.States, p.State)) && (f.ErrorType == "" || f.ErrorType == p.LastErrorType)
}

// showEdit shows what an edit changes for a call, and the effect on its attempts.
func (a *app) showEdit(p *view.Call, edit policyedit.Edit) error {
	c, err := policyedit.Of(p, edit, a.env.Now())
	if err != nil {
		return usage("See: perdure policy explain --help", "Call %d (%s) cannot have that policy: %s", p.Call, p.Name, human.Sentence(err.Error()))
	}
	a.printf("Call %d (%s):\n  - %s\n  + %s\n  %s.\n\n", p.Call, p.Name, c.Before, c.After, c.Consequence)
	return nil
}
