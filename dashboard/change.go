package dashboard

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/internal/web"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// A command of the table that is no operation on any number of runs takes two steps. The first
// form asks by GET what to change. The response shows the effect, and has a second form that makes
// the change by POST. The second form posts what was shown: for an edit the difference, not
// everything in the form, so that another person's concurrent edit is kept.

// changes returns the commands that are done so.
func changes() []*command.Command {
	return command.Single(command.Workflow, command.Gate, command.Schedule, command.Activity, command.Canary, command.Runs)
}

func changeOf(kind, name string) (*command.Command, error) {
	if c := command.Find(command.On(kind), name); slices.Contains(changes(), c) {
		return c, nil
	}
	return nil, &badRequest{fmt.Sprintf("There is nothing called %q to do to a %s.", name, kind), "Choose it on the page of a gate, of a schedule, of a run or of the nodes."}
}

// shownOn returns the path of the page that shows what was changed.
func shownOn(on command.On) string {
	switch on {
	case command.Canary:
		return "nodes"
	case command.Activity:
		return "" // the overview
	}
	return string(on)
}

// changeForm is the template's data for a change.
type changeForm struct {
	Title, Means string
	Danger       bool
	About        linked
	Kind, Op     string
	Name         string
	Makes        bool   // it makes a new one: the form asks for its name
	Problem      string // why the change cannot be or was not made
	Fields       []entry
	Asks         string // the button that leads to the second step; empty if there is nothing to enter
	Post         bool   // it is done when the first form is sent, as nothing can say what it comes to
	Answer       string // of the code of a run, as JSON
	Diff         []command.Difference
	Says         []string // what the change means
	Sure         bool     // the change can be made: show the second form
	Reasoned     bool     // why it is made is on record
	Params       string   // what was shown, for the second form
	Shell        string   // the command line that does the same; may be empty
	Key          string   // idempotency key of the request
	Button       string
	Reason       string
}

func (f *changeForm) title() string { return f.Title }

// Back is the link to the first form.
func (f *changeForm) Back() template.URL { return f.About.Link }

// button leads to a form.
type button struct {
	Label, Class string
	Says         string // the label with its object, for readers who do not see its position
	Link         template.URL
}

// buttonOf returns the button of a command; what follows its label says what it is done to.
func buttonOf(c *command.Command, says string, to template.URL) button {
	b := button{Label: c.Label, Says: c.Label + says, Link: to}
	if c.Danger {
		b.Class = "danger"
	}
	return b
}

// changeButtons returns the buttons of changes.
func changeButtons(on command.On, name string, all ...string) (out []button) {
	says := " " + string(on) + " " + name
	if name == "" {
		says = "" // the label has it
	}
	for _, one := range all {
		out = append(out, buttonOf(command.Find(on, one), says, link("change", "kind", string(on), "do", one, "name", name)))
	}
	return out
}

// showChange shows the form, or the effect of what was entered.
func showChange(q *request) (any, error) { return q.changeForm(q.URL.Query(), nil) }

// about is the link to what a command is done to.
func about(on command.On, name string) linked {
	switch on {
	case command.Gate:
		return gateLink(name)
	case command.Schedule:
		return scheduleLink(name)
	case command.Activity:
		return linked{name, link("ledger", "activity", name)}
	case command.Runs:
		return runLink(name, "")
	case command.Workflow:
		return linked{name, link("runs", "workflow", name)}
	}
	return linked{"of the nodes", link("nodes")}
}

func (q *request) changeForm(v url.Values, problem error) (any, error) {
	c, err := changeOf(v.Get("kind"), v.Get("do"))
	if err != nil {
		return nil, err
	}
	in := *q.page
	switch in.under = string(c.On) + "s"; c.On {
	case command.Canary, command.Activity:
		in.under = shownOn(c.On)
	}
	q.page = &in
	f := &changeForm{
		Title: c.Label, Means: c.Means, Danger: c.Danger, Kind: string(c.On), Op: c.Name, Name: v.Get("name"), Button: c.Label, Reasoned: c.Reasoned(), Reason: v.Get("reason"),
		Key: rand.Text(),
	}
	f.About = about(c.On, f.Name)
	if f.Makes = c.Makes != "" && v.Has("new"); f.Makes {
		f.Title, f.Button, f.About = c.Makes, c.Makes, linked{"", link(string(c.On) + "s")}
	}
	if q.Method == http.MethodPost { // the form is shown again
		f.Key = cmp.Or(v.Get("request"), f.Key)
	}
	if err := f.ask(q, c, v); err != nil {
		if f.Sure, f.Diff = false, nil; !q.entered(c, &err) {
			return nil, err
		}
		if f.Problem = err.Error(); q.Method == http.MethodPost {
			q.status = http.StatusUnprocessableEntity
		}
	}
	if problem != nil {
		f.Problem = problem.Error()
	}
	return f, nil
}

// ask fills the form: with how things are, and with what comes of what was entered.
func (f *changeForm) ask(q *request, c *command.Command, v url.Values) error {
	if !c.Reads && !q.operator() {
		text := "Only operators may change the " + f.Kind + "; you may look."
		if q.guard.ReadOnly() {
			text = "This dashboard only shows, so nothing can be changed here."
		}
		return &wrongField{text}
	}
	ask, shown := q.ask(f.Name, ""), c.New()
	if s, ok := shown.(*command.Start); ok {
		s.Like = v.Get("like")
	}
	form, err := c.Form(ask, shown)
	if err != nil {
		return err
	}
	var entered url.Values
	if v.Has("asked") {
		entered = v
	}
	f.Fields = inputs(c, &form, shown, entered)
	for i := range f.Fields {
		f.Fields[i].Needed = false // the answer says better what is missing
	}
	_, answers := command.WaitOf(shown)
	if f.Post = answers && !c.Reads; answers {
		form.Button = c.Label
	}
	if f.Makes && entered != nil && f.Name == "" {
		return &wrongField{"The name is missing. Choose one that says what it is for: it begins the IDs of the workflows."}
	}
	if len(f.Fields) > 0 {
		f.Asks = cmp.Or(form.Button, "Show what it means")
		if entered == nil || f.Post && q.Method != http.MethodPost {
			return nil
		}
	}
	params := c.New()
	if err := enter(c, params, shown, entered); err != nil {
		return err
	}
	if answers {
		return f.answer(q, c, params)
	}
	command.DryOf(params).DryRun = true
	_, effect, err := c.Do(ask, params)
	if err != nil {
		return err
	}
	if f.Diff, f.Says, f.Sure = effect.Diff, effect.Says, !effect.Same; f.Sure {
		f.Shell = c.Shell(f.Name, params)
	}
	if effect.Warning != "" {
		f.Says = append(f.Says, human.Sentence(effect.Warning))
	}
	text, err := json.Marshal(params)
	f.Params = string(text)
	return err
}

// answer shows what the code of a run answers. Whatever its error is, it is about what was asked.
func (f *changeForm) answer(q *request, c *command.Command, params any) error {
	ctx, cancel := context.WithTimeout(q.ctx, patience)
	defer cancel()
	ask := q.ask(f.Name, "")
	if ask.Ctx = ctx; !c.NoKey {
		ask.Request = f.Key // a form that is sent again has the answer of the first
	}
	_, effect, err := c.Do(ask, params)
	switch {
	case err == nil:
		f.Answer, f.Shell = indentedJSON(effect.Answer), c.Shell(f.Name, params)
		return nil
	case errors.Is(err, perdure.ErrNotFound):
		return &absent{string(c.On), f.Name}
	case web.Is[*param.Wrong](err), store.Unavailable(err):
		return err
	case errors.Is(err, perdure.ErrNoAnswer):
		return &wrongField{"There is no result yet. The update is in the database, and is carried out when an engine serves the run. Send the form again to ask for the result."}
	}
	return &wrongField{human.Clip(human.Sentence(err.Error()), 2000)}
}

// ask is a use of a command of the table.
func (q *request) ask(name, key string) *command.Ask {
	return &command.Ask{Ctx: q.ctx, Engine: q.engine, Name: name, By: q.person.Name, Request: key, Now: q.now}
}

// entered reports whether an error is about what a person entered, and names it by the form.
func (q *request) entered(c *command.Command, err *error) bool {
	if wrong := wrongInput(c, *err); wrong != nil {
		*err = wrong
		return true
	}
	return web.Is[*view.InputError](*err) || web.Is[*wrongField](*err)
}

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
	if _, answers := command.WaitOf(c.New()); answers {
		return q.changeForm(form, nil)
	}
	name, params := form.Get("name"), c.New()
	if text := form.Get("params"); text != "" {
		dec := json.NewDecoder(bytes.NewReader([]byte(text)))
		dec.DisallowUnknownFields()
		err = dec.Decode(params)
	}
	if err != nil {
		q.status = http.StatusUnprocessableEntity
		return q.changeForm(form, &wrongField{"What is to be changed cannot be read. Write it into the form and look at the effect first."})
	}
	reason := command.ReasonOf(params)
	reason.Why, command.DryOf(params).DryRun = form.Get("reason"), false
	key := form.Get("request") // a form that is sent twice is carried out once
	if c.NoKey {
		key = ""
	}
	_, effect, err := c.Do(q.ask(name, key), params)
	switch {
	case err != nil && q.entered(c, &err):
		q.status = http.StatusUnprocessableEntity
		return q.changeForm(form, err)
	case errors.Is(err, perdure.ErrNotFound) && c.On != command.Runs: // deleted since the form was shown
		return nil, &absent{string(c.On), name}
	case err != nil:
		return nil, err
	}
	switch {
	case c.Gone:
		q.redirect = string(link(string(c.On)+"s", "deleted", name))
	case c.Makes != "" && form.Has("new"): // it need not have a page before an engine serves it
		q.redirect = string(link(string(c.On)+"s", "done", c.Name, "name", name))
	case c.On == command.Runs || c.On == command.Workflow:
		q.redirect = string(runLink(cmp.Or(effect.Run, name), "").Link)
	default:
		q.redirect = string(link(shownOn(c.On), "done", c.Name, "name", name, "fired", effect.Run))
	}
	return nil, nil
}

// doneText says on the next page that the change was requested.
func doneText(q *request, on command.On) string {
	c, err := changeOf(string(on), q.URL.Query().Get("done"))
	if err != nil {
		return ""
	}
	who := "the engine that serves the " + string(on) + " sees"
	if on == command.Canary {
		who = "the nodes of the group see"
	}
	if c.Makes != "" {
		return "The " + string(on) + " " + q.URL.Query().Get("name") + " is on record, and does what you set as soon as " + who + " it."
	}
	return strings.ToUpper(c.Label[:1]) + c.Label[1:] + ": it is on record, and is so as soon as " + who + " it."
}
