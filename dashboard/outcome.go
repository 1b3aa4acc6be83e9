package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/internal/web"
	"github.com/perdure/perdure/view"
)

// outcome is the outcome of an operation on many runs, or of what no engine has carried out yet.
type outcome struct {
	Title   string
	Text    string
	Good    bool
	Next    string
	Records []view.ControlRecord
	Again   *sendForm // repeats the request for what is left
	Back    linked
}

func (o *outcome) title() string { return o.Title }

// carryOut does what the form of a command says.
func carryOut(q *request) (any, error) {
	t, err := q.posted()
	if err != nil {
		return nil, err
	}
	if !t.seen(q.PostForm) {
		return q.confirm(t, nil)
	}
	result, effect, err := q.carryOut(t)
	var refused *view.RefusedError
	changed := web.Is[*view.ChangedError](err)
	switch {
	case err == nil && t.many():
		return q.summary(t, &result), nil
	case err == nil:
		q.redirect = string(t.next(effect.Run, q.PostForm.Get("request")))
		return nil, nil
	case (t.selection == "" || wrongInput(t.command, err) != nil) && entered(t.command, &err):
		if q.status = http.StatusUnprocessableEntity; changed {
			q.status = http.StatusConflict
		}
		return q.confirm(t, err)
	case errors.As(err, &refused):
		q.status = http.StatusConflict
		return q.confirm(t, fmt.Errorf("It is refused: %s", refused.Record.Note)) //nolint:staticcheck // a sentence on a page
	case errors.Is(err, perdure.ErrNotPending), errors.Is(err, perdure.ErrClosed):
		q.status = http.StatusConflict
		return q.confirm(t, err)
	case errors.Is(err, perdure.ErrNoAnswer):
		q.status = http.StatusAccepted
		return q.unanswered(t, &result), nil
	}
	return nil, t.missing(err)
}

// missing makes the error that says what is not there of one that says that something is not: it may
// have been deleted since the form was shown.
func (t *target) missing(err error) error {
	if t.command.On == command.Runs || t.command.On == command.Calls {
		return err
	}
	return missing(string(t.command.On), t.name, err)
}

// carryOut does it, as somebody and for a reason.
func (q *request) carryOut(t *target) (result view.BulkResult, effect command.Effect, err error) {
	params, err := t.params(q.PostForm)
	if err != nil {
		return result, effect, err
	}
	command.ReasonOf(params).Why, command.DryOf(params).DryRun = q.PostForm.Get("reason"), false
	defer q.hurry()()
	return t.do(q, params, q.PostForm.Get("request"))
}

// params returns the parameters of a command as its form sends them: those that it has shown, or
// what was entered into it.
func (t *target) params(form url.Values) (any, error) {
	params := t.command.New()
	if t.command.Bulk() {
		if t.command.Shown && t.entered == nil {
			return nil, &badRequest{"What is to change is missing.", "Write it into the form and look at the difference first."}
		}
		return params, enter(t.command, params, t.command.New(), t.entered)
	}
	if text := form.Get("params"); text != "" && param.Strictly([]byte(text), params) != nil {
		return nil, &wrongField{"What is to be changed cannot be read. Write it into the form and look at the effect first."}
	}
	return params, nil
}

// next is the page to which a command leads that was done, and that started a run or none.
func (t *target) next(run, request string) template.URL {
	place := places[t.command.On]
	switch c := t.command; {
	case c.Bulk():
		return link("run", "id", t.name, "request", request)
	case c.Gone:
		return link(place.all, "deleted", t.name)
	case c.On == command.Runs || c.On == command.Workflow:
		return runLink(cmp.Or(run, t.name), "").Link
	case t.makes, c.On == command.Activity: // it need not have a page before an engine serves it
		place.one = place.all
	}
	return link(place.one, "done", t.command.Name, "name", t.name, "fired", run)
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

// unanswered says that no engine has carried it out yet.
func (q *request) unanswered(t *target, result *view.BulkResult) *outcome {
	o := q.summary(t, result)
	o.Title, o.Good = "It is asked for, and not done yet", false
	o.Next = fmt.Sprintf("No engine did all of it within %s. The request is in the database, and is carried out when an engine serves it.", human.Duration(patience))
	if !t.many() {
		return o
	}
	o.Next = fmt.Sprintf("No engine did all of it within %s. What was asked for is in the database, and is carried out when an engine serves it; the rest may not be asked for yet.", human.Duration(patience))
	o.Again = t.doForm(q, meant(t, t.selection)...)
	o.Again.Button, o.Again.Class, o.Again.Reasoned, o.Again.Back = "Do the rest", "main", false, ""
	o.Again.Hidden = append(o.Again.Hidden, [2]string{"reason", q.PostForm.Get("reason")})
	if !t.command.Shown {
		for _, in := range inputs(t.command, &command.Form{}, t.command.New(), t.entered) {
			o.Again.Hidden = append(o.Again.Hidden, [2]string{in.Name, in.Value})
		}
	}
	return o
}

// summary describes the outcome of an operation.
func (q *request) summary(t *target, result *view.BulkResult) *outcome {
	in := *q.page
	in.file = "outcome"
	q.page = &in
	label := t.label()
	o := &outcome{Title: label + ": done", Good: true, Back: linked{"Back to the list", t.back()}}
	switch did := result.Applied + result.Unchanged; {
	case !t.many():
		o.Back.Text = "To the run"
	case did == 0:
		o.Title, o.Good = label+": nothing was done", false
	case result.Refused+result.NotPending+result.Ended+result.Gone+len(result.Unknown) > 0:
		o.Title, o.Good = label+": done in part", false
	}
	if o.Text = t.command.Summary(result); o.Text == "" && t.many() {
		o.Text = "Nothing was selected."
	}
	o.Records = result.Records[:min(len(result.Records), 5*shownRecords)]
	return o
}
