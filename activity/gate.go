package activity

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/gate"
)

// Through lets attempts run only while they hold the gates. Here a gate is known
// by its name, in all processes of the engine's group: its limit holds for all
// calls of all activities that name it, over all machines, and its state is in the
// database. Calls of retry.Do that use the same handle do not count: they are
// bounded in their process alone. A gate without a mode has gate.Rejoin here.
// Where calls say different things about a gate, the latest is right.
//
// A call holds no slot of a process while it waits for a gate. It takes several
// gates in the order of their names, and keeps them while it waits for the next.
// Given twice, the last Through holds; without gates it takes them away.
//
// The engine cannot stop a body that goes on after its attempt was given up
// (because it timed out, was canceled, or its process lost its lease): it counts
// attempts, and such a body runs beside them.
func Through(gates ...*gate.Gate) Option { return func(o *Options) { o.Gates = gates } }

// Priority says where the call stands among those that wait for its gates, and for a
// slot of its process: higher goes first, and calls of one priority go in the order in
// which they came. A call without one, or with zero, has that of its run (see
// workflow.Priority), which is 0 without that option.
func Priority(p int) Option { return func(o *Options) { o.Priority = p } }

// ValidateGates reports what is wrong with the gates, all at once.
func (o Options) ValidateGates() error {
	var errs []error
	names := map[string]bool{}
	for _, g := range o.Gates {
		if g == nil {
			errs = append(errs, errors.New("one of the gates is nil"))
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
