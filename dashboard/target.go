package dashboard

import (
	"fmt"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/view"
)

// target is what a command is done to, as in the address: one thing that has a name, one call of a
// run, some runs chosen in the list, or all that a filter selects. Of an operation on runs and calls
// the address is "operate", of all other commands "change".
type target struct {
	command *command.Command
	name    string // of the thing; of a run, its workflow ID
	makes   bool   // the thing is a new one
	like    string // workflow ID of the run after which one is started

	number int64 // of the call; 0: the run, or all calls that the filter selects
	all    bool
	chosen []string // workflow IDs
	picked int      // how many were chosen, in chosen or in the selection
	filter runFilter
	step   string // name of the activity or step; empty: any

	entered   url.Values // into the form of the command; nil: nothing
	selection string     // of the dry run that was shown, for many runs; empty: none was
}

// changes returns the commands that are no operations on any number of runs.
func changes() []*command.Command {
	return command.Single(command.Workflow, command.Gate, command.Schedule, command.Activity, command.Canary, command.Runs)
}

func changeOf(kind, name string) (*command.Command, error) {
	if c := command.Find(command.On(kind), name); slices.Contains(changes(), c) {
		return c, nil
	}
	return nil, &badRequest{fmt.Sprintf("There is nothing called %q to do to a %s.", name, kind), "Choose it on the page of a gate, of a schedule, of a run or of the nodes."}
}

// targetOf reads the target from an address of the page.
func (q *request) targetOf(v url.Values) (*target, error) {
	if q.path == "change" {
		c, err := changeOf(v.Get("kind"), v.Get("do"))
		if err != nil {
			return nil, err
		}
		t := &target{command: c, name: v.Get("name"), makes: c.Makes != "" && v.Has("new"), like: v.Get("like")}
		if v.Has("asked") {
			t.entered = v
		}
		return t, nil
	}
	c, err := operationNamed(v.Get("op"))
	if err != nil {
		return nil, err
	}
	t := &target{command: c, name: v.Get("id"), all: v.Get("all") != "", step: v.Get("name")}
	if t.filter, err = filterOf(v); err != nil {
		return nil, err
	}
	t.give(v)
	if t.number, err = numbered(v.Get("number")); err != nil {
		return nil, err
	}
	if t.chosen, err = chosenIn(v); err != nil {
		return nil, err
	}
	t.picked = len(t.chosen)
	if n := v.Get("chosen"); n != "" && t.picked == 0 {
		if t.picked, err = strconv.Atoi(n); err != nil || t.picked < 1 || t.picked > pageRuns {
			return nil, &badRequest{fmt.Sprintf("%q is no number of runs that can be chosen.", n), "Choose them in the list of runs."}
		}
	}
	if t.many() {
		t.name = ""
	} else if t.name == "" {
		return nil, &badRequest{"The address does not name a run.", "Choose one in the list of runs."}
	}
	return t, nil
}

// posted returns the target that a form sends. The address names it; for many runs it names the
// selection of the dry run that was shown. The list sends the first form for chosen runs entirely
// in the body, because an address would be too long.
func (q *request) posted() (*target, error) {
	if err := q.ParseForm(); err != nil {
		return nil, &badRequest{err.Error(), "Send the form again."}
	}
	v := q.URL.Query()
	if !v.Has("op") && !v.Has("kind") {
		v = q.PostForm
	}
	t, err := q.targetOf(v)
	if err != nil {
		return nil, err
	}
	switch t.selection = q.PostForm.Get("selection"); {
	case q.PostForm.Get("show") != "":
		t.give(q.PostForm)
	case t.answers(), !t.asks() && t.seen(q.PostForm):
		t.entered = q.PostForm
	}
	return t, nil
}

// give takes what was entered of an operation that is shown before it is done.
func (t *target) give(v url.Values) {
	if !t.command.Shown {
		return
	}
	for _, p := range t.command.Takes() {
		if text := v.Get(p.Flag); text != "" && !p.NoForm {
			if t.entered == nil {
				t.entered = url.Values{}
			}
			t.entered.Set(p.Flag, text)
		}
	}
}

// many reports whether the target is or may be more than one run.
func (t *target) many() bool { return t.all || t.picked > 0 }

// answers reports whether the command is a question, which its form asks at once.
func (t *target) answers() bool {
	_, answers := command.WaitOf(t.command.New())
	return answers
}

// asks reports whether what is to be entered is asked for before the command is done, by a form of
// its own. For an operation the form that does it asks, unless what it comes to is more than what is
// selected.
func (t *target) asks() bool { return !t.command.Bulk() || t.command.Shown }

// seen reports whether the sender of a form has seen what it would do.
func (t *target) seen(form url.Values) bool {
	return form.Get("show") == "" && !t.answers() && (!t.many() || t.selection != "" || t.all && form.Get("unnamed") != "")
}

// query returns the target as parameters of an address, with what was entered of an operation that is
// shown before it is done.
func (t *target) query() url.Values {
	v := t.unentered()
	if t.command.Shown {
		maps.Copy(v, t.entered)
	}
	return v
}

// unentered returns the target alone. The selection holds which runs were chosen.
func (t *target) unentered() url.Values {
	if !t.command.Bulk() {
		v := url.Values{"kind": {string(t.command.On)}, "do": {t.command.Name}, "name": {t.name}}
		if t.makes {
			v.Set("new", "yes")
		}
		return v
	}
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
	v.Set("op", t.command.Name)
	for name, value := range map[string]string{"id": t.name, "name": t.step} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if t.number > 0 {
		v.Set("number", strconv.FormatInt(t.number, 10))
	}
	return v
}

// places are the paths of the pages that have what commands are done to: all of its kind, and one.
var places = map[command.On]struct{ all, one string }{
	command.Gate: {"gates", "gate"}, command.Schedule: {"schedules", "schedule"}, command.Runs: {"runs", "run"}, command.Calls: {"runs", "run"},
	command.Workflow: {"workflows", "runs"}, command.Canary: {"nodes", "nodes"}, command.Activity: {"", "ledger"}, // what is paused stands on the overview
}

// about is the link to what the command is done to; nil for many, and for what is only to be made.
func (t *target) about() *linked {
	place, by := places[t.command.On], "name"
	switch {
	case t.many() || t.makes:
		return nil
	case t.command.On == command.Canary:
		return &linked{"of the nodes", link(place.one)}
	case place.one == "run":
		by = "id"
	case t.command.On == command.Workflow || t.command.On == command.Activity:
		by = string(t.command.On)
	}
	return &linked{t.name, link(place.one, by, t.name)}
}

// back is the page that shows the target.
func (t *target) back() template.URL {
	if to := t.about(); to != nil {
		return to.Link
	}
	return linkTo(places[t.command.On].all, t.filter.query())
}

// says describes which of many runs are selected.
func (t *target) says() string {
	if t.picked == 0 {
		return t.filter.says()
	}
	text := human.Plural(t.picked, "run", "runs") + " that you have chosen"
	if calls := t.calls(); t.command.OnCalls() && len(calls.States) > 0 {
		text += ", and of these the calls in state " + strings.Join(calls.States, " or ")
	}
	return text
}

// calls returns the filter of the calls.
func (t *target) calls() view.CallFilter {
	f := view.CallFilter{Call: t.number, Name: t.step}
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
	return f, err
}

// do carries the command out, or with a dry run says what it would come to.
func (t *target) do(q *request, params any, key string) (result view.BulkResult, effect command.Effect, err error) {
	if t.command.NoKey {
		key = ""
	}
	ask := q.ask(t.name, key)
	if !t.command.Bulk() {
		_, effect, err = t.command.Do(ask, params)
		return result, effect, err
	}
	to := &command.Target{ID: t.name, Calls: t.calls(), Selection: t.selection, Chosen: t.chosen}
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
	return t.command.Operate(ask, to, params)
}

// shell is the command line that does the same; empty for many runs.
func (t *target) shell(params any) string {
	switch {
	case t.many():
		return ""
	case t.number > 0:
		return t.command.Shell(t.name, params, "--call", strconv.FormatInt(t.number, 10))
	}
	return t.command.Shell(t.name, params)
}
