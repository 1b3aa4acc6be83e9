package engine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/around"
	"github.com/perdure/perdure/internal/errname"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/logs"
	"github.com/perdure/perdure/internal/lossy"
	spelling "github.com/perdure/perdure/internal/near"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/retry"
)

// definitions are the workflows and activities of an engine by name, and what surrounds them.
type definitions struct {
	around     *around.Chain // nil for no interceptors
	workflows  map[string]*seal.WorkflowDeclaration
	activities map[string]*seal.ActivityDeclaration
}

func (c *Config) definitions() (*definitions, error) {
	d := &definitions{workflows: map[string]*seal.WorkflowDeclaration{}, activities: map[string]*seal.ActivityDeclaration{}}
	interceptors, err := around.New(c.Interceptors, c.Watchers)
	d.around = interceptors
	errs := append(c.checkQueues(), err)
	for _, definition := range c.Workflows {
		w := seal.Of(definition)
		errs = append(errs, history.CheckName("workflow name", w.Name))
		if d.workflows[w.Name] != nil {
			errs = append(errs, fmt.Errorf("two workflows have the name %q; rename one, or register it once", w.Name))
		}
		if w.Begin == nil {
			errs = append(errs, fmt.Errorf("workflow %q is declared but has no code; register what its Impl method returns", w.Name))
		}
		if err := w.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("workflow %q: %w", w.Name, err))
		}
		errs = append(errs, readable("workflow", w.Name, w.Input, w.Output))
		if w.Pinned && unknownBuild(c.Build) {
			errs = append(errs, fmt.Errorf("workflow %q is pinned to the build on which a run begins, and the build of this program is not known: it has no revision, and its file cannot be read; name it with perdure.Build %s", w.Name, see.Pinned))
		}
		d.workflows[w.Name] = w
	}
	for _, definition := range c.Activities {
		a := seal.Of(definition)
		errs = append(errs, history.CheckName("activity name", a.Name))
		if d.activities[a.Name] != nil {
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
		d.activities[a.Name] = a
	}
	return d, errors.Join(errs...)
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

// fits returns an error if a result is not of the type that a registered activity returns.
func (d *definitions) fits(activity string, result history.Payload) error {
	def := d.activities[activity]
	if def == nil {
		return nil
	}
	if err := result.Decode(reflect.New(def.Output).Interface()); err != nil {
		return fmt.Errorf("does not fit %s, the type that activity %q returns: %w", def.Output, activity, cmp.Or(errors.Unwrap(err), err))
	}
	return nil
}

// declared returns the definitions as the row of this node records them.
func (d *definitions) declared() record.Definitions {
	var all record.Definitions
	for name, w := range d.workflows {
		all.Workflows = append(all.Workflows, record.Workflow{Name: name, Version: w.Version, Pinned: w.Pinned})
	}
	for name := range d.activities {
		all.Activities = append(all.Activities, name)
	}
	slices.SortFunc(all.Workflows, func(a, b record.Workflow) int { return cmp.Compare(a.Name, b.Name) })
	slices.Sort(all.Activities)
	return all
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

// warn writes what the registered types lose in silence, and names of error types in policies
// that look like mistakes.
func (d *definitions) warn(log *logs.Log, policy *retry.Policy) {
	lost := func(kind, name, of string, t reflect.Type) {
		if t == nil {
			return
		}
		if fields := lossy.Lost(t); len(fields) > 0 {
			log.ValueLoses(kind, name, of, t.String(), strings.Join(fields, ", "))
		}
	}
	policies := map[[2]string]*retry.Policy{{"engine", ""}: policy}
	for _, name := range slices.Sorted(maps.Keys(d.workflows)) {
		w := d.workflows[name]
		lost("workflow", name, "input", w.Input)
		lost("workflow", name, "result", w.Output)
		policies[[2]string{"workflow", name}] = w.Retry
	}
	for _, name := range slices.Sorted(maps.Keys(d.activities)) {
		a := d.activities[name]
		lost("activity", name, "input", a.Input)
		lost("activity", name, "result", a.Output)
		policies[[2]string{"activity", name}] = a.Options.Retry
	}
	known := errname.All()
	for of, p := range policies {
		if p == nil {
			continue
		}
		for _, name := range namesIn(p) {
			if errname.Known(name) {
				continue
			}
			meant := spelling.Names(name, slices.Values(known))
			// HTTP402 is no misspelling of HTTP401.
			meant = slices.DeleteFunc(meant, func(other string) bool { return letters(other) == letters(name) })
			if len(meant) > 0 {
				log.NameUnknown(of[0], of[1], name, strings.Join(meant, " or "))
			}
		}
	}
}

// letters is a name without its digits.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, name)
}

// namesIn returns the error types that a policy names.
func namesIn(p *retry.Policy) []string {
	names := slices.Concat(p.Retryable, p.NonRetryable)
	for _, r := range p.Rules {
		names = append(names, r.Types...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
