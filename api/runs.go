package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

func runEndpoints() []endpoint {
	return []endpoint{
		define("GET /api/runs", "listRuns", "List runs, newest first.", "list", listRuns),
		define("POST /api/runs", "startRun", "Start a workflow. If the ID has a run of that workflow with that input, it is attached to: starting twice starts once.",
			"start", startRun).writes().also(access.Starter, workflowOfBody).withKey().values(),
		define("GET /api/runs/{id}", "describeRun", "Describe a run: where it stands, what it waits for, its open calls and their retries.", "show", describeRun).also(access.Starter, workflowOfRun),
		define("GET /api/runs/{id}/result", "awaitResult", "Wait for the end of a run. 200: it has ended, however. 202: it has not; ask again.", "show, flow run", awaitResult).also(access.Starter, workflowOfRun).waits(),
		define("GET /api/runs/{id}/history", "listHistory", "List the events of a run, oldest first.", "history", listHistory),
		define("GET /api/runs/{id}/attempts", "listAttempts", "List the attempts of the calls of a run, by call and number.", "attempts", listAttempts),
		define("GET /api/runs/{id}/calls", "listCalls", "Sum up the attempts of each call of a run, by number.", "attempts, calls", listCalls),
		define("GET /api/runs/{id}/audit", "listRunAudit", "List what people and engines did to a run, oldest first.", "audit", listRunAudit),
		define("GET /api/runs/{id}/record", "recordRun", "Get the history of a run as a document for replay tests.", "history", recordRun),
	}
}

// runSettings are the settings of a run that is started now or by a schedule.
type runSettings struct {
	Priority     int               `json:"priority,omitempty" doc:"from -1000 to 1000: waiting calls of higher runs start first"`
	Key          string            `json:"key,omitempty" doc:"of a customer, for instance: where runs and calls wait, keys take turns"`
	Weight       int               `json:"weight,omitempty" doc:"of the key, from 1 to 1000: as many turns where others take one"`
	RunTimeout   span              `json:"run_timeout,omitempty" doc:"closes a run that takes so long"`
	ChainTimeout span              `json:"chain_timeout,omitempty" doc:"closes the workflow if all its runs together take so long"`
	Retry        *policy           `json:"retry,omitempty" doc:"by which a run that fails is started again"`
	Memo         json.RawMessage   `json:"memo,omitempty" doc:"a value to keep with the run"`
	Attributes   map[string]string `json:"attributes,omitempty" doc:"by which the run is found"`
}

func (s runSettings) options() (options []workflow.RunOption) {
	if s.Priority != 0 {
		options = append(options, workflow.Priority(s.Priority))
	}
	if s.Key != "" || s.Weight != 0 {
		options = append(options, workflow.WeightedKey(s.Key, s.Weight))
	}
	if s.RunTimeout != 0 {
		options = append(options, workflow.RunTimeout(s.RunTimeout.duration()))
	}
	if s.ChainTimeout != 0 {
		options = append(options, workflow.ChainTimeout(s.ChainTimeout.duration()))
	}
	if s.Retry != nil {
		options = append(options, workflow.RetryPolicy(s.Retry.value))
	}
	if s.Memo != nil {
		options = append(options, workflow.Memo(s.Memo))
	}
	if len(s.Attributes) > 0 {
		options = append(options, workflow.Attributes(s.Attributes))
	}
	return options
}

type startBody struct {
	Workflow   string          `json:"workflow" doc:"name of the definition" need:"name the definition with workflow"`
	WorkflowID string          `json:"workflow_id,omitempty" doc:"is the idempotency key of the start; without one the header Idempotency-Key is the ID"`
	Input      json.RawMessage `json:"input,omitempty" doc:"of the workflow; without one it is null"`
	runSettings
	Delay       span   `json:"delay,omitempty" doc:"its code begins after so long"`
	NewAfter    string `json:"new_after,omitempty" enum:"any,failure" doc:"uses the ID of a closed run again: however it ended, or unless it completed"`
	MustBeNew   bool   `json:"must_be_new,omitempty" doc:"refuses an ID that has a run, instead of attaching to it"`
	AnyInput    bool   `json:"any_input,omitempty" doc:"attaches to the run of the workflow that has the ID, also if its input is another one"`
	TraceParent string `json:"trace_parent,omitempty" doc:"W3C trace parent; default is the header Traceparent"`
}

type started struct {
	WorkflowID string `json:"workflow_id" doc:"as given, or the Idempotency-Key"`
	RunID      string `json:"run_id" doc:"of the run that was started, or of the one that was there"`
	Workflow   string `json:"workflow" doc:"name of the definition"`
	Attached   bool   `json:"attached" doc:"it was there before"`
	Warning    string `json:"warning,omitempty" doc:"no node is known that has the workflow, with names that are written almost like it"`
}

func (s started) status() int {
	if s.Attached {
		return http.StatusOK
	}
	return http.StatusCreated
}

func startRun(c *call, _ none, b startBody) (started, error) {
	id := b.WorkflowID
	switch {
	case id == "" && c.key == "":
		return started{}, badRequest("the workflow_id is missing; choose one, so that a repeated request finds its run")
	case id == "":
		id = c.key
	case c.key != "" && c.key != id:
		return started{}, badRequest("the workflow_id and the Idempotency-Key differ, and both identify the run; leave one out")
	}
	var options []perdure.StartOption
	for _, o := range b.options() {
		options = append(options, o)
	}
	switch b.NewAfter {
	case "":
	case "any":
		options = append(options, perdure.NewAfter(perdure.AnyEnd))
	case "failure":
		options = append(options, perdure.NewAfter(perdure.Failure))
	default:
		return started{}, badRequest("new_after is %q; it can be any or failure", b.NewAfter)
	}
	if b.MustBeNew {
		options = append(options, perdure.MustBeNew())
	}
	if b.AnyInput {
		options = append(options, perdure.AnyInput())
	}
	if b.Delay != 0 {
		options = append(options, workflow.Delay(b.Delay.duration()))
	}
	trace := b.TraceParent
	if trace == "" {
		trace = c.Header.Get("Traceparent")
	}
	if trace != "" {
		options = append(options, perdure.TraceParent(trace))
	}
	h, err := perdure.Start(c.Context(), c.e, named(b.Workflow), id, orNull(b.Input), options...)
	if err != nil {
		return started{}, err
	}
	return started{WorkflowID: id, RunID: h.RunID(), Workflow: b.Workflow, Attached: h.Attached(), Warning: c.unregistered(b.Workflow)}, nil
}

// unregistered returns a warning if no node is known that has a workflow. That it cannot be known
// does not matter: the request was carried out.
func (c *call) unregistered(workflow string) string {
	if _, known := c.names.Load(workflow); known {
		return ""
	}
	warning, err := ops.Unregistered(c.Context(), c.e, "workflow", workflow)
	if err == nil && warning == "" {
		c.names.Store(workflow, true)
	}
	return warning
}

// named returns a workflow of which only the name is known.
func named(name string) workflow.Workflow[json.RawMessage, json.RawMessage] {
	return workflow.Declare[json.RawMessage, json.RawMessage](name)
}

// orNull returns v, or null if v is absent.
func orNull(v json.RawMessage) json.RawMessage {
	if len(v) == 0 {
		return json.RawMessage("null")
	}
	return v
}

// ofRun identifies one run of a workflow ID.
type ofRun struct {
	Run string `query:"run" doc:"run ID; default is the latest run of the workflow ID"`
}

func (c *call) handle(q ofRun) perdure.Handle[json.RawMessage] {
	h := c.e.Workflow(c.PathValue("id"))
	if q.Run != "" {
		h = h.OfRun(q.Run)
	}
	return h
}

func describeRun(c *call, q ofRun, _ none) (*view.Description, error) {
	d, err := c.handle(q).Describe(c.Context())
	if err == nil {
		err = c.concerns(definitionOf(d))
	}
	return d, err
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

func (o outcome) status() int {
	if o.Closed {
		return http.StatusOK
	}
	return http.StatusAccepted
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
	After place `query:"after" doc:"next of the page before; or a turn, behind which the page begins"`
	Call  int64 `query:"call" doc:"only events of the call with this number"`
	Limit int   `query:"limit" doc:"at most so many; default 1000"`
}

type eventList struct {
	Events []json.RawMessage `json:"events" doc:"in their order: each with turn, time and kind, and what belongs to its kind"`
	Next   string            `json:"next,omitempty" doc:"after of the next page, if there is one"`
}

// mostOnPage is the maximum number of events, attempts or calls in a page.
const mostOnPage = 100_000

// onPage returns the length of a page from what the caller asks for.
func onPage(limit int, what string) (int, error) {
	if limit > mostOnPage {
		return 0, badRequest("the limit is %d; at most %d %s are listed on a page", limit, mostOnPage, what)
	}
	return cmp.Or(limit, 1000), nil
}

// cut returns a page of a list that was read with one extra element, and the last element
// of the page if there is an extra one.
func cut[T any](all []T, limit int) (page []T, last *T) {
	if len(all) <= limit {
		return append([]T{}, all...), nil
	}
	return all[:limit:limit], &all[limit-1]
}

func listHistory(c *call, q historyQuery, _ none) (l eventList, err error) {
	limit, err := onPage(q.Limit, "events")
	if err != nil {
		return l, err
	}
	events, err := c.handle(q.ofRun).HistoryRange(c.Context(), view.HistoryRange{After: q.After.Place, Call: q.Call, Limit: limit + 1})
	if err != nil {
		return l, err
	}
	events, last := cut(events, limit)
	if last != nil {
		l.Next = last.Place().String()
	}
	l.Events = make([]json.RawMessage, len(events))
	for i := range events {
		l.Events[i] = events[i].Record
	}
	return l, nil
}

type attemptsQuery struct {
	ofRun
	After attemptPlace `query:"after" doc:"next of the page before; or a call, behind which the page begins"`
	Call  int64        `query:"call" doc:"only attempts of the call with this number"`
	Limit int          `query:"limit" doc:"at most so many; default 1000"`
}

type attemptList struct {
	Attempts []view.Attempt `json:"attempts" doc:"by call and number"`
	Next     string         `json:"next,omitempty" doc:"after of the next page, if there is one"`
}

func listAttempts(c *call, q attemptsQuery, _ none) (l attemptList, err error) {
	limit, err := onPage(q.Limit, "attempts")
	if err != nil {
		return l, err
	}
	attempts, err := c.handle(q.ofRun).AttemptsRange(c.Context(), view.AttemptRange{After: q.After.AttemptPlace, Call: q.Call, Limit: limit + 1})
	attempts, last := cut(attempts, limit)
	if l.Attempts = attempts; last != nil {
		l.Next = last.Place().String()
	}
	return l, err
}

type callsQuery struct {
	ofRun
	After int64 `query:"after" doc:"next of the page before: a call, behind which the page begins"`
	Limit int   `query:"limit" doc:"at most so many; default 1000"`
}

type callList struct {
	Calls []view.CallAttempts `json:"calls" doc:"by number"`
	Next  int64               `json:"next,omitempty" doc:"after of the next page, if there is one"`
}

func listCalls(c *call, q callsQuery, _ none) (l callList, err error) {
	limit, err := onPage(q.Limit, "calls")
	if err != nil {
		return l, err
	}
	calls, err := c.handle(q.ofRun).CallsRange(c.Context(), view.CallRange{After: q.After, Limit: limit + 1})
	calls, last := cut(calls, limit)
	if l.Calls = calls; last != nil {
		l.Next = last.Call
	}
	return l, err
}

type controlList struct {
	Records []view.ControlRecord `json:"records" doc:"oldest first"`
}

func listRunAudit(c *call, q ofRun, _ none) (l controlList, err error) {
	records, err := c.handle(q).Audit(c.Context())
	l.Records = append([]view.ControlRecord{}, records...)
	return l, err
}

func recordRun(c *call, q ofRun, _ none) (json.RawMessage, error) {
	return c.handle(q).Record(c.Context())
}
