package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/internal/policyedit"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

var editPolicy = bulk(Command{
	On: Calls, Name: "edit-policy", Label: "Edit policy", Did: "given the policy", Named: true, Shown: true, Short: "Give calls another retry policy",
	Means: "What the policy names is changed, the rest stays: [retry: 20] allows 20 retries after the backoff that the call has. It holds from the next decision on; a backoff that has begun ends when it would have.",
	More: `With --replace, or with the name of a preset, the policy is the whole one.

Before it is done, also with --dry-run, the difference is shown for the calls, and what it
means for their attempts. The policy is text in brackets, JSON, the name of a preset, or -
to read it from standard input. See what one amounts to: perdure policy explain`,
	Example: `  perdure edit-policy order-17 --call 3 --policy '[retry: 20]' --reason "the outage is long"
  perdure edit-policy order-17 --call 3 --policy '[retry: 20, backoff: 1m]' --replace
  perdure edit-policy --all --activity charge --policy '[within: 12h]' --dry-run`,
}, func(p *policyParams) (Operation, error) {
	edit, op, err := p.Policy.operation(p.Replace)
	return Operation{calls: &op, effect: func(a *Ask, selected *view.BulkResult) (Effect, error) { return policyEffect(a, selected, edit) }}, err
})

type policyParams struct {
	Policy  PolicyEdit `json:"policy,omitzero" help:"the {policy}, or what of it is to change" label:"What is to change, as in [retry: 20]" need:"say what of it is to change, as in [retry: 20]"`
	Replace bool       `json:"replace,omitempty" help:"the policy is the whole one: what it does not name is as by default" label:"It is the whole policy: what it does not name is as by default"`
	Reason
}

// PolicyEdit is a policy, or what of it is to change: text, or in JSON an object.
type PolicyEdit struct {
	Text  string
	whole *retry.Policy // given as an object
}

// UnmarshalText reads it from text.
func (e *PolicyEdit) UnmarshalText(text []byte) error {
	*e = PolicyEdit{Text: string(text)}
	if strings.HasPrefix(strings.TrimSpace(e.Text), "{") {
		return e.UnmarshalJSON(text)
	}
	return nil
}

// UnmarshalJSON reads it from a text or an object.
func (e *PolicyEdit) UnmarshalJSON(data []byte) error {
	*e = PolicyEdit{}
	if json.Unmarshal(data, &e.Text) == nil {
		return nil
	}
	var p Policy
	err := p.UnmarshalJSON(data)
	if err == nil {
		*e = PolicyEdit{Text: p.String(), whole: &p.Policy}
	}
	return err
}

func (e PolicyEdit) String() string { return e.Text }

// operation returns the edit of a policy, and the operation.
func (e *PolicyEdit) operation(replace bool) (policyedit.Edit, ops.Operation, error) {
	whole := e.whole
	if p, ok := policyedit.Preset(e.Text); ok || replace && whole == nil {
		if !ok {
			var err error
			if p, err = policyedit.Read(e.Text); err != nil {
				return nil, ops.Operation{}, notPolicy(err)
			}
		}
		whole = &p
	}
	if whole != nil {
		return func(retry.Policy) (retry.Policy, error) { return *whole, nil }, ops.EditPolicy(*whole), nil
	}
	if _, err := (retry.Policy{}).Edit(e.Text); err != nil {
		return nil, ops.Operation{}, notPolicy(err)
	}
	return func(p retry.Policy) (retry.Policy, error) { return p.Edit(e.Text) }, ops.ChangePolicy(e.Text), nil
}

// notPolicy leaves an error of the notation as it is: faces point at the fault.
func notPolicy(err error) error {
	if _, ok := errors.AsType[*retry.NotationError](err); ok {
		return err
	}
	return param.Bad("policy", "", "cannot be used: %s", err.Error())
}

// policyEffect says what an edit means for the calls that a dry run selected.
func policyEffect(a *Ask, selected *view.BulkResult, edit policyedit.Edit) (e Effect, err error) {
	classes := policyedit.NewClasses(edit)
	err = classes.AddSelected(selected.Records, func(id string) ([]view.Call, error) {
		d, err := a.Engine.Workflow(id).Describe(a.Ctx)
		switch {
		case errors.Is(err, perdure.ErrNotFound):
			return nil, nil
		case err != nil:
			return nil, err
		}
		return d.Pending, nil
	})
	if call, ok := errors.AsType[*policyedit.CallError](err); ok {
		return e, param.Bad("policy", "", "cannot be that of call %d (%s) of workflow %q: %s", call.Call, call.Name, call.WorkflowID, call.Error())
	}
	if err != nil {
		return e, err
	}
	for _, c := range classes.All() {
		what := fmt.Sprintf("%s of %s, such as in %s: %s", human.Plural(c.Calls, "call", "calls"), c.Name, c.Example, c.States())
		if c.Calls == 1 {
			what = fmt.Sprintf("%s in %s (%s)", c.Name, c.Example, strings.TrimPrefix(c.States(), "1 "))
		}
		e.Diff = append(e.Diff, Difference{what, c.Before.String(), c.After.String(), c.Consequence(a.Now) + "."})
	}
	if seen := classes.Seen(); seen < selected.Calls && selected.Calls > len(selected.Records) {
		e.say(fmt.Sprintf("These are %s of the %s that are selected; the others are not looked at one by one.", human.Count(seen), human.Plural(selected.Calls, "call", "calls")))
	}
	return e, nil
}
