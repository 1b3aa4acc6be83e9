package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strconv"

	"github.com/perdure/perdure/internal/operation"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

// action is an operation on calls or runs as the pages show it.
type action struct {
	operation.Kind
	label  string // on buttons
	means  string // the effect, in a sentence
	danger bool
	fields []field

	make func(url.Values) (operation.Operation, error) // nil: Plain
}

// field is an input of an operation.
type field struct {
	Name, Label, Hint, Default string
	Long, Needed               bool
	Number, Check              bool
}

var operations = []action{
	{
		Kind: operation.RetryNow, label: "Retry now",
		means:  "The next attempt starts now, even if all attempts are used up. If it fails, the policy decides as always.",
		fields: []field{{Name: "force", Label: "Also calls that crashed their process on every build that a live node has: they may crash more", Check: true}},
	},
	{
		Kind: operation.Skip, label: "Skip",
		means:  "The call completes with a result of your own, as if its body had returned it. An attempt that runs is given up.",
		fields: []field{{Name: "result", Label: "Result, as JSON", Default: "null", Long: true, Needed: true}},
		make: func(v url.Values) (operation.Operation, error) {
			return withJSON(v.Get("result"), func(value any) operation.Operation { return operation.OnCalls(ops.Skip(value)) })
		},
	},
	{
		Kind: operation.Fail, label: "Fail", danger: true,
		means: "The workflow's code gets an error of your own now. No attempt follows, and one that runs is given up.",
		fields: []field{
			{Name: "error", Label: "Error", Hint: "what the workflow is told", Needed: true},
			{Name: "as", Label: "Type of the error", Hint: "by which code and policies recognize it; may be empty"},
		},
		make: func(v url.Values) (operation.Operation, error) {
			if v.Get("error") == "" {
				return operation.Operation{}, errors.New("the error is empty: describe what went wrong")
			}
			return operation.OnCalls(ops.FailNow(operation.NewError(v.Get("as"), v.Get("error")))), nil
		},
	},
	{
		Kind: operation.Pause, label: "Pause",
		means: "No attempt starts until the call is resumed. An attempt that runs may end.",
	},
	{
		Kind: operation.Resume, label: "Resume",
		means: "The call goes on with what is left of its backoff. If its attempts were used up, it gets one more.",
	},
	{
		Kind: operation.EditPolicy, label: "Edit policy",
		means: "The policy holds from the next decision on. What it does not name stays as it is; a backoff that has begun ends when it would have.",
		make: func(v url.Values) (operation.Operation, error) {
			return operation.OnCalls(ops.ChangePolicy(v.Get("policy"))), nil
		},
	},
	{
		Kind: operation.PauseRun, label: "Pause run",
		means: "The code of the run does not go on and no attempt starts until it is resumed. Signals and timers are recorded.",
	},
	{
		Kind: operation.ResumeRun, label: "Resume run",
		means: "The run goes on, with the calls that were paused with it. Calls that were paused by themselves stay paused.",
	},
	{
		Kind: operation.Signal, label: "Signal", means: "The run receives a signal. Its code gets it when it asks for it.",
		fields: []field{{Name: "name", Label: "Name of the signal", Needed: true}, {Name: "value", Label: "Value, as JSON", Default: "null", Long: true, Needed: true}},
		make: func(v url.Values) (operation.Operation, error) {
			if v.Get("name") == "" {
				return operation.Operation{}, errors.New("the signal has no name: give it the one that the workflow's code awaits")
			}
			return withJSON(v.Get("value"), func(value any) operation.Operation { return operation.OnRuns(ops.SignalRun(v.Get("name"), value)) })
		},
	},
	{
		Kind: operation.Reset, label: "Reset",
		means: "The run goes back to a call: results of earlier calls are kept; the call and all later ones are made again, by the code as it is now, and under other idempotency keys unless you say otherwise.",
		fields: []field{
			{Name: "to", Label: "Number of the first call to make again", Hint: "as the history shows it", Needed: true, Number: true},
			{Name: "keep", Label: "Under the idempotency keys that they had: what is behind them does not do twice what it has done", Check: true},
		},
		make: func(v url.Values) (operation.Operation, error) {
			n, err := strconv.ParseInt(v.Get("to"), 10, 64)
			if err != nil || n < 1 {
				return operation.Operation{}, fmt.Errorf("%q is no number of a call: the history has them, from 1", v.Get("to"))
			}
			if v.Get("keep") != "" {
				return operation.OnRuns(ops.ResetRunKeepingKeys(n)), nil
			}
			return operation.OnRuns(ops.ResetRun(n)), nil
		},
	},
	{
		Kind: operation.MoveRuns, label: "Move to a build",
		means: "The run stays on another build from now on, and goes on at a node of that build. If its code does not fit there, it is parked until it is moved back.",
		fields: []field{
			{Name: "from", Label: "Build on which it stays now", Hint: "others are left alone; may be empty"},
			{Name: "build", Label: "Build on which it stays from now on", Hint: "as the page of nodes shows it", Needed: true},
		},
		make: func(v url.Values) (operation.Operation, error) {
			if v.Get("build") == "" {
				return operation.Operation{}, errors.New("the build is empty: say on which one it stays from now on, as the page of nodes shows it")
			}
			return operation.OnRuns(ops.MoveRun(v.Get("from"), v.Get("build"))), nil
		},
	},
	{
		Kind: operation.Cancel, label: "Cancel", danger: true,
		means: "The run is asked to end: its code is told and can clean up; what it waits for is canceled.",
	},
	{
		Kind: operation.Terminate, label: "Terminate", danger: true,
		means: "The run ends now. Its code is not told and cleans nothing up.",
	},
}

// withJSON makes an operation with a JSON value that a person entered.
func withJSON(text string, make func(any) operation.Operation) (op operation.Operation, err error) {
	if !json.Valid([]byte(text)) {
		return op, fmt.Errorf("%q is not JSON: a text needs quotes, as in \"done\"", clipBytes(text, 100))
	}
	return make(json.RawMessage(text)), nil
}

func operationNamed(name string) (*action, error) {
	for i := range operations {
		if operations[i].Name == name {
			return &operations[i], nil
		}
	}
	return nil, &badRequest{fmt.Sprintf("There is no operation %q.", name), "Choose one on the page of a run, or below the list of runs."}
}

// button leads to the form of an operation.
type button struct {
	Label, Class string
	Says         string // the label with its object, for readers who do not see its position
	Link         template.URL
}

// operateLink returns a link to the form of an operation on one run or call.
func operateLink(op *action, id string, call int64) template.URL {
	number := ""
	if call > 0 {
		number = strconv.FormatInt(call, 10)
	}
	return link("operate", "op", op.Name, "id", id, "number", number)
}

// buttons returns the operations of a call or run that make sense in its state.
func buttons(id string, call int64, says string, names ...string) (out []button) {
	for _, name := range names {
		op, err := operationNamed(name)
		if err != nil {
			panic(err)
		}
		b := button{Label: op.label, Says: op.label + says, Link: operateLink(op, id, call)}
		if op.danger {
			b.Class = "danger"
		}
		out = append(out, b)
	}
	return out
}

// callButtons returns the buttons of a call.
func callButtons(id string, c *view.Call) []button {
	says := fmt.Sprintf(", call %d, %s", c.Call, c.Name)
	switch c.State {
	case view.CallBackoff:
		if c.Kind == "block" {
			return buttons(id, c.Call, says, "retry-now", operation.EditPolicy.Name)
		}
		return buttons(id, c.Call, says, "retry-now", "pause", "skip", "fail", operation.EditPolicy.Name)
	case view.CallQuarantined: // the safest first
		return buttons(id, c.Call, says, "fail", "skip", "retry-now")
	case view.CallPaused:
		return buttons(id, c.Call, says, "retry-now", "resume", "skip", "fail", operation.EditPolicy.Name)
	case view.CallRunning, view.CallQueued, view.CallOffered, view.CallGated, view.CallExternal:
		if c.Paused != nil {
			return buttons(id, c.Call, says, "resume", "skip", "fail", operation.EditPolicy.Name)
		}
		return buttons(id, c.Call, says, "pause", "skip", "fail", operation.EditPolicy.Name)
	}
	return nil
}

// runButtons returns the buttons of a run.
func runButtons(d *view.Description) []button {
	names := []string{"pause-run", "signal", "reset", "cancel", "terminate"}
	switch {
	case d.Closed != nil && d.Next == "":
		return buttons(d.WorkflowID, 0, "", "reset")
	case d.Closed != nil:
		return nil
	case d.Paused != nil:
		names[0] = "resume-run"
	}
	if d.Build != "" {
		names = append(names, "move-runs")
	}
	return buttons(d.WorkflowID, 0, "", names...)
}

// applies reports whether an operation may apply to runs that a filter selects: only a reset
// does to runs that have ended.
func applies(op *action, f runFilter) bool {
	isOpen := func(s string) bool { return slices.Contains(wording.OpenStatuses, s) }
	return len(f.Status) == 0 || slices.ContainsFunc(f.Status, isOpen) || op.Name == operation.Reset.Name
}

// bulkLinks returns links to the forms of the operations on all runs that a filter selects.
func bulkLinks(f runFilter) (out []linked) {
	for i := range operations {
		if !applies(&operations[i], f) {
			continue
		}
		v := f.query()
		v.Set("op", operations[i].Name)
		v.Set("all", "yes")
		label := operations[i].label
		if operations[i].OnCalls {
			label += " calls"
		}
		out = append(out, linked{label, linkTo("operate", v)})
	}
	return out
}
