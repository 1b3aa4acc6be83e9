package dashboard

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

// change is an operation on a gate, a schedule or the canary of the group. It takes two steps. The first form asks
// by GET what to change. The response shows the effect, and has a second form that makes
// the change by POST. The second form posts what was shown: for an edit the difference, not
// everything in the form, so that another person's concurrent edit is kept.
type change struct {
	kind, name string // gate, schedule or canary, and the operation as in the audit
	label      string // on buttons
	means      string // the effect, in a sentence
	danger     bool

	// ask fills the form with what was entered. It sets Diff, Means and Sure as far as they
	// are known.
	ask func(q *request, f *changeForm) error
	// do makes the change. It returns parameters for the page to which the browser goes
	// next.
	do func(q *request, name string, form url.Values, who []ops.ControlOption) (url.Values, error)
}

var changes = slices.Concat(gateChanges, scheduleChanges, activityChanges, canaryChanges)

// shownOn returns the path of the page that shows what was changed.
func (c *change) shownOn() string {
	switch c.kind {
	case "canary":
		return "nodes"
	case "activity":
		return "" // the overview
	}
	return c.kind
}

func changeOf(kind, name string) (*change, error) {
	for i := range changes {
		if changes[i].kind == kind && changes[i].name == name {
			return &changes[i], nil
		}
	}
	return nil, &badRequest{fmt.Sprintf("There is nothing called %q to do to a %s.", name, kind), "Choose it on the page of a gate, of a schedule, of a run or of the nodes."}
}

// changeForm is the template's data for a change.
type changeForm struct {
	Title, Means string
	Danger       bool
	About        linked
	Kind, Op     string
	Name         string
	Problem      string // why the change cannot be or was not made
	Fields       []changeInput
	Asks         string // the button that leads to the second step; empty if there is nothing to enter
	Diff         []partDiff
	Says         []string // what the change means
	Sure         bool     // the change can be made: show the second form
	Hidden       [][2]string
	Button       string
	Reason       string
	values       url.Values
}

func (f *changeForm) title() string { return f.Title }

// changeInput is a field of the first form.
type changeInput struct {
	Name, Label, Hint, Value string
	Number, Check            bool
	Choices                  []changeChoice
}

type changeChoice struct {
	Value, Text string
	Chosen      bool
}

// partDiff is one difference.
type partDiff struct{ What, Before, After string }

// hide adds a hidden field to the second form.
func (f *changeForm) hide(name, value string) { f.Hidden = append(f.Hidden, [2]string{name, value}) }

// changeButtons returns links to the forms of changes.
func changeButtons(kind, name string, all ...string) (out []changeButton) {
	for _, one := range all {
		c, err := changeOf(kind, one)
		if err != nil {
			panic(err)
		}
		b := changeButton{Label: c.label, Says: c.label + " " + kind + " " + name, Link: link("change", "kind", kind, "do", one, "name", name)}
		if c.danger {
			b.Class = "danger"
		}
		out = append(out, b)
	}
	return out
}

// showChange shows the form, or the effect of what was entered.
func showChange(q *request) (any, error) { return q.changeForm(q.URL.Query(), nil) }

func (q *request) changeForm(v url.Values, problem error) (any, error) {
	c, err := changeOf(v.Get("kind"), v.Get("do"))
	if err != nil {
		return nil, err
	}
	in := *q.page
	if in.under = c.kind + "s"; c.kind == "canary" || c.kind == "activity" {
		in.under = c.shownOn()
	}
	q.page = &in
	f := &changeForm{
		Title: c.label, Means: c.means, Danger: c.danger, Kind: c.kind, Op: c.name, Name: v.Get("name"), Button: c.label, Reason: v.Get("reason"), values: v,
	}
	key := rand.Text()
	if q.Method == http.MethodPost { // the form is shown again
		key = cmp.Or(v.Get("request"), key)
	}
	f.hide("request", key)
	switch c.kind {
	case "gate":
		f.About = gateLink(f.Name)
	case "schedule":
		f.About = scheduleLink(f.Name)
	case "activity":
		f.About = linked{f.Name, link("ledger", "activity", f.Name)}
	case "canary":
		f.About = linked{"of the nodes", link("nodes")}
	}
	var input *view.InputError
	var wrong *wrongField
	switch err := c.ask(q, f); {
	case err == nil:
	case errors.As(err, &input), errors.As(err, &wrong):
		f.Problem, f.Sure, f.Diff = err.Error(), false, nil
	default:
		return nil, err
	}
	if problem != nil {
		f.Problem = problem.Error()
	}
	return f, nil
}

// wrongField is a field of a form with an invalid value.
type wrongField struct{ text string }

func (w *wrongField) Error() string { return w.text }

func wrongFieldf(format string, args ...any) error { return &wrongField{fmt.Sprintf(format, args...)} }

// makeChange makes the change of the second form.
func makeChange(q *request) (any, error) {
	if err := q.ParseForm(); err != nil {
		return nil, &badRequest{err.Error(), "Send the form again."}
	}
	form := q.PostForm
	c, err := changeOf(form.Get("kind"), form.Get("do"))
	if err != nil {
		return nil, err
	}
	who := []ops.ControlOption{ops.Why(form.Get("reason"))}
	if q.person.Name != "" {
		who = append(who, ops.By(q.person.Name))
	}
	if key := form.Get("request"); key != "" { // a form that is sent twice is carried out once
		who = append(who, ops.RequestID(key))
	}
	name := form.Get("name")
	more, err := c.do(q, name, form, who)
	var input *view.InputError
	var wrong *wrongField
	switch {
	case errors.As(err, &input), errors.As(err, &wrong):
		q.status = http.StatusUnprocessableEntity
		return q.changeForm(form, err)
	case errors.Is(err, perdure.ErrNotFound): // deleted since the form was shown
		return nil, &absent{c.kind, name}
	case err != nil:
		return nil, err
	}
	to := url.Values{"done": {c.name}}
	if name != "" {
		to.Set("name", name)
	}
	for name, values := range more {
		to[name] = values
	}
	path := c.shownOn()
	if c.name == "delete" {
		path = "schedules"
		to = url.Values{"deleted": {name}}
	}
	q.redirect = string(linkTo(path, to))
	return nil, nil
}

// doneText says on the next page that the change was requested.
func doneText(q *request) string {
	c, err := changeOf(q.path, q.URL.Query().Get("done"))
	if err != nil {
		return ""
	}
	return strings.ToUpper(c.label[:1]) + c.label[1:] + ": it is on record, and is so as soon as the engine that serves the " + q.path + " sees it."
}

// Back is the link to the first form.
func (f *changeForm) Back() template.URL { return f.About.Link }
