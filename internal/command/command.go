package command

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/ops"
)

// On is what a command is done to.
type On string

// What commands are done to.
const (
	Calls    On = "call"     // open calls of runs
	Runs     On = "run"      // runs as a whole
	Activity On = "activity" // all calls of it, in the group
	Workflow On = "workflow" // by the name of its definition
	Gate     On = "gate"     // that activities pass through
	Schedule On = "schedule" // of the group
	Canary   On = "canary"   // of the group
	Token    On = "token"    // of an attempt outside the engine
	Records  On = "records"  // of what has ended, in the database
)

// Command is a row of the table.
type Command struct {
	On      On
	Name    string // as the audit has it
	Label   string // on buttons
	Makes   string // the label where a new one is made of what it is done to; empty if it makes none
	Did     string // what was done, as in "7 retried" and "the gate is paused"
	Short   string // what it does, in the imperative
	Means   string // what comes of it, in sentences
	More    string // what the command line's help says besides
	Example string // command lines
	Danger  bool   // it undoes something for good
	Gone    bool   // what it is done to is gone after it
	NoKey   bool   // it takes no idempotency key: it is done once by itself
	Reads   bool   // it changes nothing: who may look may ask for it

	// KeyedFor says what programs must give an idempotency key for. On the command line it is --id, and
	// may be left out.
	KeyedFor string

	Address string // method and path over HTTP, where they do not follow from On and Name
	Typed   string // on the command line, likewise

	// Params is the struct of what it needs to know, and Result that of what it returns.
	Params, Result reflect.Type

	do   func(a *Ask, params any) (any, Effect, error)
	form func(a *Ask, params any) (Form, error) // nil: nothing stands in the form before it is filled in

	// Of operations on runs and calls.
	Named      bool // programs must name the call or the activity; people see what is selected
	Everywhere bool // on the command line it is about all runs if none is named
	Shown      bool // it is shown what it comes to before it is done
	bulk       func(params any) (Operation, error)
}

// Row completes a row with what it needs to know, and with what does it.
func Row[P, R any](c Command, do func(a *Ask, p *P) (R, Effect, error)) Command {
	c.Label = cmp.Or(c.Label, strings.ToUpper(c.Name[:1])+c.Name[1:])
	c.Params, c.Result = reflect.TypeFor[P](), reflect.TypeFor[R]()
	c.do = func(a *Ask, p any) (any, Effect, error) { return do(a, p.(*P)) }
	return c
}

// fills adds to a row what stands in its form before anything is entered.
func fills[P any](c Command, form func(a *Ask, p *P) (Form, error)) Command {
	c.form = func(a *Ask, p any) (Form, error) { return form(a, p.(*P)) }
	return c
}

// All is the table.
var All = slices.Concat(startCommands, operations, activityCommands, gateCommands, scheduleCommands, canaryCommands, tokenCommands, recordCommands)

// Find returns a row, nil if there is none.
func Find(on On, name string) *Command { return Named(Of(on), name) }

// Of returns the rows of what is done to one thing.
func Of(on ...On) (rows []*Command) {
	for i := range All {
		if slices.Contains(on, All[i].On) {
			rows = append(rows, &All[i])
		}
	}
	return rows
}

// Operations returns the rows that are operations on any number of runs or their open calls.
func Operations() []*Command {
	return slices.DeleteFunc(Of(Calls, Runs), func(c *Command) bool { return !c.Bulk() })
}

// Single returns the rows of what is done to one thing that are no operations.
func Single(on ...On) []*Command {
	return slices.DeleteFunc(Of(on...), func(c *Command) bool { return c.Bulk() })
}

// Named returns the row of a name, nil if there is none.
func Named(rows []*Command, name string) *Command {
	if i := slices.IndexFunc(rows, func(c *Command) bool { return c.Name == name }); i >= 0 {
		return rows[i]
	}
	return nil
}

// Line is the command on the command line, without its arguments.
func (c *Command) Line() string {
	switch {
	case c.Typed != "":
		return c.Typed
	case c.On == Gate || c.On == Schedule:
		return string(c.On) + "s " + c.Name
	}
	return c.Name
}

// Path is the method and the path of the command over HTTP.
func (c *Command) Path() (method, path string) {
	if c.Address != "" {
		method, path, _ = strings.Cut(c.Address, " ")
		return method, path
	}
	plural := string(c.On) + "s"
	if c.On == Activity {
		plural = "activities"
	}
	return http.MethodPost, "/api/" + plural + "/{name}/" + c.Name
}

// Takes returns what people may give to the command, in their order.
func (c *Command) Takes() []param.Param { return param.Of(c.Params) }

// New returns a pointer to the parameters with their defaults.
func (c *Command) New() any {
	p := reflect.New(c.Params)
	for _, one := range c.Takes() {
		if one.Default != "" {
			if err := one.Set(p.Interface(), one.Default); err != nil {
				panic(err)
			}
		}
	}
	return p.Interface()
}

// Do carries the command out, or says what it would come to.
func (c *Command) Do(a *Ask, params any) (result any, effect Effect, err error) {
	if p, ok := params.(interface{ of(name string) }); ok { // what it is done to is one of them
		p.of(a.Name)
	}
	if err := param.Complete(params); err != nil {
		return nil, Effect{}, err
	}
	return c.do(a, params)
}

// Form returns what a form shows before anything is entered, and sets the parameters to how
// things are.
func (c *Command) Form(a *Ask, params any) (Form, error) {
	if c.form == nil {
		return Form{}, nil
	}
	return c.form(a, params)
}

// Ask is one use of a command: where, on what, by whom and why.
type Ask struct {
	Ctx     context.Context
	Engine  *perdure.Engine
	Name    string // of what it is done to
	By      string
	Request string // idempotency key; may be empty
	Now     time.Time
	Options []ops.ControlOption // more
	Served  *sync.Map           // workflows that nodes are known to have, to be asked about once; may be nil
}

// Reason is a part of all parameters: why, and whether it is only asked what would come of it.
type Reason struct {
	Why string `json:"why,omitempty" query:"why" flag:"reason" form:"-" help:"{why}, for the record"`
	Dry
}

// Dry is a part of the parameters of all that has a dry run.
type Dry struct {
	DryRun bool `json:"dry_run,omitempty" query:"dry_run" form:"-" help:"only say what it would come to, and change nothing"`
}

func (d *Dry) dry() *Dry { return d }

// DryOf returns whether parameters are those of a dry run; something else if they have none.
func DryOf(params any) *Dry {
	if has, ok := params.(interface{ dry() *Dry }); ok {
		return has.dry()
	}
	return &Dry{}
}

func (r *Reason) reason() *Reason { return r }

// Reasoned reports whether who does it and why is on record.
func (c *Command) Reasoned() bool {
	_, has := reflect.New(c.Params).Interface().(interface{ reason() *Reason })
	return has
}

// ReasonOf returns the reason in parameters, an empty one if they have none.
func ReasonOf(params any) *Reason {
	if has, ok := params.(interface{ reason() *Reason }); ok {
		return has.reason()
	}
	return &Reason{}
}

// Settings are the options of package ops for a use of a command.
func (a *Ask) Settings(r *Reason) []ops.ControlOption {
	options := append([]ops.ControlOption{ops.By(a.By), ops.Why(r.Why)}, a.Options...)
	if a.By == "" {
		options = options[1:]
	}
	if a.Request != "" {
		options = append(options, ops.RequestID(a.Request))
	}
	if r.DryRun {
		options = append(options, ops.DryRun())
	}
	return options
}

// Effect is what a command comes to.
type Effect struct {
	Diff []Difference
	Says []string // sentences
	Same bool     // nothing would be different, or was
	Done string   // a sentence about what was done, if there is more to say than Says
	Run  string   // workflow ID of the run that it starts; may be empty

	Warning string          // a clause; may be empty
	Answer  json.RawMessage // of the code of a run; nil if it was not asked
}

// Difference is how a part is before and after, and what that means; that may be empty.
type Difference struct{ What, Before, After, Means string }

func (e *Effect) say(sentences ...string) { e.Says = append(e.Says, sentences...) }

func (e *Effect) differ(what, before, after string) {
	if before != after {
		e.Diff = append(e.Diff, Difference{What: what, Before: before, After: after})
	}
}

// Form is what a form shows before anything is entered.
type Form struct {
	Labels  map[string]string   // of parameters, in place of their own
	Hints   map[string]string   // likewise
	Choices map[string][]Choice // of parameters
	Without []string            // parameters that mean nothing here
	Button  string              // that shows what it comes to; empty: the usual one
}

// Choice is a value that can be chosen, in words.
type Choice struct{ Value, Text string }

// Told is the result of a command that takes effect as soon as an engine sees it.
type Told struct {
	Name      string   `json:"name" doc:"of the gate or schedule"`
	Operation string   `json:"operation" doc:"pause, resume or delete"`
	By        string   `json:"by" doc:"who asked"`
	Why       string   `json:"why,omitempty" doc:"reason that was given"`
	DryRun    bool     `json:"dry_run,omitempty" doc:"nothing was asked for"`
	Says      []string `json:"says,omitempty" doc:"of a dry run: how it stands, in sentences"`
}
