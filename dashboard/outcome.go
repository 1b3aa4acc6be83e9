package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/view"
)

// outcome is the outcome of an operation.
type outcome struct {
	Title   string
	Text    string
	Good    bool
	Next    string
	Records []view.ControlRecord
	Again   *operateForm // the form to repeat the request for what is left
	Back    linked
}

func (o *outcome) title() string { return o.Title }

// carryOut carries out the operation of the form.
func carryOut(q *request) (any, error) {
	if err := q.ParseForm(); err != nil {
		return nil, &badRequest{err.Error(), "Send the form again."}
	}
	t, err := q.posted()
	if err != nil {
		return nil, err
	}
	values := q.PostForm
	if !t.shown(values) {
		return q.operateForm(&t, url.Values{"request": values["request"], "reason": values["reason"]}, nil)
	}
	entered := values
	if t.op.Shown {
		if entered = t.given; len(entered) == 0 {
			return nil, &badRequest{"What is to change is missing.", "Write it into the form and look at the difference first."}
		}
	}
	ctx, cancel := context.WithTimeout(q.ctx, patience)
	defer cancel()
	result, err := q.operation(ctx, &t, entered)
	var refused *view.RefusedError
	switch {
	case err != nil && (t.selection == "" || wrongInput(t.op, err) != nil) && q.entered(t.op, &err):
		q.status = http.StatusUnprocessableEntity
		return q.operateForm(&t, values, err)
	case errors.As(err, &refused):
		q.status = http.StatusConflict
		return q.operateForm(&t, values, fmt.Errorf("It is refused: %s", refused.Record.Note)) //nolint:staticcheck // a sentence on a page
	case errors.Is(err, perdure.ErrNotPending), errors.Is(err, perdure.ErrClosed):
		q.status = http.StatusConflict
		return q.operateForm(&t, values, err)
	case errors.Is(err, perdure.ErrNoAnswer):
		q.status = http.StatusAccepted
		return q.unanswered(&t, values, &result), nil
	case err != nil:
		return nil, err
	}
	if !t.many() {
		q.redirect = string(link("run", "id", t.id, "request", values.Get("request")))
		return nil, nil
	}
	return q.summary(&t, &result), nil
}

// operation carries out an operation with what was entered.
func (q *request) operation(ctx context.Context, t *target, entered url.Values) (result view.BulkResult, err error) {
	params := t.op.New()
	if err := enter(t.op, params, t.op.New(), entered); err != nil {
		return result, err
	}
	command.ReasonOf(params).Why = q.PostForm.Get("reason")
	defer func(whole context.Context) { q.ctx = whole }(q.ctx)
	q.ctx = ctx
	result, _, err = t.do(q, params, q.PostForm.Get("request"))
	return result, err
}

// unanswered says that no engine has carried it out yet.
func (q *request) unanswered(t *target, values url.Values, result *view.BulkResult) *outcome {
	o := q.summary(t, result)
	o.Title, o.Good = "It is asked for, and not done yet", false
	o.Next = fmt.Sprintf("No engine did all of it within %s. The request is in the database, and is carried out when an engine serves it.", human.Duration(patience))
	if t.many() {
		o.Next = fmt.Sprintf("No engine did all of it within %s. What was asked for is in the database, and is carried out when an engine serves it; the rest may not be asked for yet.", human.Duration(patience))
		o.Again = &operateForm{
			Action: linkTo("operate", t.query()), Key: values.Get("request"), Selection: t.selection, Unnamed: t.selection == "", Reason: values.Get("reason"), Button: "Do the rest",
		}
		if !t.op.Shown {
			o.Again.Fields = inputs(t.op, &command.Form{}, t.op.New(), values)
		}
	}
	return o
}

// summary describes the outcome of an operation on many runs.
func (q *request) summary(t *target, result *view.BulkResult) *outcome {
	o := &outcome{Title: t.op.Label + ": done", Good: true, Back: linked{"Back to the list", linkTo("runs", t.filter.query())}}
	switch did := result.Applied + result.Unchanged; {
	case !t.many():
		o.Back = linked{"To the run", runLink(t.id, "").Link}
	case did == 0:
		o.Title, o.Good = t.op.Label+": nothing was done", false
	case result.Refused+result.NotPending+result.Ended+result.Gone+len(result.Unknown) > 0:
		o.Title, o.Good = t.op.Label+": done in part", false
	}
	if o.Text = t.op.Summary(result); o.Text == "" && t.many() {
		o.Text = "Nothing was selected."
	}
	o.Records = result.Records[:min(len(result.Records), 5*shownRecords)]
	return o
}
