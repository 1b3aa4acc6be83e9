package api

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/operation"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

func operationEndpoints() []endpoint {
	words := strings.Join(operationNames(), ", ")
	return []endpoint{
		define("POST /api/runs/{id}/operations", "operateOnRun", "Operate on a run or its open calls: "+words+". 202: the request is in the database, and is carried out when an engine serves the run.",
			strings.Join(operationNames(), ", "), operateOnRun).writes().withKey().values().waits(),
		define("POST /api/operations", "operateOnRuns", "Operate on all runs that a filter selects, or on their open calls; with dry_run only count and list them, and get the selection by which exactly these are meant.",
			strings.Join(operationNames(), ", "), operateOnRuns).writes().withKey().values().waits(),
		define("POST /api/runs/{id}/fork", "forkRun", "Start a run under a new ID that continues from a call of another one.", "fork", forkRun).writes().values(),
	}
}

// operationBody is the body of a request for an operation.
type operationBody struct {
	Operation string          `json:"operation" doc:"what is done: see the description of the address" need:"name one of those that the address describes"`
	Calls     view.CallFilter `json:"calls,omitzero" doc:"of operations on calls: which open calls; without it all"`
	Result    json.RawMessage `json:"result,omitempty" doc:"of skip"`
	Error     string          `json:"error,omitempty" doc:"of fail: what the code is told"`
	As        string          `json:"as,omitempty" doc:"of fail: type of the error"`
	Policy    *edit           `json:"policy,omitempty" doc:"of edit-policy: what it names is changed"`
	Replace   bool            `json:"replace,omitempty" doc:"of edit-policy: the policy is the whole one"`
	Force     bool            `json:"force,omitempty" doc:"of retry-now: also calls that crashed their process on every build that a live node has"`
	Call      int64           `json:"call,omitempty" doc:"of reset: the first call that is made again"`
	KeepKeys  bool            `json:"keep_keys,omitempty" doc:"of reset: calls that are made again keep their idempotency keys"`
	Signal    string          `json:"signal,omitempty" doc:"of signal: its name"`
	Value     json.RawMessage `json:"value,omitempty" doc:"of signal"`
	From      string          `json:"from,omitempty" doc:"of move-runs: the build on which the runs stay now; may be left out for one run"`
	To        string          `json:"to,omitempty" doc:"of move-runs: the build on which they stay from now on"`
	Why       string          `json:"why,omitempty" doc:"for the audit"`
	DryRun    bool            `json:"dry_run,omitempty" doc:"only say what is selected"`
	Wait      *span           `json:"wait,omitempty" doc:"how long to wait for an engine, up to 1m; default 20s"`
}

// options are those of the verbs of package ops.
func (b *operationBody) options(c *call) []ops.ControlOption {
	options := c.control(b.Why, b.DryRun)
	if b.Force {
		options = append(options, ops.Force())
	}
	return options
}

// operationKind is a row of the table of operations.
type operationKind struct {
	operation.Kind
	takes []string // the fields that it takes, of those that only some operations take
	needs *need    // that of these which has to be given; nil: none
	make  func(b *operationBody) operation.Operation
}

// operationKinds is the table.
var operationKinds = []operationKind{
	{Kind: operation.RetryNow, takes: []string{"force"}},
	{Kind: operation.Pause},
	{Kind: operation.Resume},
	{
		Kind: operation.EditPolicy, takes: []string{"policy", "replace"}, needs: &need{"policy", "say what of it is to change, as in [retry: 20]"},
		make: func(b *operationBody) operation.Operation {
			if b.Replace || b.Policy.text == "" {
				return operation.OnCalls(ops.EditPolicy(b.Policy.value))
			}
			return operation.OnCalls(ops.ChangePolicy(b.Policy.text))
		},
	},
	{Kind: operation.Skip, takes: []string{"result"}, make: func(b *operationBody) operation.Operation {
		return operation.OnCalls(ops.Skip(orNull(b.Result)))
	}},
	{
		Kind: operation.Fail, takes: []string{"error", "as"}, needs: &need{"error", "say what went wrong with error"},
		make: func(b *operationBody) operation.Operation {
			return operation.OnCalls(ops.FailNow(operation.NewError(b.As, b.Error)))
		},
	},
	{Kind: operation.PauseRun},
	{Kind: operation.ResumeRun},
	{
		Kind: operation.Reset, takes: []string{"call", "keep_keys"}, needs: &need{"call", "name the one from which to go on, as histories number it"},
		make: func(b *operationBody) operation.Operation {
			if b.KeepKeys {
				return operation.OnRuns(ops.ResetRunKeepingKeys(b.Call))
			}
			return operation.OnRuns(ops.ResetRun(b.Call))
		},
	},
	{
		Kind: operation.MoveRuns, takes: []string{"from", "to"}, needs: &need{"to", "name the build to which runs move, as nodes show it"},
		make: func(b *operationBody) operation.Operation { return operation.OnRuns(ops.MoveRun(b.From, b.To)) },
	},
	{Kind: operation.Cancel},
	{Kind: operation.Terminate},
	{
		Kind: operation.Signal, takes: []string{"signal", "value"}, needs: &need{"signal", "give its name with signal"},
		make: func(b *operationBody) operation.Operation {
			return operation.OnRuns(ops.SignalRun(b.Signal, orNull(b.Value)))
		},
	},
}

// operation returns the operation that a body asks for.
func (k *operationKind) operation(b *operationBody) operation.Operation {
	if k.make == nil {
		return k.Plain
	}
	return k.make(b)
}

// conditions adds to the schema which operations there are and what each one needs.
func (operationBody) conditions(schema Schema) { operationConditions(schema, false) }

// operationConditions adds to a schema what operations need, which may be on a selection.
func operationConditions(schema Schema, selectable bool) {
	schema["properties"].(map[string]Schema)["operation"]["enum"] = operationNames()
	var all []Schema
	for _, k := range operationKinds {
		then := Schema{}
		if k.needs != nil {
			then["required"] = []string{k.needs.field}
		}
		if k.Named {
			named := Schema{"required": []string{"calls"}, "properties": Schema{"calls": Schema{"anyOf": requireOne([]string{"call", "name"}, "")}}}
			then["anyOf"] = []Schema{named}
			if selectable {
				then["anyOf"] = append([]Schema{named}, requireOne([]string{"selection"}, "")...)
			}
		}
		if len(then) > 0 {
			all = append(all, Schema{"if": Schema{"properties": Schema{"operation": Schema{"const": k.Name}}}, "then": then})
		}
	}
	schema["allOf"] = all
}

func operationNames() (names []string) {
	for _, k := range operationKinds {
		names = append(names, k.Name)
	}
	return names
}

// kind returns the row of an operation, which may be on a selection. It returns an error for
// fields that the operation would ignore, and for those that it needs.
func (b *operationBody) kind(selected bool) (operationKind, error) {
	i := slices.IndexFunc(operationKinds, func(k operationKind) bool { return k.Name == b.Operation })
	if i < 0 {
		return operationKind{}, badRequest("there is no operation %q; there are %s", b.Operation, strings.Join(operationNames(), ", "))
	}
	k := operationKinds[i]
	for field, there := range map[string]bool{
		"result": b.Result != nil, "error": b.Error != "", "as": b.As != "", "policy": b.Policy != nil, "replace": b.Replace, "force": b.Force, "keep_keys": b.KeepKeys,
		"call": b.Call != 0, "signal": b.Signal != "", "value": b.Value != nil, "from": b.From != "", "to": b.To != "",
		"calls": b.Calls.Call != 0 || b.Calls.Name != "" || len(b.Calls.States) > 0 || b.Calls.ErrorType != "",
	} {
		if there && !slices.Contains(k.takes, field) && !(field == "calls" && k.OnCalls) {
			return k, badRequest("%s means nothing to the operation %s; leave it out", field, k.Name)
		}
	}
	if k.Named && b.Calls.Call == 0 && b.Calls.Name == "" && !selected {
		return k, badRequest("%s needs a call or an activity; name it with calls.call or calls.name", k.Name)
	}
	if k.needs != nil && !given(*b, k.needs.field) {
		return k, k.needs.missing()
	}
	if b.Replace && b.Policy.part != nil {
		return k, b.Policy.part
	}
	return k, nil
}

// controlled is the result of an operation on one run.
type controlled struct {
	Request string               `json:"request" doc:"its idempotency key: asking again with it has the same answer"`
	DryRun  bool                 `json:"dry_run,omitempty" doc:"nothing was done: the records say what is selected"`
	Done    bool                 `json:"done" doc:"false: no engine has carried it out yet"`
	Records []view.ControlRecord `json:"records" doc:"the outcome for each call, or for the run"`
}

func (r controlled) status() int {
	if r.Done {
		return http.StatusOK
	}
	return http.StatusAccepted
}

// request returns the key of a request. It creates one if there is none, so that the
// request can be repeated.
func (c *call) request() string {
	if c.key == "" {
		c.key = rand.Text()
	}
	return c.key
}

func operateOnRun(c *call, _ none, b operationBody) (r controlled, err error) {
	k, err := b.kind(false)
	if err != nil {
		return r, err
	}
	ctx, cancel, err := c.within(b.Wait)
	if err != nil {
		return r, err
	}
	defer cancel()
	id := c.PathValue("id")
	r = controlled{Request: c.request(), DryRun: b.DryRun, Records: []view.ControlRecord{}}
	options := b.options(c)
	op := k.operation(&b)
	records, err := op.One(ctx, c.e, id, b.Calls, options...)
	r.Records = append(r.Records, records...)
	return r.done(err)
}

func (r controlled) done(err error) (controlled, error) {
	r.Done = err == nil
	if errors.Is(err, perdure.ErrNoAnswer) {
		err = nil
	}
	return r, err
}

type bulkBody struct {
	Runs      *bulkRuns `json:"runs,omitempty" doc:"which runs; without a status the open ones, so {} is every open run"`
	Selection string    `json:"selection,omitempty" doc:"what a dry run has selected, in place of runs and calls. Nothing else is touched, and the answer says what is gone"`
	operationBody
}

func (bulkBody) oneOf() ([]string, string) {
	return []string{"runs", "selection"}, "say which are meant, as in {\"workflow\": \"checkout\"} or {\"ids\": [\"order-17\"]}; {} is every open run"
}

type bulkRuns struct {
	runFilter
	Retrying bool     `json:"retrying,omitempty" doc:"with a call in backoff"`
	IDs      []string `json:"ids,omitempty" doc:"the latest runs of these workflow IDs, at most 1,000; without other filters"`
}

func (bulkBody) conditions(schema Schema) { operationConditions(schema, true) }

// bulk is the result of an operation on many runs.
type bulk struct{ view.BulkResult }

func (r bulk) status() int {
	if r.Unanswered > 0 {
		return http.StatusAccepted
	}
	return http.StatusOK
}

func operateOnRuns(c *call, _ none, b bulkBody) (r bulk, err error) {
	k, err := b.kind(b.Selection != "")
	if err != nil {
		return r, err
	}
	if b.Runs == nil {
		b.Runs = &bulkRuns{}
	}
	runs, err := b.Runs.view()
	if err != nil {
		return r, err
	}
	if b.Runs.Retrying {
		if runs.Call != "" {
			return r, badRequest("call and retrying are both given; leave one out")
		}
		runs.Call = view.CallBackoff
	}
	ctx, cancel, err := c.within(b.Wait)
	if err != nil {
		return r, err
	}
	defer cancel()
	c.request()
	options := b.options(c)
	if b.Runs.IDs != nil {
		options = append(options, ops.Chosen(b.Runs.IDs...))
	}
	if b.Selection != "" {
		options = append(options, ops.Selected(b.Selection))
	}
	op := k.operation(&b.operationBody)
	r.BulkResult, err = op.All(ctx, c.e, runs, b.Calls, options...)
	return r.done(err)
}

func (r bulk) done(err error) (bulk, error) {
	if errors.Is(err, perdure.ErrNoAnswer) {
		r.Unanswered = max(r.Unanswered, 1)
		err = nil
	}
	return r, err
}

type forkBody struct {
	NewID     string          `json:"new_id" doc:"workflow ID of the new run" need:"choose the workflow ID of the new run"`
	Run       string          `json:"run,omitempty" doc:"run ID; default is the latest run"`
	Call      int64           `json:"call" doc:"number of the first call that the new run makes again, from 1" need:"name the first one that the new run makes again, as histories number it"`
	KeepKeys  bool            `json:"keep_keys,omitempty" doc:"calls that are made again keep their idempotency keys"`
	Input     json.RawMessage `json:"input,omitempty" doc:"another input for the new run"`
	CallInput json.RawMessage `json:"call_input,omitempty" doc:"another input for the call"`
	Why       string          `json:"why,omitempty" doc:"for the audit"`
	DryRun    bool            `json:"dry_run,omitempty" doc:"only say what would be kept"`
}

type forked struct {
	WorkflowID string `json:"workflow_id" doc:"of the new run"`
	RunID      string `json:"run_id,omitempty" doc:"of the new run; absent in a dry run"`
	Attached   bool   `json:"attached,omitempty" doc:"it was there already, from the same request"`
	DryRun     bool   `json:"dry_run,omitempty" doc:"nothing was started"`
	Keeps      string `json:"keeps,omitempty" doc:"of a dry run: what the new run would take over, in a sentence"`
}

func forkRun(c *call, _ none, b forkBody) (forked, error) {
	spec := ops.ForkSpec{WorkflowID: c.PathValue("id"), RunID: b.Run, NewID: b.NewID, Call: b.Call, KeepKeys: b.KeepKeys}
	if b.Input != nil {
		spec.Input = b.Input
	}
	if b.CallInput != nil {
		spec.CallInput = b.CallInput
	}
	if b.DryRun {
		text, err := ops.PreviewFork(c.Context(), c.e, spec)
		return forked{WorkflowID: b.NewID, DryRun: true, Keeps: text}, err
	}
	f, err := ops.Fork(c.Context(), c.e, spec, c.by(b.Why)...)
	return forked{WorkflowID: f.WorkflowID, RunID: f.RunID, Attached: f.Attached}, err
}
