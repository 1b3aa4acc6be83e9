package dashboard

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/operation"
	"github.com/perdure/perdure/internal/policyedit"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// patience is how long a page waits for an operation. What is not done by then is in the
// database and will be done.
const patience = 8 * time.Second

// target is what an operation applies to, as in the address: one run, one call, some runs
// chosen in the list, or all that a filter selects.
type target struct {
	op     *action
	id     string
	number int64 // of the call; 0: the run, or all calls that the filter selects
	all    bool
	chosen []string // workflow IDs
	picked int      // how many were chosen, in chosen or in the selection
	filter runFilter
	name   string // of the activity or step; empty: any
	policy string // for an edit, as text

	selection string // of the dry run that was shown, for many runs; empty: none was
}

func targetOf(v url.Values) (t target, err error) {
	if t.op, err = operationNamed(v.Get("op")); err != nil {
		return t, err
	}
	t.id, t.all, t.filter, t.name, t.policy = v.Get("id"), v.Get("all") != "", filterOf(v), v.Get("name"), v.Get("policy")
	if n := v.Get("number"); n != "" {
		if t.number, err = strconv.ParseInt(n, 10, 64); err != nil || t.number < 1 {
			return t, &badRequest{fmt.Sprintf("%q is no number of a call.", n), "Choose the call on the page of its run."}
		}
	}
	if t.chosen, err = chosenIn(v); err != nil {
		return t, err
	}
	t.picked = len(t.chosen)
	if n := v.Get("chosen"); n != "" && t.picked == 0 {
		if t.picked, err = strconv.Atoi(n); err != nil || t.picked < 1 || t.picked > pageRuns {
			return t, &badRequest{fmt.Sprintf("%q is no number of runs that can be chosen.", n), "Choose them in the list of runs."}
		}
	}
	if t.id == "" && !t.many() {
		return t, &badRequest{"The address says not which run.", "Choose one in the list of runs."}
	}
	return t, nil
}

// query returns the target as parameters of an address. The selection holds which runs were
// chosen.
func (t *target) query() url.Values {
	v := url.Values{}
	if t.many() {
		v = t.filter.query()
	}
	if t.all {
		v.Set("all", "yes")
	}
	if t.picked > 0 {
		v.Set("chosen", strconv.Itoa(t.picked))
	}
	v.Set("op", t.op.Name)
	for name, value := range map[string]string{"id": t.id, "name": t.name, "policy": t.policy} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if t.number > 0 {
		v.Set("number", strconv.FormatInt(t.number, 10))
	}
	return v
}

// calls returns the filter of the calls.
func (t *target) calls() view.CallFilter {
	f := view.CallFilter{Call: t.number, Name: t.name}
	if t.many() {
		f.ErrorType = t.filter.Error
		switch t.filter.Call {
		case "":
		case view.CallRetrying:
			f.States = []string{view.CallBackoff}
		default:
			f.States = []string{t.filter.Call}
		}
	}
	return f
}

// runs returns the filter of the runs.
func (t *target) runs(now time.Time) (view.Filter, error) {
	f, err := t.filter.filter(now)
	if f.Call = t.filter.Call; f.Call == view.CallRetrying {
		f.Call = view.CallBackoff
	}
	return f, err
}

// do carries out the operation. With ops.DryRun it only selects.
func (t *target) do(ctx context.Context, q *request, values url.Values, options ...ops.ControlOption) (result view.BulkResult, err error) {
	values.Set("policy", t.policy)
	var f view.Filter
	calls := t.calls()
	switch {
	case t.selection != "":
		calls, options = view.CallFilter{}, append(options, ops.Selected(t.selection))
	case len(t.chosen) > 0:
		options = append(options, ops.Chosen(t.chosen...))
	case t.all:
		if f, err = t.runs(q.now); err != nil {
			return result, err
		}
	case t.many():
		return result, &badRequest{"The form says not which runs were chosen.", "Choose them in the list of runs."}
	}
	op := t.op.Plain
	if t.op.make != nil {
		if op, err = t.op.make(values); err != nil {
			return result, &wrongValue{err}
		}
	}
	if t.many() {
		return op.All(ctx, q.engine, f, calls, options...)
	}
	result.Runs = 1
	result.Records, err = op.One(ctx, q.engine, t.id, calls, options...)
	result.Calls = len(result.Records)
	return result, err
}

// wrongValue is an invalid value that a person entered into a form.
type wrongValue struct{ error }

// operateForm is the form of an operation: its effect, its target, and its inputs.
type operateForm struct {
	Title   string
	Means   string
	Danger  bool
	Problem string // why it was not done
	About   *linked
	Filter  string // for many runs

	Count   string // how much is selected
	Gone    int    // how much an earlier form showed that no longer matches
	Records []recordRow
	More    int

	Policy *policyForm
	Fields []fieldValue
	Action template.URL // of the form that carries it out; empty: there is nothing to do, or not yet
	Button string
	Key    string // idempotency key of the request
	// Selection is what the form shows of many runs. Without it there are too many to list,
	// and the operation also applies to runs that come before the form is sent.
	Selection string
	Unnamed   bool
	Reason    string
	Back      template.URL
}

func (f *operateForm) title() string { return f.Title }

type fieldValue struct {
	field
	Value string
}

// policyForm asks for an edit of a policy and shows its difference.
type policyForm struct {
	Text   string
	Action template.URL // of the form, which is sent there with a selection
	Hidden [][2]string  // the rest of the address
	Now    []policyDiff // the policies that there are, without what comes after
	Diff   []policyDiff
}

type policyDiff struct {
	What, Before, After, Means string
}

type recordRow struct {
	Run           linked
	Call          int64
	Name          string
	Outcome, Note string
}

// operate shows the form.
func operate(q *request) (any, error) {
	t, err := targetOf(q.URL.Query())
	if err != nil {
		return nil, err
	}
	return q.operateForm(&t, url.Values{}, nil)
}

// preview are stand-ins for values that were not entered yet: the dry run needs some.
var preview = url.Values{
	"result": {"null"}, "error": {"preview"}, "name": {"preview"}, "value": {"null"}, "to": {"1"}, "build": {"preview"},
}

// operateForm returns the form, with what was entered and why that was not done.
func (q *request) operateForm(t *target, values url.Values, problem error) (any, error) {
	f := &operateForm{Title: t.op.label, Means: t.op.means, Danger: t.op.danger, Button: t.op.label, Reason: values.Get("reason"), Back: linkTo("runs", t.filter.query())}
	f.Key = values.Get("request")
	if f.Key == "" {
		f.Key = rand.Text()
	}
	if problem != nil {
		f.Problem = problem.Error()
	}
	if t.many() {
		f.Title, f.Filter = t.op.label+": many runs", t.says()
	} else {
		to := runLink(t.id, "")
		f.About, f.Back = &to, to.Link
	}
	for _, one := range t.op.fields {
		v := fieldValue{one, one.Default}
		if values.Has(one.Name) {
			v.Value = values.Get(one.Name)
		}
		f.Fields = append(f.Fields, v)
	}
	if t.op.Name == operation.Reset.Name && !t.many() && !values.Has("to") {
		f.resetTo(q, t)
	}
	f.Action = linkTo("operate", t.query())
	dry := *t
	if t.op.Name == operation.EditPolicy.Name && dry.policy == "" {
		dry.policy = "[retry: 1]" // the selection does not depend on it
	}
	copied := maps.Clone(preview)
	for _, one := range f.Fields {
		if one.Number && one.Value != "" {
			copied.Set(one.Name, one.Value)
		}
	}
	result, err := dry.do(q.ctx, q, copied, ops.DryRun())
	var wrong *wrongValue
	var refused *view.RefusedError
	if errors.As(err, &wrong) { // a field that was entered: what is selected does not depend on it
		f.Problem = cmp.Or(f.Problem, wrong.Error())
		result, err = dry.do(q.ctx, q, maps.Clone(preview), ops.DryRun())
	}
	switch {
	case errors.Is(err, perdure.ErrNotPending), errors.Is(err, perdure.ErrClosed):
		f.Count, f.Action = "There is nothing to do: "+err.Error(), ""
	case errors.As(err, &refused):
		f.Count, f.Action = "There is nothing to do: "+refused.Record.Note, ""
	case err != nil:
		return nil, err
	default:
		f.count(t, &result)
	}
	if t.op.Name == operation.MoveRuns.Name { // the notes are about a build that stands for the one to come
		for i := range f.Records {
			f.Records[i].Note = ""
		}
	}
	if t.op.Name == operation.EditPolicy.Name && err == nil {
		err = q.policyForm(t, f, &result)
	} else {
		err = nil
	}
	if t.op.danger && t.many() {
		f.Button += ": " + strings.ToLower(f.Count)
	}
	return f, err
}

// resetTo proposes the call that failed to the form that resets a run which has failed.
func (f *operateForm) resetTo(q *request, t *target) {
	o, err := q.engine.Workflow(t.id).Overview(q.ctx)
	if err != nil || o.Description.Failure == nil {
		return // the form itself says what is wrong
	}
	for i := range o.Calls {
		c := &o.Calls[i]
		if c.Outcome == view.OutcomeFailed || c.Outcome == view.OutcomeTimedOut || c.Outcome == view.OutcomeLost {
			f.Fields[0].Value, f.Fields[0].Hint = strconv.FormatInt(c.Call, 10), fmt.Sprintf("call %d, %s, is the last that failed; the history shows all", c.Call, human.Clip(c.Name, 60))
		}
	}
}

// shownRecords is how many selected records a form shows.
const shownRecords = 20

// count describes how much is selected.
func (f *operateForm) count(t *target, result *view.BulkResult) {
	f.Count = human.Plural(result.Runs, "run", "runs")
	n := result.Runs
	if t.op.OnCalls {
		n = result.Calls
		f.Count = human.Plural(n, "call", "calls") + " in " + f.Count
	}
	if result.Waiting > 0 {
		f.Count += fmt.Sprintf("; the attempts of %s would wait", human.Count(result.Waiting))
	}
	if n == 0 {
		f.Count, f.Action = "Nothing is selected.", ""
	}
	if t.many() {
		f.Gone, f.Selection, f.Unnamed = result.Gone, result.Selection, result.Selection == ""
	}
	for i := range result.Records[:min(len(result.Records), shownRecords)] {
		r := &result.Records[i]
		f.Records = append(f.Records, recordRow{runLink(r.WorkflowID, ""), r.Call, r.Name, r.Outcome, r.Note})
	}
	f.More = max(0, n-len(f.Records))
}

// policyForm adds the difference that an edit makes. It uses the same code as the command.
func (q *request) policyForm(t *target, f *operateForm, selected *view.BulkResult) error {
	p := &policyForm{Text: t.policy}
	f.Policy = p
	v := t.query()
	v.Del("policy")
	p.Action = linkTo("operate", v)
	for name, values := range v {
		for _, value := range values {
			p.Hidden = append(p.Hidden, [2]string{name, value})
		}
	}
	slices.SortFunc(p.Hidden, func(a, b [2]string) int { return strings.Compare(a[0]+a[1], b[0]+b[1]) })
	edit := func(before retry.Policy) (retry.Policy, error) { return before.Edit(t.policy) }
	if t.policy == "" {
		f.Action = "" // the difference comes first
		edit = func(before retry.Policy) (retry.Policy, error) { return before, nil }
	}
	classes := policyedit.NewClasses(edit)
	err := classes.AddSelected(selected.Records, func(id string) ([]view.Call, error) {
		d, err := q.engine.Workflow(id).Describe(q.ctx)
		if errors.Is(err, perdure.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return d.Pending, nil
	})
	if wrong, ok := errors.AsType[*policyedit.CallError](err); ok {
		f.Problem, f.Action = "The policy cannot be used: "+wrong.Error(), ""
		return nil
	}
	if err != nil {
		return err
	}
	for _, c := range classes.All() {
		what := fmt.Sprintf("%s of %s, such as in %s: %s", human.Plural(c.Calls, "call", "calls"), c.Name, c.Example, c.States())
		if c.Calls == 1 {
			what = fmt.Sprintf("%s in %s (%s)", c.Name, c.Example, strings.TrimPrefix(c.States(), "1 "))
		}
		if t.policy == "" {
			p.Now = append(p.Now, policyDiff{What: what, Before: c.Before.String()})
			continue
		}
		p.Diff = append(p.Diff, policyDiff{what, c.Before.String(), c.After.String(), c.Consequence(q.now)})
	}
	if seen := classes.Seen(); t.policy != "" && seen < selected.Calls {
		p.Diff = append(p.Diff, policyDiff{What: fmt.Sprintf("The other %d of %d calls that are selected are not looked at one by one.", selected.Calls-seen, selected.Calls)})
	}
	return nil
}
