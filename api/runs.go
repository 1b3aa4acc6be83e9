package api

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/view"
)

func runEndpoints() []endpoint {
	return []endpoint{
		define("GET /api/runs", "listRuns", "List runs, newest first.", "list", func(c *call, q listQuery, _ none) (runList, error) {
			return selectRuns(c.Context(), c.e, q)
		}),
		define("GET /api/runs/{id}", "describeRun", "Describe a run: where it stands, what it waits for, its open calls and their retries.", "show", describeRun).also(access.Starter, workflowOfRun),
		define("GET /api/runs/{id}/result", "awaitResult", "Wait for the end of a run. 200: it has ended, however. 202: it has not; ask again.", "show, flow run", awaitResult).also(access.Starter, workflowOfRun).waits(),
		paged[historyQuery]("GET /api/runs/{id}/history", "listHistory", "List the events of a run, oldest first.", "history",
			"events", "in their order: each with turn, time and kind, and what belongs to its kind", func(last *view.Event) string { return last.Place().String() }),
		paged[attemptsQuery]("GET /api/runs/{id}/attempts", "listAttempts", "List the attempts of the calls of a run, by call and number.", "attempts",
			"attempts", "by call and number", func(last *view.Attempt) string { return last.Place().String() }),
		paged[callsQuery]("GET /api/runs/{id}/calls", "listCalls", "Sum up the attempts of each call of a run, by number.", "attempts, calls",
			"calls", "by number", func(last *view.CallAttempts) string { return strconv.FormatInt(last.Call, 10) }),
		define("GET /api/runs/{id}/comparison", "compareRuns", "Say where a run differs from another one: in its input, and in how its activities and steps went.", "compare", compareRuns),
		answering("GET /api/runs/{id}/audit", "listRunAudit", "List what people and engines did to a run, oldest first.", "audit", "records", "oldest first", false,
			func(c *call, q ofRun) (all []view.ControlRecord, next string, err error) {
				all, err = c.handle(q).Audit(c.Context())
				return all, "", err
			}),
		define("GET /api/runs/{id}/record", "recordRun", "Get the history of a run as a document for replay tests.", "history", recordRun),
	}
}

// ofRun identifies one run of a workflow ID.
type ofRun struct {
	Run string `query:"run" doc:"run ID; default is the latest run of the workflow ID"`
}

func (c *call) handle(q ofRun) perdure.Handle[json.RawMessage] {
	return c.e.Workflow(c.PathValue("id")).OfRun(q.Run)
}

func describeRun(c *call, q ofRun, _ none) (*view.Description, error) {
	d, err := c.handle(q).Describe(c.Context())
	if err == nil {
		err = c.concerns(definitionOf(d))
	}
	return d, err
}

type comparedWith struct {
	ofRun
	With    string `query:"with" doc:"workflow ID of the other run; required"`
	WithRun string `query:"with_run" doc:"its run ID; default is the latest run of the workflow ID"`
}

func compareRuns(c *call, q comparedWith, _ none) (*view.Comparison, error) {
	a, err := c.handle(q.ofRun).Overview(c.Context())
	if err != nil {
		return nil, err
	}
	b, err := c.e.Workflow(q.With).OfRun(q.WithRun).Overview(c.Context())
	if err != nil {
		return nil, err
	}
	compared := view.Compare(a, b)
	return &compared, nil
}

type awaitQuery struct {
	ofRun
	Wait *span `query:"wait" doc:"how long to wait, up to 1m; default 20s"`
}

type outcome struct {
	WorkflowID string `json:"workflow_id" doc:"as in the path"`
	RunID      string `json:"run_id" doc:"of the last run of its chain"`
	Workflow   string `json:"workflow" doc:"name of the definition"`
	Status     string `json:"status" doc:"of the last run of its chain"`
	Closed     bool   `json:"closed" doc:"whether it has ended; without it the wait ended first"`
	// Result is that of a completed run if it is JSON; otherwise Payload has it.
	Result  json.RawMessage `json:"result,omitempty" doc:"of a completed run"`
	Payload *view.Payload   `json:"payload,omitempty" doc:"a result that is not JSON"`
	Failure *view.Failure   `json:"failure,omitempty" doc:"of a failed run"`
	Reason  string          `json:"reason,omitempty" doc:"why it was terminated"`
}

func awaitResult(c *call, q awaitQuery, _ none) (outcome, error) {
	ctx, cancel, err := c.within(q.Wait)
	if err != nil {
		return outcome{}, err
	}
	defer cancel()
	h := c.handle(q.ofRun)
	_, err = h.Result(ctx)
	_, ended := errors.AsType[*perdure.RunError](err)
	if err != nil && !ended && ctx.Err() == nil {
		// The response about a result that is not JSON comes from the record.
		if d, failed := h.Describe(c.Context()); failed != nil || d.Closed == nil {
			return outcome{}, err
		}
	}
	d, err := h.Describe(c.Context())
	for err == nil && d.Status == view.StatusContinued && d.Next != "" {
		d, err = h.OfRun(d.Next).Describe(c.Context())
	}
	if err == nil {
		err = c.concerns(definitionOf(d)) // meanwhile the ID may have become that of another workflow
	}
	if err != nil {
		return outcome{}, err
	}
	o := outcome{
		WorkflowID: d.WorkflowID, RunID: d.RunID, Workflow: d.Workflow, Status: d.Status, Closed: d.Closed != nil, Failure: d.Failure,
	}
	if o.Closed {
		o.Reason = d.Reason
	}
	if d.Result != nil {
		if o.Result = d.Result.JSON; d.Result.Bytes != nil {
			o.Payload = d.Result
		}
	}
	return o, nil
}

type historyQuery struct {
	ofRun
	After view.Place `query:"after" doc:"next of the page before; or a turn, behind which the page begins"`
	Call  int64      `query:"call" doc:"only events of the call with this number"`
	size
}

func (q historyQuery) read(c *call) ([]view.Event, error) {
	return c.handle(q.ofRun).HistoryRange(c.Context(), view.HistoryRange{After: q.After, Call: q.Call, Limit: q.more()})
}

type attemptsQuery struct {
	ofRun
	After view.AttemptPlace `query:"after" doc:"next of the page before; or a call, behind which the page begins"`
	Call  int64             `query:"call" doc:"only attempts of the call with this number"`
	size
}

func (q attemptsQuery) read(c *call) ([]view.Attempt, error) {
	return c.handle(q.ofRun).AttemptsRange(c.Context(), view.AttemptRange{After: q.After, Call: q.Call, Limit: q.more()})
}

type callsQuery struct {
	ofRun
	After int64 `query:"after" doc:"next of the page before: a call, behind which the page begins"`
	size
}

func (q callsQuery) read(c *call) ([]view.CallAttempts, error) {
	return c.handle(q.ofRun).CallsRange(c.Context(), view.CallRange{After: q.After, Limit: q.more()})
}

func recordRun(c *call, q ofRun, _ none) (json.RawMessage, error) {
	return c.handle(q).Record(c.Context())
}
