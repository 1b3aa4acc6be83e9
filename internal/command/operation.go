package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// Operation is an operation on runs or calls with all that it needs to know.
type Operation struct {
	calls *ops.Operation // nil: it is about runs as a whole
	runs  ops.RunOperation
	force bool
	// effect says what it comes to for what a dry run selected; nil: the selection says it all.
	effect func(a *Ask, selected *view.BulkResult) (Effect, error)
	// send asks one run and does not wait for the outcome; nil: one always waits.
	send func(a *Ask, r *Reason) (Sent, error)
}

// Sent is the result of what is only sent.
type Sent struct {
	WorkflowID string `json:"workflow_id,omitempty" doc:"of an operation on a run: as in the path"`
	Sent       string `json:"sent" doc:"name of the operation"`
	Name       string `json:"name,omitempty" doc:"of a signal: as in the path"`
	Key        string `json:"key,omitempty" doc:"of a signal: its Idempotency-Key, if it had one"`
	Why        string `json:"why,omitempty" doc:"reason that was given"`
	Says       string `json:"-"` // a sentence
}

// bulk completes the row of an operation on runs or calls with what makes it.
func bulk[P any](c Command, make func(p *P) (Operation, error)) Command {
	c = Row(c, func(*Ask, *P) (view.BulkResult, Effect, error) { panic("command: an operation has a target") })
	c.bulk = func(p any) (Operation, error) { return make(p.(*P)) }
	return c
}

// onCalls makes an operation on calls, onRuns one on runs, of what needs nothing to be known.
func onCalls(op ops.Operation) func(*Reason) (Operation, error) {
	return func(*Reason) (Operation, error) { return Operation{calls: &op}, nil }
}

func onRuns(op ops.RunOperation) func(*Reason) (Operation, error) {
	return func(*Reason) (Operation, error) { return Operation{runs: op}, nil }
}

// Bulk reports whether the command is an operation on any number of runs.
func (c *Command) Bulk() bool { return c.bulk != nil }

// OnCalls reports whether it is about calls, not about runs as a whole.
func (c *Command) OnCalls() bool { return c.On == Calls }

// Target is what an operation is done to: the latest run of a workflow ID, or many, and of
// their calls those that a filter selects.
type Target struct {
	ID        string
	Runs      view.Filter // without an ID: which
	Chosen    []string    // in place of Runs: the latest runs of these workflow IDs
	Selection string      // in place of all others: what a dry run has selected
	Calls     view.CallFilter
}

// Many reports whether it may be more than one run.
func (t *Target) Many() bool { return t.ID == "" }

// Operate carries an operation out on its target, or selects what it would be done to.
func (c *Command) Operate(a *Ask, t *Target, params any) (view.BulkResult, Effect, error) {
	var e Effect
	if err := param.Complete(params); err != nil {
		return view.BulkResult{}, e, err
	}
	op, err := c.bulk(params)
	if err != nil {
		return view.BulkResult{}, e, err
	}
	r := ReasonOf(params)
	result, err := op.do(a, t, r)
	if err == nil && r.DryRun && op.effect != nil {
		e, err = op.effect(a, &result)
	}
	return result, e, err
}

// OfMany says what must be known of many runs that nobody has seen; nil if it is.
func (c *Command) OfMany(params any) error {
	if p, ok := params.(interface{ ofMany() error }); ok {
		return p.ofMany()
	}
	return nil
}

// StandIn gives what must be given and is not stand-ins: what is selected does not depend on it.
func (c *Command) StandIn(params any) {
	for _, p := range c.Takes() {
		if p.Need == "" || p.Given(params) {
			continue
		}
		text := "preview"
		switch {
		case p.Number():
			text = "1"
		case p.Name == "policy":
			text = "[retry: 1]"
		}
		if err := p.Set(params, text); err != nil {
			panic(err)
		}
	}
}

// Send asks one run and does not wait for the outcome. It reports whether the operation can.
func (c *Command) Send(a *Ask, params any) (sent Sent, can bool, err error) {
	if err := param.Complete(params); err != nil {
		return sent, true, err
	}
	op, err := c.bulk(params)
	if err != nil || op.send == nil {
		return sent, err != nil, err
	}
	sent, err = op.send(a, ReasonOf(params))
	return sent, true, err
}

func (o *Operation) do(a *Ask, t *Target, r *Reason) (result view.BulkResult, err error) {
	options := a.Settings(r)
	if o.force {
		options = append(options, ops.Force())
	}
	if !t.Many() {
		result.Runs, result.DryRun = 1, r.DryRun
		if o.calls != nil {
			result.Records, err = ops.Control(a.Ctx, a.Engine, t.ID, t.Calls, *o.calls, options...)
			result.Calls = len(result.Records)
			return result, err
		}
		record, err := ops.ControlRun(a.Ctx, a.Engine, t.ID, o.runs, options...)
		if err == nil {
			result.Records = []view.ControlRecord{record}
		}
		return result, err
	}
	runs := t.Runs
	if runs.Call == view.CallRetrying {
		runs.Call = view.CallBackoff // calls are found by their state
	}
	if t.Selection != "" {
		options = append(options, ops.Selected(t.Selection))
	}
	if t.Chosen != nil {
		options = append(options, ops.Chosen(t.Chosen...))
	}
	if o.calls != nil {
		return ops.ControlAll(a.Ctx, a.Engine, runs, t.Calls, *o.calls, options...)
	}
	return ops.ControlRuns(a.Ctx, a.Engine, runs, o.runs, options...)
}

// Counted says how much an operation selects: "4 calls in 3 workflows".
func (c *Command) Counted(r *view.BulkResult) string {
	text := human.Plural(r.Runs, "workflow", "workflows")
	if c.OnCalls() {
		text = human.Plural(r.Calls, "call", "calls") + " in " + text
	}
	return text
}

// Summary says what an operation on many runs has done, such as "7 retried, 12 unchanged
// (waiting at gate payments)"; empty if nothing was selected.
func (c *Command) Summary(r *view.BulkResult) string {
	var parts []string
	for _, part := range []struct {
		n             int
		what, outcome string
	}{
		{r.Applied, c.Did, ""}, {r.Unchanged, "unchanged", view.Unchanged}, {r.Refused, "refused", view.Refused}, {r.NotPending, "no longer pending", ""},
		{r.Ended, "ended before", ""}, {r.Gone, "no longer as it was shown", ""}, {r.Unanswered, "not carried out yet", ""},
	} {
		if part.n > 0 {
			parts = append(parts, human.Count(part.n)+" "+part.what+notes(r.Records, part.outcome))
		}
	}
	if len(r.Unknown) > 0 {
		parts = append(parts, NoWorkflow(r.Unknown))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + "."
}

// NoWorkflow says that no run has these workflow IDs.
func NoWorkflow(ids []string) string {
	var some []string
	for _, id := range ids[:min(len(ids), 5)] {
		some = append(some, strconv.Quote(id))
	}
	text := "no workflow " + strings.Join(some, ", ")
	if more := len(ids) - len(some); more > 0 {
		text += " and " + human.Count(more) + " more"
	}
	return text
}

// notes returns the reasons in records with an outcome, in parentheses.
func notes(records []view.ControlRecord, outcome string) string {
	var all []string
	for _, record := range records {
		if record.Outcome == outcome && record.Note != "" && !slices.Contains(all, record.Note) {
			all = append(all, record.Note)
		}
	}
	switch {
	case len(all) == 0:
		return ""
	case len(all) > 3:
		all = append(all[:3], "...")
	}
	return " (" + strings.Join(all, "; ") + ")"
}

// sending makes an operation that one may only send, too.
func sending(op ops.RunOperation, verb, says string, send func(context.Context, *perdure.Engine, string, ...ops.Option) error) func(*Reason) (Operation, error) {
	return func(*Reason) (Operation, error) {
		return Operation{runs: op, send: func(a *Ask, r *Reason) (Sent, error) {
			sent := Sent{WorkflowID: a.Name, Sent: verb, Why: r.Why, Says: fmt.Sprintf(says, a.Name)}
			return sent, send(a.Ctx, a.Engine, a.Name, ops.By(a.By), ops.Why(r.Why))
		}}, nil
	}
}

// Error is an error that a person or another program reports. Code and policies recognize it
// by its type.
type Error struct{ kind, message string }

// NewError returns the error of a type. An empty type is that of errors without one.
func NewError(kind, message string) *Error { return &Error{cmp.Or(kind, retry.TypeError), message} }

func (e *Error) Error() string { return e.message }

// ErrorType returns the type.
func (e *Error) ErrorType() string { return e.kind }
