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

// change is something that operators do to a gate or a schedule. It takes two steps. The
// form asks what is to be, by GET; the answer shows what that comes to, and has a form
// that does it, by POST. What is posted is what was shown: of an edit the difference, not
// all that was written into the form, so another person's edit meanwhile stays.
type change struct {
	kind, name string // gate or schedule, and what is done, as the audit has it
	label      string // on buttons
	means      string // what it does, in a sentence
	danger     bool

	// ask makes the form, filled in with what was written into it. It sets Diff, Means
	// and Sure as far as they are known.
	ask func(q *request, f *changeForm) error
	// do does it. It returns parameters for the page to which the browser goes then.
	do func(q *request, name string, form url.Values, who []ops.ControlOption) (url.Values, error)
}

var changes = slices.Concat(gateChanges, scheduleChanges)

func changeOf(kind, name string) (*change, error) {
	for i := range changes {
		if changes[i].kind == kind && changes[i].name == name {
			return &changes[i], nil
		}
	}
	return nil, &badRequest{fmt.Sprintf("There is nothing called %q to do to a %s.", name, kind), "Choose it on the page of a gate or a schedule."}
}

// changeForm is what the template shows of a change.
type changeForm struct {
	Title, Means string
	Danger       bool
	About        linked
	Kind, Op     string
	Name         string
	Problem      string // why it is not or was not done
	Fields       []changeInput
	Asks         string // the button that leads to the second step; empty if nothing is asked for
	Diff         []partDiff
	Says         []string // what it comes to
	Sure         bool     // it can be done: the second form is shown
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

// partDiff is what becomes different.
type partDiff struct{ What, Before, After string }

// hide adds what the second form sends.
func (f *changeForm) hide(name, value string) { f.Hidden = append(f.Hidden, [2]string{name, value}) }

// changeButtons are links to the forms of changes.
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

// showChange shows the form, or what it comes to.
func showChange(q *request) (any, error) { return q.changeForm(q.URL.Query(), nil) }

func (q *request) changeForm(v url.Values, problem error) (any, error) {
	c, err := changeOf(v.Get("kind"), v.Get("do"))
	if err != nil {
		return nil, err
	}
	in := *q.page
	in.under = c.kind + "s"
	q.page = &in
	f := &changeForm{
		Title: c.label, Means: c.means, Danger: c.danger, Kind: c.kind, Op: c.name, Name: v.Get("name"), Button: c.label, Reason: v.Get("reason"), values: v,
	}
	key := rand.Text()
	if q.Method == http.MethodPost { // the form comes again
		key = cmp.Or(v.Get("request"), key)
	}
	f.hide("request", key)
	f.About = gateLink(f.Name)
	if c.kind == "schedule" {
		f.About = scheduleLink(f.Name)
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

// wrongField is a field of a form that cannot be used as it is.
type wrongField struct{ text string }

func (w *wrongField) Error() string { return w.text }

func wrongFieldf(format string, args ...any) error { return &wrongField{fmt.Sprintf(format, args...)} }

// makeChange does what the second form asks for.
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
	if key := form.Get("request"); key != "" { // a form that is sent twice is obeyed once
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
	case errors.Is(err, perdure.ErrNotFound): // since the form was shown
		return nil, &absent{c.kind, name}
	case err != nil:
		return nil, err
	}
	to := url.Values{"name": {name}, "done": {c.name}}
	for name, values := range more {
		to[name] = values
	}
	path := c.kind
	if c.name == "delete" {
		path = "schedules"
		to = url.Values{"deleted": {name}}
	}
	q.redirect = string(linkTo(path, to))
	return nil, nil
}

// doneText says, on the page to which a change leads, that it was asked for.
func doneText(q *request) string {
	c, err := changeOf(q.path, q.URL.Query().Get("done"))
	if err != nil {
		return ""
	}
	return strings.ToUpper(c.label[:1]) + c.label[1:] + ": it is on record, and is so as soon as the engine that serves the " + q.path + " sees it."
}

// changeLink is the first form again.
func (f *changeForm) Back() template.URL { return f.About.Link }
