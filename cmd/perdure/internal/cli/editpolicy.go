package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
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
	whole, err := a.policyValue(text) // what is no policy changes none either
	if err != nil {
		return action{}, err
	}
	edit, op := func(p retry.Policy) (retry.Policy, error) { return p.Edit(text) }, ops.ChangePolicy(text)
	if r.replace || isPreset(text) {
		edit, op = func(retry.Policy) (retry.Policy, error) { return whole, nil }, ops.EditPolicy(whole)
	}
	act := onCalls(op)(r)
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

// selects reports whether a call is one of those that a filter selects.
func selects(f *view.CallFilter, p *view.Call) bool {
	return (f.Call == 0 || f.Call == p.Call) && (f.Name == "" || f.Name == p.Name) &&
		(len(f.States) == 0 || slices.Contains(f.States, p.State)) && (f.ErrorType == "" || f.ErrorType == p.LastErrorType)
}

// valid edits a policy, and refuses what would be none.
func valid(edit func(retry.Policy) (retry.Policy, error), before retry.Policy) (retry.Policy, error) {
	after, err := edit(before)
	if err == nil {
		err = after.Validate()
	}
	return after, err
}

// showEdit shows what an edit changes for a call, and what that means for its attempts.
func (a *app) showEdit(p *view.Call, edit func(retry.Policy) (retry.Policy, error)) error {
	before, err := retry.Parse(p.Policy)
	if err != nil {
		return err
	}
	after, err := valid(edit, before)
	if err != nil {
		return usage("See: perdure policy explain --help", "Call %d (%s) cannot have that policy: %s", p.Call, p.Name, sentence(err))
	}
	a.printf("Call %d (%s):\n  - %s\n  + %s\n", p.Call, p.Name, before, after)
	a.printf("  %s; %s; %s.\n\n", a.nextAttempt(p), attemptsLeft(p, before, after), lastStart(p, after))
	return nil
}

// nextAttempt says when a call is tried next, which no edit changes.
func (a *app) nextAttempt(p *view.Call) string {
	next := "the next attempt starts as before"
	switch {
	case p.State == view.CallBackoff && p.Next != nil:
		next = "the next attempt is due as before, " + term.Until(*p.Next, a.env.Now())
	case p.State == view.CallRunning || p.State == view.CallExternal:
		next = "the attempt that runs goes on as before"
	}
	return next
}

// attemptsLeft says how many failures a call may still have.
func attemptsLeft(p *view.Call, before, after retry.Policy) string {
	return fmt.Sprintf("%s attempts are left, instead of %s", leftText(remaining(p, after)), leftText(remaining(p, before)))
}

// remaining is how many failures a call may still have under a policy; retry.Unlimited if any
// number.
func remaining(p *view.Call, policy retry.Policy) int {
	if limit := policy.AttemptLimit(); limit < retry.Unlimited {
		return max(0, limit-p.Failures)
	}
	return retry.Unlimited
}

func leftText(n int) string {
	if n == retry.Unlimited {
		return "any number of"
	}
	return fmt.Sprint(n)
}

// lastStart says when the last attempt may start.
func lastStart(p *view.Call, after retry.Policy) string {
	if w := after.Within; w > 0 && w != retry.Forever {
		return "none starts after " + term.Time(p.Scheduled.Add(w))
	}
	return "no time ends them"
}
