package command

import (
	"context"
	"encoding/json"
	"time"

	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/workflow"
)

var queryRun = Row(Command{
	On: Runs, Name: "query", Address: "POST /api/runs/{id}/queries/{name}", Short: "Query a workflow", NoKey: true, Reads: true,
	Means: "The query handler of that name in the workflow's code answers, also if the workflow has ended. An engine that serves the workflow must be running. Nothing is recorded.",
	More:  "The input is JSON, and with - it is read from standard input. The answer is printed as\nJSON. The exit code is 6 if there is none in time.",
	Example: `  perdure query order-17 progress
  perdure query order-17 price '{"currency": "EUR"}' --wait 1m`,
}, func(a *Ask, p *query) (r Answer, e Effect, err error) {
	r = Answer{WorkflowID: a.Name, Name: p.Handler}
	ctx, cancel := p.within(a.Ctx)
	defer cancel()
	r.Result, err = a.Engine.Workflow(a.Name).Query(ctx, p.Handler, p.Input)
	r.Result = OrNull(r.Result)
	return r, Effect{Answer: r.Result}, err
})

var updateRun = Row(Command{
	On: Runs, Name: "update", Address: "POST /api/runs/{id}/updates/{name}", Short: "Update a workflow, and get the result",
	Means: "The update handler of that name in the workflow's code accepts or rejects the update, carries it out, and returns a result, which is on record. Without a result in time it is in the database, and is carried out: ask again with the same key.",
	More: `The input is JSON, and with - it is read from standard input. The result is printed as
JSON.

With --id the update has an idempotency key: repeating it returns the first result, even
after the workflow has ended.

The exit code is 6 if there is no result in time; ask for it with the same --id.`,
	Example: `  perdure update order-17 add-item '{"item": "grinder"}'
  perdure update order-17 approve --id approve-1 --wait 1h`,
	KeyedFor: "with it the result of an update can be asked for again",
}, func(a *Ask, p *update) (r Updated, e Effect, err error) {
	r = Updated{WorkflowID: a.Name, Name: p.Handler, Key: a.Request}
	ctx, cancel := p.within(a.Ctx)
	defer cancel()
	result, err := workflow.NewUpdate[json.RawMessage, json.RawMessage](p.Handler).CallOnce(ctx, a.Engine.Workflow(a.Name), a.Request, p.Input)
	if err != nil {
		return r, e, err
	}
	r.Done, r.Result = true, OrNull(result)
	return r, Effect{Answer: r.Result}, nil
})

// question is a part of what is asked of the code of a run.
type question struct {
	Input json.RawMessage `json:"input,omitempty" arg:"[JSON]" kind:"text" help:"input of the handler; without one it is null" label:"Input, as JSON"`
	Wait  param.Span      `json:"wait,omitempty" default:"20s" form:"-" help:"wait at most this {duration} for the answer" doc:"how long to wait, up to 1m; default 20s"`
}

func (q *question) within(ctx context.Context) (context.Context, context.CancelFunc) {
	q.Input = OrNull(q.Input)
	return context.WithTimeout(ctx, time.Duration(q.Wait))
}

func (q *question) wait() time.Duration { return time.Duration(q.Wait) }

// WaitOf returns how long a command waits for an answer, and whether it does.
func WaitOf(params any) (wait time.Duration, waits bool) {
	if q, ok := params.(interface{ wait() time.Duration }); ok {
		return q.wait(), true
	}
	return 0, false
}

// Answer is what the code of a run has answered to a query.
type Answer struct {
	WorkflowID string          `json:"workflow_id" doc:"as in the path"`
	Name       string          `json:"name" doc:"of the query, as in the path"`
	Result     json.RawMessage `json:"result" doc:"what the handler returned"`
}

// Updated is how far an update has come.
type Updated struct {
	WorkflowID string          `json:"workflow_id" doc:"as in the path"`
	Name       string          `json:"name" doc:"of the update, as in the path"`
	Done       bool            `json:"done" doc:"whether the handler has returned"`
	Result     json.RawMessage `json:"result,omitempty" doc:"what the handler returned, once it is done"`
	Key        string          `json:"key,omitempty" doc:"the Idempotency-Key, with which the result can be asked for again"`
}

type query struct {
	Handler string `json:"-" path:"name" flag:"handler" arg:"NAME" help:"name of the query" label:"Name of the query" need:"give the one that the workflow's code answers"`
	question
}

type update struct {
	Handler string `json:"-" path:"name" flag:"handler" arg:"NAME" help:"name of the update" label:"Name of the update" need:"give the one that the workflow's code handles"`
	question
}
