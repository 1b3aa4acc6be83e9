package flow

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/flow/eval"
	"github.com/perdure/perdure/internal/flow/syntax"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// Workflow is the handle of the interpreter, with which programs start runs of flow
// files. Its result is what the flow file returns, as JSON. An error that the file does
// not catch fails the run unchanged.
var Workflow = workflow.Declare[Program, json.RawMessage]("flow", seal.With(func(d *seal.WorkflowDeclaration) { d.Harmless = true }))

// run is the code of the workflow.
func (r *Runtime) run(wf *workflow.Context, p Program) (json.RawMessage, error) {
	file, input, err := p.open()
	if err != nil {
		return nil, retry.Terminal(err)
	}
	//perdure:deterministic only tests change it, before any run
	fx := &durable{runtime: r, wf: wf, most: continueAfter}
	var v eval.Value
	if p.State == nil {
		v, err = eval.Run(file, input, fx)
	} else {
		v, err = eval.Resume(file, p.State, fx)
	}
	for {
		paused, is := err.(*eval.Paused)
		if !is {
			break
		}
		next, state := p.continued(paused)
		_, err = workflow.ContinueAsNew(wf, Workflow, next)
		//perdure:deterministic only tests change it, before any run
		if _, fits := errors.AsType[*workflow.ContinueError](err); fits || fx.most > continueAfter {
			return nil, err
		}
		// Its variables are too large for the input of a run. It continues in this one: they
		// may be smaller, or it at its end, before it is too long for that as well.
		fx.most *= eval.Longest
		v, err = eval.Resume(file, state, fx)
	}
	if err != nil {
		return nil, err
	}
	return eval.Encode(v)
}

// ContinueEvents is the length of history, in events, from which a run continues as new
// at the next possible statement. A run that wakes is replayed, so a short history makes
// it wake quickly. A run that cannot continue as new because its variables are too large
// fails at 20 times as many events, which are four fifths of the default of
// perdure.MaxHistory.
const ContinueEvents = 2000

var continueAfter = ContinueEvents // tests have less

// continued is what the next run of a program that stopped is started with.
func (p Program) continued(at *eval.Paused) (next Program, state []byte) {
	state, err := at.State()
	if err != nil {
		panic(err) // all values can be encoded
	}
	next = p
	next.Input, next.State = nil, state
	return next, state
}

// Place returns where the action stands in its file that an error of a run is about,
// such as "nightly.flow:7:5: @http.get: "; empty if it is about none. The text of the
// error begins with it.
func Place(err error) string {
	if e, ok := errors.AsType[*eval.CallError](err); ok {
		return e.Place()
	}
	return ""
}

// durable are the effects of a run.
type durable struct {
	runtime *Runtime
	wf      *workflow.Context
	most    int // events of history, then the program stops where it can
}

// begin starts an action.
func (d *durable) begin(a eval.Action) workflow.Future[json.RawMessage] {
	options := seal.ActivityOptions{}
	if def := d.runtime.actions[a.Name]; def != nil {
		options = seal.Of(def).Options
	}
	options.Retry = &a.Policy
	if a.Verify != nil {
		options.VerifyBy = seal.VerifiedBy(a.Verify.Name, encoded(a.Verify.Args))
	}
	for _, g := range a.Gates { // besides those of the declaration
		options.Gates = append(slices.Clip(options.Gates), gate.FromSpec(gateSpec(g)))
	}
	handle := activity.Declare[json.RawMessage, json.RawMessage](a.Name, seal.With(func(o *seal.ActivityOptions) { *o = options }))
	return workflow.Async(d.wf, handle, encoded(a.Args))
}

// encoded is the arguments of an action as JSON.
func encoded(args *eval.Dict) json.RawMessage {
	data, err := eval.EncodeArgs(args)
	if err != nil {
		panic(err) // all values can be encoded
	}
	return data
}

// gateSpec is a gate as the engine takes it.
func gateSpec(g *syntax.Gate) gate.Spec {
	s := gate.Spec{Name: g.Name.Name, Limit: g.Limit, Mode: gate.Mode(g.Mode)}
	if g.Count > 0 {
		s.Rate = gate.Rate{PerSecond: float64(g.Count) / g.Per.Seconds(), Burst: g.Burst}
	}
	return s
}

// end waits for an action.
func (d *durable) end(name string, f workflow.Future[json.RawMessage]) (eval.Value, error) {
	result, err := f.Get(d.wf)
	if err != nil {
		return nil, err
	}
	v, err := eval.DecodeResult(result)
	if err != nil {
		if e, ok := err.(*eval.Error); ok {
			return nil, &eval.Error{Type: e.Type, Message: fmt.Sprintf("the result of %s: %s", name, e.Message)}
		}
		return nil, err
	}
	answer, is := v.(*eval.Dict)
	if !is || !strings.HasPrefix(name, "http.") {
		return v, nil
	}
	if why, _ := answer.Get("json_unread"); why != nil {
		unread := eval.Unread{Type: eval.TypeLimit, Message: "the JSON of the answer cannot be read: " + fmt.Sprint(why)}
		return answer.Unreadable("json", "json_unread", unread), nil
	}
	return v, nil
}

func (d *durable) Act(a eval.Action) (eval.Value, error) { return d.end(a.Name, d.begin(a)) }

func (d *durable) ActAll(all []eval.Action) []eval.Outcome {
	futures := make([]workflow.Future[json.RawMessage], len(all))
	for i, a := range all {
		futures[i] = d.begin(a)
	}
	out := make([]eval.Outcome, len(all))
	for i, a := range all {
		out[i].Value, out[i].Err = d.end(a.Name, futures[i])
	}
	return out
}

func (d *durable) Each(n int, do func(i int, in eval.Effects)) {
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i
	}
	// None of them fails: do keeps what went wrong.
	_, _ = workflow.Map(d.wf, numbers, func(wf *workflow.Context, i int) (struct{}, error) {
		do(i, &durable{d.runtime, wf, d.most})
		return struct{}{}, nil
	})
}

func (d *durable) Retry(policy retry.Policy, do func(in eval.Effects) error) error {
	_, err := workflow.Retry(d.wf, policy, func(wf *workflow.Context) (struct{}, error) {
		return struct{}{}, do(&durable{d.runtime, wf, d.most})
	})
	return err
}

func (d *durable) Receive(signal string, timeout time.Duration) (eval.Value, error) {
	value, err := workflow.Timeout(d.wf, timeout, func(wf *workflow.Context) (json.RawMessage, error) {
		return workflow.Receive(wf, workflow.NewSignal[json.RawMessage](signal))
	})
	if err != nil {
		return nil, err
	}
	return eval.DecodeResult(value)
}

// variablesQuery asks for the variables of a program's main function.
var variablesQuery = workflow.NewQuery[json.RawMessage, json.RawMessage]("variables")

func (d *durable) Watch(variables func() *eval.Dict) {
	workflow.HandleQuery(d.wf, variablesQuery, func(json.RawMessage) (json.RawMessage, error) {
		return eval.Encode(variables())
	})
}

func (d *durable) Sleep(t time.Duration) error { return workflow.Sleep(d.wf, t) }

func (d *durable) Uncanceled() eval.Effects {
	return &durable{d.runtime, workflow.Shield(d.wf), d.most}
}

func (d *durable) History() (events, most int) {
	return workflow.GetInfo(d.wf).HistoryLength, d.most
}

func (d *durable) Offset(zone string, at time.Time) (seconds int, known bool) {
	found := workflow.SideEffect(d.wf, "time zone", func() *int {
		if seconds, known := (eval.Zones{}).Offset(zone, at); known {
			return &seconds
		}
		return nil
	})
	if found == nil {
		return 0, false
	}
	return *found, true
}

func (d *durable) Instant(zone string, wall int64) time.Time {
	return time.Unix(workflow.SideEffect(d.wf, "time in zone", func() int64 { return eval.Zones{}.Instant(zone, wall).Unix() }), 0)
}

func (d *durable) ZoneName(zone string, at time.Time) string {
	return workflow.SideEffect(d.wf, "name of time zone", func() string { return eval.Zones{}.ZoneName(zone, at) })
}

func (d *durable) Turn() int64     { return workflow.Now(d.wf).UnixNano() }
func (d *durable) Now() time.Time  { return workflow.Now(d.wf) }
func (d *durable) UUID() string    { return workflow.UUID(d.wf) }
func (d *durable) Random() float64 { return workflow.Rand(d.wf).Float64() }
