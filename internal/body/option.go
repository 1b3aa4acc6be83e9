package body

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/retry"
)

// Options are the settings of an activity or of one call of it. The zero value
// leaves everything to the engine.
type Options struct {
	// Retry is the whole policy, nil if the next level decides: the call, then
	// the activity, then the engine, then retry.Policy{}. Levels do not mix.
	Retry *retry.Policy

	// Gates are what the attempts pass through, and Priority is the place of the
	// call among those that wait there and for a slot: higher goes first, 0 is that of
	// the run.
	Gates    []*gate.Gate
	Priority int
	// Queue is where the attempts run: in processes that serve it; "" is where their
	// run is.
	Queue string
}

// Option sets one of the Options.
type Option interface{ set(*Options) }

// Set is an Option.
type Set func(*Options)

func (s Set) set(o *Options) { s(o) }

// Apply lets options change o, in their order.
func Apply[O Option](o *Options, all []O) {
	for _, option := range all {
		option.set(o)
	}
}

// Validate reports what an engine would refuse, all together.
func (o *Options) Validate() error {
	errs := []error{o.ValidateGates()}
	if o.Retry != nil {
		errs = append(errs, o.Retry.Validate())
	}
	return errors.Join(errs...)
}

// ValidateGates reports what is wrong with the gates, all together.
func (o *Options) ValidateGates() error {
	var errs []error
	names := map[string]bool{}
	for _, g := range o.Gates {
		if g == nil {
			errs = append(errs, errors.New("one of the gates is nil; pass what gate.New returns"))
			continue
		}
		errs = append(errs, g.Validate())
		if names[g.Name()] {
			errs = append(errs, fmt.Errorf("two of the gates have the name %q; an attempt takes one slot of a gate", g.Name()))
		}
		names[g.Name()] = true
	}
	return errors.Join(errs...)
}

// GateSpec returns what the machine of a gate is told, with a mode for a gate that names
// none.
func GateSpec(s gate.Spec, mode gate.Mode) gates.Spec {
	if s.Mode != "" {
		mode = s.Mode
	}
	return gates.Spec{
		Name: s.Name, Limit: s.Limit, Mode: gates.Mode(mode), MaxHold: s.MaxHold,
		Rate: gates.Rate(s.Rate), Budget: gates.Budget(s.Budget), Breaker: gates.Breaker(s.Breaker),
	}
}
