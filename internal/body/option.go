package body

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/retry"
)

// Options are the settings of an activity or of one of its calls. The zero value leaves
// everything to the engine.
type Options struct {
	// Retry is the complete policy, nil to leave it to the next level. The levels are the
	// call, the activity, the engine, and retry.Policy{}. Policies of levels do not mix.
	Retry *retry.Policy

	// Gates are the gates that the attempts pass through. Priority orders the call among
	// those that wait at a gate or for a slot: higher goes first, and 0 means that of the
	// run.
	Gates    []*gate.Gate
	Priority int
	// Queue is the queue of the attempts, which run in processes that serve it; "" means
	// the process of the run.
	Queue string
}

// Option sets one of the Options.
type Option interface{ set(*Options) }

// Set is an Option.
type Set func(*Options)

func (s Set) set(o *Options) { s(o) }

// Apply applies options to o, in order.
func Apply[O Option](o *Options, all []O) {
	for _, option := range all {
		option.set(o)
	}
}

// Validate returns everything that an engine would refuse.
func (o *Options) Validate() error {
	errs := []error{o.ValidateGates()}
	if o.Retry != nil {
		errs = append(errs, o.Retry.Validate())
	}
	return errors.Join(errs...)
}

// ValidateGates returns everything that is wrong with the gates.
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

// GateSpec converts a gate's public spec, with a default mode.
func GateSpec(s gate.Spec, mode gate.Mode) gates.Spec {
	if s.Mode != "" {
		mode = s.Mode
	}
	return gates.Spec{
		Name: s.Name, Limit: s.Limit, Mode: gates.Mode(mode), MaxHold: s.MaxHold,
		Rate: gates.Rate(s.Rate), Budget: gates.Budget(s.Budget), Breaker: gates.Breaker(s.Breaker),
	}
}
