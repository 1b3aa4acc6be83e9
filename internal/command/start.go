package command

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

var startCommands = []Command{
	fills(Row(Command{
		On: Workflow, Name: "start", Label: "Start", Address: "POST /api/runs", NoKey: true, Short: "Start a workflow",
		Means: "A run of the workflow begins under a workflow ID. If the ID has a run of that workflow with that input, it is attached to: starting twice starts once.",
	}, func(a *Ask, p *Start) (Started, Effect, error) { return p.start(a) }), proposeStart),
}

// RunSettings are the settings of a run that is started now or by a schedule.
type RunSettings struct {
	Priority     int             `json:"priority,omitempty" label:"Priority" hint:"from -1000 to 1000: waiting calls of higher workflows run first" help:"{number} from -1000 to 1000: waiting calls of higher workflows run first"`
	Key          string          `json:"key,omitempty" label:"Key" hint:"of a customer, for instance: where runs and calls wait, keys take turns" help:"its {key}, for instance a customer: where runs and calls wait, keys take turns"`
	Weight       int             `json:"weight,omitempty" label:"Weight of the key" hint:"from 1 to 1000: as many turns where others take one" help:"{number} from 1 to 1000: the key takes as many turns where others take one"`
	RunTimeout   param.Span      `json:"run_timeout,omitempty" label:"Run timeout" hint:"such as 2h or 7d: closes a run that takes longer" help:"close a run that takes longer than this {duration}; its retry policy decides what follows"`
	ChainTimeout param.Span      `json:"chain_timeout,omitempty" label:"Timeout of the chain" hint:"closes the workflow if all its runs together take longer" help:"close the workflow if all its runs together take longer than this {duration}"`
	Retry        *Policy         `json:"retry,omitempty" doc:"by which a run that fails is started again: text in brackets, or an object" label:"Retry policy of the run" hint:"as in [retry: 3, backoff: 60]: a run that fails is started again" help:"start a run that fails again by this {policy}, as in '[retry: 3, backoff: 60]'"`
	Memo         json.RawMessage `json:"memo,omitempty" label:"Memo, as JSON" hint:"is kept with the run" help:"a {JSON} value to keep with the workflow"`
	Attributes   param.Pairs     `json:"attributes,omitempty" doc:"by which the run is found" flag:"attribute" kind:"text" label:"Attributes" hint:"to find it by, as NAME=VALUE, one a line" help:"an attribute to find it by, as {NAME=VALUE}; repeatable"`
}

// Options returns the settings that are given as options of a start or a schedule.
func (s *RunSettings) Options() (options []workflow.RunOption) {
	options = []workflow.RunOption{
		workflow.Priority(s.Priority), workflow.WeightedKey(s.Key, s.Weight), workflow.RunTimeout(time.Duration(s.RunTimeout)), workflow.ChainTimeout(time.Duration(s.ChainTimeout)),
	}
	if s.Retry != nil {
		options = append(options, workflow.RetryPolicy(s.Retry.Policy))
	}
	if s.Memo != nil {
		options = append(options, workflow.Memo(s.Memo))
	}
	if len(s.Attributes) > 0 {
		options = append(options, workflow.Attributes(s.Attributes))
	}
	return options
}

// Start is a workflow to start. The name of the workflow may be that of the Ask, and the ID its
// idempotency key.
type Start struct {
	Workflow   string          `json:"workflow" doc:"name of the definition" need:"name the definition with workflow"`
	WorkflowID string          `json:"workflow_id,omitempty" flag:"id" arg:"ID" label:"Workflow ID" hint:"names what it is about, as in order-17; it identifies the start, too" help:"is the idempotency key of the start; without one the header Idempotency-Key is the ID"`
	Input      json.RawMessage `json:"input,omitempty" arg:"[JSON]" kind:"text" label:"Input, as JSON" help:"of the workflow; without one it is null"`
	Like       string          `json:"like,omitempty" form:"-" help:"begin as the workflow with this {ID} did: with its input, memo, key, priority and attributes, unless others are given"`
	RunSettings
	Delay       param.Span `json:"delay,omitempty" label:"Delay" hint:"its code begins after so long" help:"start its code after this {duration}"`
	NewAfter    string     `json:"new_after,omitempty" enum:"any,failure" label:"If the ID has a run that has ended" help:"use the ID of a closed run again: {any}, or failure for one that did not complete"`
	MustBeNew   bool       `json:"must_be_new,omitempty" form:"-" help:"fail if the ID is in use"`
	AnyInput    bool       `json:"any_input,omitempty" form:"-" help:"attach to the workflow with this ID, also if its input is another one"`
	TraceParent string     `json:"trace_parent,omitempty" doc:"W3C trace parent; default is the header Traceparent"`
	Dry
}

// Started is the result of a start.
type Started struct {
	WorkflowID string `json:"workflow_id" doc:"as given, or the Idempotency-Key"`
	RunID      string `json:"run_id" doc:"of the run that was started, or of the one that was there; empty in a dry run that would start one"`
	Workflow   string `json:"workflow" doc:"name of the definition"`
	Attached   bool   `json:"attached" doc:"it was there before"`
	Warning    string `json:"warning,omitempty" doc:"no node is known that has the workflow, with names that are written almost like it"`
	DryRun     bool   `json:"dry_run,omitempty" doc:"nothing was started"`
}

func (p *Start) start(a *Ask) (s Started, e Effect, err error) {
	if err := p.complete(a); err != nil {
		return s, e, err
	}
	s = Started{WorkflowID: p.WorkflowID, Workflow: p.Workflow, DryRun: p.DryRun}
	if p.DryRun {
		return p.preview(a, s)
	}
	h, err := perdure.Start(a.Ctx, a.Engine, Declared(p.Workflow), s.WorkflowID, OrNull(p.Input), p.options()...)
	if err != nil {
		return s, e, err
	}
	s.RunID, s.Attached, s.Warning = h.RunID(), h.Attached(), a.Unserved(p.Workflow)
	e = Effect{Run: s.WorkflowID, Warning: s.Warning, Done: "Started workflow " + s.WorkflowID + ": run " + s.RunID + "."}
	if s.Attached {
		e.Done = "Workflow " + s.WorkflowID + " was started before: run " + s.RunID + "."
	}
	return s, e, nil
}

// complete takes what is not given from the Ask, and from the run that it is to be like.
func (p *Start) complete(a *Ask) error {
	switch {
	case p.WorkflowID == "" && a.Request == "":
		return param.Bad("workflow_id", "choose one, so that a repeated request finds its run", "is missing")
	case p.WorkflowID != "" && a.Request != "" && p.WorkflowID != a.Request:
		return param.Bad("workflow_id", "leave one of them out", "differs from the Idempotency-Key, and both identify the run")
	case p.MustBeNew && p.AnyInput:
		return param.Bad("any_input", "leave one of them out", "says how to attach to a run, and the run must be a new one")
	}
	p.WorkflowID = cmp.Or(p.WorkflowID, a.Request)
	return p.likeness(a)
}

// likeness fills in what is not given with that of the run that it is to be like.
func (p *Start) likeness(a *Ask) error {
	if p.Like == "" {
		return nil
	}
	d, err := a.Engine.Workflow(p.Like).Describe(a.Ctx)
	if err != nil && !errors.Is(err, perdure.ErrNotFound) {
		return err
	}
	// Who may start this workflow alone is not told what other runs there are.
	if err != nil || cmp.Or(d.Definition, d.Workflow) != p.Workflow {
		return param.Bad("like", "see which ones there are: perdure list --type "+human.ShellWord(param.Clip(p.Workflow)), "is %q, and workflow %s has no such run", param.Clip(p.Like), param.Clip(p.Workflow))
	}
	for _, value := range []struct {
		what string
		from view.Payload
		to   *json.RawMessage
	}{{"input", d.Input, &p.Input}, {"memo", d.Memo, &p.Memo}} {
		switch {
		case *value.to != nil || value.from.Absent():
		case value.from.JSON == nil:
			return param.Bad("like", "give another "+value.what, "cannot be followed: the %s of %s is no JSON that can be read here", value.what, p.Like)
		default:
			*value.to = value.from.JSON
		}
	}
	if p.Key == "" && p.Weight == 0 {
		p.Key, p.Weight = d.Key, d.Weight
	}
	p.Priority = cmp.Or(p.Priority, d.Priority)
	if len(p.Attributes) == 0 {
		p.Attributes = maps.Clone(d.Attributes)
	}
	return nil
}

func (p *Start) options() []perdure.StartOption {
	options := []perdure.StartOption{workflow.Delay(time.Duration(p.Delay)), perdure.TraceParent(p.TraceParent)}
	for _, o := range p.Options() {
		options = append(options, o)
	}
	switch p.NewAfter {
	case "any":
		options = append(options, perdure.NewAfter(perdure.AnyEnd))
	case "failure":
		options = append(options, perdure.NewAfter(perdure.Failure))
	}
	if p.MustBeNew {
		options = append(options, perdure.MustBeNew())
	}
	if p.AnyInput {
		options = append(options, perdure.AnyInput())
	}
	return options
}

// preview says what a start would come to.
func (p *Start) preview(a *Ask, s Started) (Started, Effect, error) {
	var e Effect
	d, err := a.Engine.Workflow(p.WorkflowID).Describe(a.Ctx)
	switch {
	case errors.Is(err, perdure.ErrNotFound):
		e.say(fmt.Sprintf("A run of %s would begin under the workflow ID %s.", p.Workflow, p.WorkflowID))
	case err != nil:
		return s, e, err
	case d.Closed != nil && p.NewAfter != "" && (p.NewAfter == "any" || d.Status != view.StatusCompleted):
		e.say(fmt.Sprintf("The workflow ID %s has a run that is %s. Another one would follow it.", p.WorkflowID, d.Status))
	case p.MustBeNew:
		e.say(fmt.Sprintf("The workflow ID %s has a run already (%s), so the start would fail.", p.WorkflowID, d.Status))
		e.Same = true
	default:
		s.RunID, s.Attached, e.Same = d.RunID, true, true
		e.say(fmt.Sprintf("The workflow ID %s has a run already (%s): choose another one. A start with the same workflow and input attaches to it, any other fails.", p.WorkflowID, d.Status))
	}
	s.Warning = a.Unserved(p.Workflow)
	e.Warning = s.Warning
	return s, e, nil
}

func (p *Start) of(name string) { p.Workflow = cmp.Or(p.Workflow, name) }

// mostInForm is how many bytes of an input a form shows.
const mostInForm = 64 << 10

// proposeStart fills the form with how the run began that it is to be like.
func proposeStart(a *Ask, p *Start) (Form, error) {
	p.of(a.Name)
	if err := p.likeness(a); err != nil {
		return Form{}, err
	}
	if n := len(p.Input) + len(p.Memo); n > mostInForm {
		return Form{}, param.Bad("like", "start it from the command line: perdure start "+a.Name+" NEWID --like "+param.Clip(p.Like), "is a run with %s bytes of input, which is too much for a form", human.Count(n))
	}
	return Form{Choices: map[string][]Choice{"new-after": {
		{"", "it is attached to, or the start fails"}, {"any", "start another one"}, {"failure", "start another one unless it completed"},
	}}}, nil
}

// Declared returns a workflow of which only the name is known.
func Declared(name string) workflow.Workflow[json.RawMessage, json.RawMessage] {
	return workflow.Declare[json.RawMessage, json.RawMessage](name)
}

// Unserved returns a warning if no node is known that has a workflow. That it cannot be known
// does not matter: the request was carried out.
func (a *Ask) Unserved(workflow string) string {
	if a.Served != nil {
		if _, known := a.Served.Load(workflow); known {
			return ""
		}
	}
	warning, err := ops.Unregistered(a.Ctx, a.Engine, "workflow", workflow)
	if err == nil && warning == "" && a.Served != nil {
		a.Served.Store(workflow, true)
	}
	return warning
}
