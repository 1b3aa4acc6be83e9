package registry

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/around"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/lossy"
	"github.com/perdure/perdure/internal/program"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/internal/see"
)

// Config says what is registered.
type Config struct {
	Workflows    []seal.Workflow
	Activities   []seal.Activity
	Interceptors []intercept.Interceptor
	Watchers     []around.Placed
	// Build identifies the code of this program.
	Build string
	// Logger gets what code of workflows logs.
	Logger *slog.Logger
	// Around, if set, is called in place of the body of each attempt; see Surrounded.
	Around Around
}

// Registry holds the workflows and activities of a process by name, and what surrounds them. It
// does not change, and is safe for concurrent use.
type Registry struct {
	Around *around.Chain // nil for no interceptors

	config     Config
	workflows  map[string]*seal.WorkflowDeclaration
	activities map[string]*seal.ActivityDeclaration
}

// New returns a registry, or all that is wrong with what is registered, joined.
func New(c Config) (*Registry, error) {
	r := &Registry{config: c, workflows: map[string]*seal.WorkflowDeclaration{}, activities: map[string]*seal.ActivityDeclaration{}}
	interceptors, err := around.New(c.Interceptors, c.Watchers)
	r.Around = interceptors
	errs := []error{err}
	for _, definition := range c.Workflows {
		w := seal.Of(definition)
		errs = append(errs, r.checkWorkflow(w))
		r.workflows[w.Name] = w
	}
	for _, definition := range c.Activities {
		a := seal.Of(definition)
		errs = append(errs, r.checkActivity(a))
		r.activities[a.Name] = a
	}
	return r, errors.Join(errs...)
}

func (r *Registry) checkWorkflow(w *seal.WorkflowDeclaration) error {
	errs := []error{history.CheckName("workflow name", w.Name)}
	if r.workflows[w.Name] != nil {
		errs = append(errs, fmt.Errorf("two workflows have the name %q; rename one, or register it once", w.Name))
	}
	if w.Begin == nil {
		errs = append(errs, fmt.Errorf("workflow %q is declared but has no code; register what its Impl method returns", w.Name))
	}
	if err := w.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("workflow %q: %w", w.Name, err))
	}
	errs = append(errs, readable("workflow", w.Name, w.Input, w.Output))
	if w.Pinned && program.Unknown(r.config.Build) {
		errs = append(errs, fmt.Errorf("workflow %q is pinned to the build on which a run begins, and the build of this program is not known: it has no revision, and its file cannot be read; name it with perdure.Build %s", w.Name, see.Pinned))
	}
	return errors.Join(errs...)
}

func (r *Registry) checkActivity(a *seal.ActivityDeclaration) error {
	errs := []error{history.CheckName("activity name", a.Name)}
	if r.activities[a.Name] != nil {
		errs = append(errs, fmt.Errorf("two activities have the name %q; rename one, or register it once", a.Name))
	}
	if a.Invoke == nil {
		errs = append(errs, fmt.Errorf("activity %q is declared but has no implementation; register what its Impl method returns", a.Name))
	}
	if err := a.Options.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("activity %q: %w", a.Name, err))
	}
	errs = append(errs, readable("activity", a.Name, a.Input, a.Output), checkVerify(a))
	if a.Options.Queue != "" {
		errs = append(errs, history.CheckName("queue", a.Options.Queue))
	}
	return errors.Join(errs...)
}

// checkVerify returns what is wrong with the Verify function of an activity.
func checkVerify(a *seal.ActivityDeclaration) error {
	v := a.Options.Verify
	switch {
	case v == nil:
		return nil
	case v.Ask == nil:
		return fmt.Errorf("activity %q is declared with activity.Verify(nil) and has no Verify function; register what its ImplVerify method returns %s", a.Name, see.Unknown)
	case v.Input != a.Input || v.Output != a.Output:
		return fmt.Errorf("the Verify function of activity %q takes a %s and finds a %s; the activity takes a %s and returns a %s", a.Name, v.Input, v.Output, a.Input, a.Output)
	}
	return nil
}

// readable returns an error if the values of a definition cannot come back from JSON.
func readable(kind, name string, in, out reflect.Type) error {
	for of, t := range map[string]reflect.Type{"input": in, "result": out} {
		if t == nil {
			continue // an interpreter gives and takes JSON
		}
		if field, fault := lossy.Unreadable(t); field != "" {
			return fmt.Errorf("%s %q: its %s is a %s, of which the field %s is of type %s, which cannot be read from JSON; leave it out with the tag `json:\"-\"`, or give the type its own MarshalJSON and UnmarshalJSON", kind, name, of, t, field, fault)
		}
	}
	return nil
}

// Workflow returns a workflow, nil if it is not registered.
func (r *Registry) Workflow(name string) *seal.WorkflowDeclaration { return r.workflows[name] }

// Activity returns an activity, nil if it is not registered.
func (r *Registry) Activity(name string) *seal.ActivityDeclaration { return r.activities[name] }

// Begin gives the machine of a run the code of its workflow.
func (r *Registry) Begin(def *seal.WorkflowDeclaration, run *core.Run) seal.Instance {
	instance := def.Begin(run)
	instance.LogTo(r.config.Logger)
	instance.Intercept(r.Around)
	run.Bind(instance)
	return instance
}

// Fingerprint identifies code: by its declared version, else by the build of this program. A
// run that is pinned to a build (pin is set) is always identified by build.
func (r *Registry) Fingerprint(def *seal.WorkflowDeclaration, pin string) string {
	if pin != "" {
		return record.Fingerprint("", r.config.Build)
	}
	return record.Fingerprint(def.Version, r.config.Build)
}

// Fits returns an error if a result is not of the type that a registered activity returns.
func (r *Registry) Fits(activity string, result history.Payload) error {
	def := r.activities[activity]
	if def == nil {
		return nil
	}
	if err := result.Decode(reflect.New(def.Output).Interface()); err != nil {
		return fmt.Errorf("does not fit %s, the type that activity %q returns: %w", def.Output, activity, cmp.Or(errors.Unwrap(err), err))
	}
	return nil
}

// Declared returns the definitions as the row of this node records them.
func (r *Registry) Declared() record.Definitions {
	var all record.Definitions
	for name, w := range r.workflows {
		all.Workflows = append(all.Workflows, record.Workflow{Name: name, Version: w.Version, Pinned: w.Pinned})
	}
	for name := range r.activities {
		all.Activities = append(all.Activities, name)
	}
	slices.SortFunc(all.Workflows, func(a, b record.Workflow) int { return cmp.Compare(a.Name, b.Name) })
	slices.Sort(all.Activities)
	return all
}
