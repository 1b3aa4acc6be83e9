package dashboard

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/internal/web"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// patience is how long a page waits for a command. What is not done by then is in the database
// and will be done.
const patience = 8 * time.Second

// confirmation is the page of a command. A command takes two steps: the page shows what it would
// come to, and has a form that does it by POST. What is to be entered before that can be said is
// asked for by a form of its own.
type confirmation struct {
	Title, Means string
	OfRun        bool
	Problem      string // why it cannot be done, or was not
	About        *linked
	Filter       string // for many runs: which

	Now    []command.Difference // how it is, while nothing was entered
	Ask    *sendForm            // nil: nothing is to be entered before
	Answer string               // of the code of a run, as JSON

	Diff    []command.Difference
	Says    []string // what the command means
	Count   string   // how many runs or calls are selected
	Gone    int      // how many an earlier form showed that are no longer selected
	Unnamed bool     // there are too many to list: what is selected until the form is sent is meant as well
	Records []view.ControlRecord
	More    int

	Do    *sendForm // nil: there is nothing to do, or not yet
	Shell string    // the command line that does the same; may be empty
	Back  template.URL
}

func (f *confirmation) title() string { return f.Title }

// sendForm is a form that sends a command, or what is asked for before.
type sendForm struct {
	Ask, Post     bool
	Action        template.URL
	Hidden        [][2]string
	Fields        []entry
	Reasoned      bool // why it is done is on record
	Reason        string
	Button, Class string
	Back          template.URL // empty: another form of the page has the link
}

// doForm returns the form that does the command. shown is what the page has shown of it.
func (t *target) doForm(q *request, shown ...[2]string) *sendForm {
	return &sendForm{
		Post: true, Action: linkTo(q.path, t.query()), Hidden: append(shown, [2]string{"request", q.key()}), Button: t.label(), Class: cmp.Or(classOf(t.command), "main"),
		Reasoned: t.command.Reasoned(), Reason: q.PostForm.Get("reason"), Back: t.back(),
	}
}

// key is the idempotency key of a form: a form that is sent twice is carried out once.
func (q *request) key() string { return cmp.Or(q.PostForm.Get("request"), rand.Text()) }

// label is what buttons call the command.
func (t *target) label() string {
	if t.makes {
		return t.command.Makes
	}
	return t.command.Label
}

// showCommand shows the page of a command.
func showCommand(q *request) (any, error) {
	t, err := q.targetOf(q.URL.Query())
	if err != nil {
		return nil, err
	}
	return q.confirm(t, nil)
}

// confirm returns the page of a command, with what was entered and why that was not done.
func (q *request) confirm(t *target, problem error) (any, error) {
	in := *q.page
	in.under = places[t.command.On].all
	q.page = &in
	f := &confirmation{Title: t.label(), Means: t.command.Means, About: t.about(), Back: t.back(), OfRun: t.command.On == command.Runs || t.command.On == command.Calls}
	if t.many() {
		f.Title, f.Filter = f.Title+": many runs", t.says()
	}
	if err := f.fill(q, t); err != nil {
		if f.Do, f.Diff = nil, nil; !entered(t.command, &err) {
			return nil, t.missing(err)
		}
		if f.Problem = err.Error(); q.Method == http.MethodPost {
			q.status = http.StatusUnprocessableEntity
		}
	}
	if problem != nil {
		f.Problem = problem.Error()
	}
	if f.Ask != nil && f.Do == nil {
		f.Ask.Class, f.Ask.Back = "main", f.Back
	}
	return f, nil
}

// fill fills the page: with how things are, and with what comes of what was entered.
func (f *confirmation) fill(q *request, t *target) error {
	c := t.command
	if !c.Reads && !q.operator() {
		text := "Only operators may change the " + string(c.On) + "; you may look."
		if q.guard.ReadOnly() {
			text = "This dashboard only shows, so nothing can be changed here."
		}
		return &wrongField{text}
	}
	shown := c.New()
	if s, ok := shown.(*command.Start); ok {
		s.Like = t.like
	}
	form, err := c.Form(q.ask(t.name, ""), shown)
	if err != nil {
		return err
	}
	fields := inputs(c, &form, shown, t.entered)
	if t.asks() && len(fields) > 0 {
		f.Ask = t.askForm(q, &form, fields)
	}
	switch {
	case t.makes && t.entered != nil && t.name == "":
		return &wrongField{"The name is missing. Choose one that says what it is for: it begins the IDs of the workflows."}
	case f.Ask == nil || c.Bulk():
	case t.entered == nil, f.Ask.Post && q.Method != http.MethodPost:
		return nil
	}
	params := shown
	if t.entered != nil {
		params = c.New()
	}
	err = enter(c, params, shown, t.entered)
	switch {
	case c.Bulk():
		return f.selects(q, t, params, shown, fields, err)
	case err != nil:
		return err
	case t.answers():
		return f.answer(q, t, params)
	}
	command.DryOf(params).DryRun = true
	_, effect, err := t.do(q, params, "")
	if err != nil {
		return err
	}
	if f.Diff, f.Says = effect.Diff, effect.Says; effect.Warning != "" {
		f.Says = append(f.Says, human.Sentence(effect.Warning))
	}
	if effect.Same {
		return nil
	}
	// The form sends what was shown: of an edit the difference, not everything that was entered, so
	// that another person's edit meanwhile is kept.
	text, err := json.Marshal(params)
	f.Do, f.Shell = t.doForm(q, [2]string{"params", string(text)}), t.shell(params)
	return err
}

// askForm returns the form that asks for what is to be entered.
func (t *target) askForm(q *request, form *command.Form, fields []entry) *sendForm {
	v := t.unentered()
	ask := &sendForm{Ask: true, Action: template.URL(q.path), Fields: fields, Button: cmp.Or(form.Button, "Show what it means")}
	if t.command.Bulk() {
		ask.Button = "Show the difference"
	} else {
		v.Set("asked", "yes")
		for i := range fields {
			fields[i].Needed = false // the answer says better what is missing
		}
	}
	if t.makes {
		v.Del("name")
		ask.Fields = append([]entry{{Name: "name", Label: "Name", Value: t.name}}, fields...)
	}
	ask.Hidden = pairs(v)
	if t.answers() {
		ask.Button = t.command.Label
		if ask.Post = !t.command.Reads; ask.Post { // nothing can say what it comes to before
			ask.Hidden = append(ask.Hidden, [2]string{"request", q.key()})
		}
	}
	return ask
}

// answer shows what the code of a run answers. Whatever its error is, it is about what was asked.
func (f *confirmation) answer(q *request, t *target, params any) error {
	defer q.hurry()()
	_, effect, err := t.do(q, params, q.key()) // a form that is sent again has the answer of the first
	switch {
	case err == nil:
		f.Answer, f.Shell = indentedJSON(effect.Answer), t.shell(params)
		return nil
	case errors.Is(err, perdure.ErrNotFound):
		return &absent{string(t.command.On), t.name}
	case web.Is[*param.Wrong](err), store.Unavailable(err):
		return err
	case errors.Is(err, perdure.ErrNoAnswer):
		return &wrongField{"There is no result yet. The update is in the database, and is carried out when an engine serves the run. Send the form again to ask for the result."}
	}
	return &wrongField{human.Clip(human.Sentence(err.Error()), 2000)}
}

// selects shows the runs and calls to which an operation would apply. These do not depend on what
// is still missing or is wrong.
func (f *confirmation) selects(q *request, t *target, params, shown any, fields []entry, wrong error) error {
	c := t.command
	switch {
	case wrong == nil:
	case !entered(c, &wrong):
		return wrong
	default:
		f.Problem, params = wrong.Error(), shown
	}
	dry := func() (view.BulkResult, command.Effect, error) {
		c.StandIn(params)
		command.DryOf(params).DryRun = true
		return t.do(q, params, "")
	}
	result, effect, err := dry()
	if wrong = wrongInput(c, err); wrong != nil {
		f.Problem, params = cmp.Or(f.Problem, "It cannot be used: "+wrong.Error()), c.New()
		result, effect, err = dry()
	}
	var refused *view.RefusedError
	switch {
	case errors.Is(err, perdure.ErrNotPending), errors.Is(err, perdure.ErrClosed):
		f.Count = "There is nothing to do: " + err.Error()
		return nil
	case errors.As(err, &refused):
		f.Count = "There is nothing to do: " + refused.Record.Note
		return nil
	case err != nil:
		return err
	}
	if f.count(t, &result); f.Ask != nil {
		if result.Selection != "" && t.many() { // which is too long for an address
			f.Ask.Post, f.Ask.Action, f.Ask.Hidden = true, linkTo(q.path, t.unentered()), [][2]string{{"show", "yes"}, {"selection", result.Selection}}
		}
		if t.entered == nil || f.Problem != "" { // the difference comes first
			for _, d := range effect.Diff {
				f.Now = append(f.Now, command.Difference{What: d.What, Before: d.Before})
			}
			return nil
		}
		f.Diff, f.Says, fields = effect.Diff, effect.Says, nil
	}
	if result.Runs == 0 || c.OnCalls() && result.Calls == 0 {
		f.Count = "Nothing is selected."
		return nil
	}
	f.Do = t.doForm(q, meant(t, result.Selection)...)
	if f.Do.Fields = fields; c.Danger && t.many() {
		f.Do.Button += ": " + strings.ToLower(f.Count)
	}
	if f.Problem == "" && (t.entered != nil || !slices.ContainsFunc(fields, func(e entry) bool { return !e.Check })) {
		f.Shell = t.shell(params)
	}
	return nil
}

// meant says in a form which of many runs it is about.
func meant(t *target, selection string) [][2]string {
	switch {
	case !t.many():
		return nil
	case selection != "":
		return [][2]string{{"selection", selection}}
	}
	return [][2]string{{"unnamed", "yes"}}
}

// shownRecords is how many selected records a page shows.
const shownRecords = 20

// count describes how much is selected.
func (f *confirmation) count(t *target, result *view.BulkResult) {
	f.Count = human.Plural(result.Runs, "run", "runs")
	n := result.Runs
	if t.command.OnCalls() {
		n = result.Calls
		f.Count = human.Plural(n, "call", "calls") + " in " + f.Count
	}
	if result.Waiting > 0 {
		f.Count += fmt.Sprintf("; the attempts of %s would wait", human.Count(result.Waiting))
	}
	if result.Refused > 0 {
		f.Count += fmt.Sprintf("; %s would be refused", human.Count(result.Refused))
	}
	if t.many() {
		f.Gone, f.Unnamed = result.Gone, result.Selection == ""
	}
	f.Records = slices.Clone(result.Records[:min(len(result.Records), shownRecords)])
	f.More = max(0, n-len(f.Records))
	if t.command.Name == "move-runs" { // the notes are about a build that stands for the one to come
		for i := range f.Records {
			f.Records[i].Note = ""
		}
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

// ask is a use of a command of the table.
func (q *request) ask(name, key string) *command.Ask {
	return &command.Ask{Ctx: q.ctx, Engine: q.engine, Name: name, By: q.person.Name, Request: key, Now: q.now}
}

// hurry shortens the time of the request to patience, until what it returns is called.
func (q *request) hurry() (done func()) {
	whole := q.ctx
	ctx, cancel := context.WithTimeout(whole, patience)
	q.ctx = ctx
	return func() { cancel(); q.ctx = whole }
}
