package dashboard

import (
	"cmp"
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
	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// patience is how long a page waits for an operation. What is not done by then is in the
// database and will be done.
const patience = 8 * time.Second

// target is what an operation applies to, as in the address: one run, one call, some runs
// chosen in the list, or all that a filter selects.
type target struct {
	op     *command.Command
	id     string
	number int64 // of the call; 0: the run, or all calls that the filter selects
	all    bool
	chosen []string // workflow IDs
	picked int      // how many were chosen, in chosen or in the selection
	filter runFilter
	name   string // of the activity or step; empty: any

	// given is what was entered of an operation that is shown before it is done.
	given url.Values

	selection string // of the dry run that was shown, for many runs; empty: none was
}

func targetOf(v url.Values) (t target, err error) {
	if t.op, err = operationNamed(v.Get("op")); err != nil {
		return t, err
	}
	if t.filter, err = filterOf(v); err != nil {
		return t, err
	}
	t.id, t.all, t.name = v.Get("id"), v.Get("all") != "", v.Get("name")
	t.give(v)
	if t.number, err = numbered(v.Get("number")); err != nil {
		return t, err
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
		return t, &badRequest{"The address does not name a run.", "Choose one in the list of runs."}
	}
	return t, nil
}

// give takes what was entered of an operation that is shown before it is done.
func (t *target) give(v url.Values) {
	if !t.op.Shown {
		return
	}
	t.given = url.Values{}
	for _, p := range t.op.Takes() {
		if text := v.Get(p.Flag); text != "" && !p.NoForm {
			t.given.Set(p.Flag, text)
		}
	}
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
	maps.Copy(v, t.given)
	for name, value := range map[string]string{"id": t.id, "name": t.name} {
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
		f.ErrorType = t.filter.ErrorType
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
func (t *target) runs() (view.Filter, error) {
	f, err := t.filter.filter()
	if t.all {
		f.Text = t.filter.Text // which is refused: a search does not find all
	}
	if f.Call = t.filter.Call; f.Call == view.CallRetrying {
		f.Call = view.CallBackoff
	}
	return f, err
}

// do carries out the operation, or with a dry run only selects.
func (t *target) do(q *request, params any, key string) (result view.BulkResult, effect command.Effect, err error) {
	to := &command.Target{ID: t.id, Calls: t.calls(), Selection: t.selection, Chosen: t.chosen}
	switch {
	case t.selection != "":
		to.Calls, to.Chosen = view.CallFilter{}, nil
	case len(t.chosen) > 0:
	case t.all:
		if to.Runs, err = t.runs(); err != nil {
			return result, effect, err
		}
	case t.many():
		return result, effect, &badRequest{"The form does not say which runs were chosen.", "Choose them in the list of runs."}
	}
	if t.many() {
		to.ID = ""
	}
	return t.op.Operate(q.ask(t.id, key), to, params)
}

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
	Records []view.ControlRecord
	More    int

	Asks   *shownForm
	Fields []entry
	Action template.URL // of the form that carries it out; empty: there is nothing to do, or not yet
	Button string
	Key    string // idempotency key of the request
	// Selection is what the form shows of many runs. Without it there are too many to list,
	// and the operation also applies to runs that come before the form is sent.
	Selection string
	Unnamed   bool
	Reason    string
	Back      template.URL
	Shell     string // the command line that does the same; empty for many runs, and while something is to be entered
}

func (f *operateForm) title() string { return f.Title }

// shownForm asks for what is shown before it is done, and shows what it comes to.
type shownForm struct {
	Fields []entry
	Action template.URL // of the form, which is sent there with a selection
	Hidden [][2]string  // the rest of the address
	Now    []command.Difference
	Diff   []command.Difference
	Says   []string
}

// operate shows the form.
func operate(q *request) (any, error) {
	t, err := targetOf(q.URL.Query())
	if err != nil {
		return nil, err
	}
	return q.operateForm(&t, url.Values{}, nil)
}

// operateForm returns the form, with what was entered and why that was not done.
func (q *request) operateForm(t *target, values url.Values, problem error) (any, error) {
	f := &operateForm{Title: t.op.Label, Means: t.op.Means, Danger: t.op.Danger, Button: t.op.Label, Reason: values.Get("reason"), Back: linkTo("runs", t.filter.query())}
	f.Key = cmp.Or(values.Get("request"), rand.Text())
	if problem != nil {
		f.Problem = problem.Error()
	}
	shown := t.op.New()
	var form command.Form
	if t.many() {
		f.Title, f.Filter = t.op.Label+": many runs", t.says()
	} else {
		to := runLink(t.id, "")
		f.About, f.Back = &to, to.Link
		var err error
		if form, err = t.op.Form(q.ask(t.id, ""), shown); err != nil {
			return nil, err
		}
	}
	entered := values
	if t.op.Shown {
		entered = t.given
	}
	if len(entered) == 0 || !t.op.Shown && !filled(t.op, entered) {
		entered = nil
	}
	f.Fields, f.Action = inputs(t.op, &form, shown, entered), linkTo("operate", t.query())
	result, effect, err := f.dryRun(q, t, shown, entered)
	var refused *view.RefusedError
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
	if t.op.Name == "move-runs" { // the notes are about a build that stands for the one to come
		for i := range f.Records {
			f.Records[i].Note = ""
		}
	}
	if t.op.Shown && err == nil {
		f.asks(t, &effect)
	}
	if t.op.Danger && t.many() {
		f.Button += ": " + strings.ToLower(f.Count)
	}
	return f, nil
}

// filled reports whether what was entered has a field of an operation.
func filled(c *command.Command, entered url.Values) bool {
	for _, p := range c.Takes() {
		if !p.NoForm && entered.Has(p.Flag) {
			return true
		}
	}
	return false
}

// dryRun selects. What is selected does not depend on what is still missing or is wrong.
func (f *operateForm) dryRun(q *request, t *target, shown any, entered url.Values) (result view.BulkResult, effect command.Effect, err error) {
	params := shown
	if entered != nil {
		params = t.op.New()
	}
	if err := enter(t.op, params, shown, entered); err != nil {
		f.Problem, params = cmp.Or(f.Problem, wrongInput(t.op, err).Error()), shown
	}
	for range 2 {
		t.op.StandIn(params)
		command.DryOf(params).DryRun = true
		result, effect, err = t.do(q, params, "")
		wrong := wrongInput(t.op, err)
		notation, isNotation := errors.AsType[*retry.NotationError](err)
		switch {
		case isNotation:
			wrong = notation
		case wrong == nil:
			if err == nil && !t.many() && (entered != nil || !slices.ContainsFunc(f.Fields, func(e entry) bool { return !e.Check })) {
				f.Shell = t.shell(params)
			}
			return result, effect, err
		}
		f.Problem = cmp.Or(f.Problem, "It cannot be used: "+wrong.Error())
		params = t.op.New()
	}
	return result, effect, err
}

// shell is the command line that does the operation on one run or call.
func (t *target) shell(params any) string {
	if t.number == 0 {
		return t.op.Shell(t.id, params)
	}
	return t.op.Shell(t.id, params, "--call", strconv.FormatInt(t.number, 10))
}

// shownRecords is how many selected records a form shows.
const shownRecords = 20

// count describes how much is selected.
func (f *operateForm) count(t *target, result *view.BulkResult) {
	f.Count = human.Plural(result.Runs, "run", "runs")
	n := result.Runs
	if t.op.OnCalls() {
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
	f.Records = result.Records[:min(len(result.Records), shownRecords)]
	f.More = max(0, n-len(f.Records))
}

// asks moves the fields to a form of their own, which shows what they come to.
func (f *operateForm) asks(t *target, effect *command.Effect) {
	a := &shownForm{Fields: f.Fields, Says: effect.Says}
	v := t.query()
	for name := range t.given {
		v.Del(name)
	}
	a.Action, a.Hidden = linkTo("operate", v), pairs(v)
	if f.Asks, f.Fields = a, nil; len(t.given) > 0 && f.Problem == "" {
		a.Diff = effect.Diff
		return
	}
	f.Action = "" // the difference comes first
	for _, d := range effect.Diff {
		a.Now = append(a.Now, command.Difference{What: d.What, Before: d.Before})
	}
}

// pairs are parameters of an address in a fixed order.
func pairs(v url.Values) (all [][2]string) {
	for _, name := range slices.Sorted(maps.Keys(v)) {
		for _, value := range v[name] {
			all = append(all, [2]string{name, value})
		}
	}
	return all
}
