package engine

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/see"
)

// noteUnserved records what calls of a run wait for after a durable step. A run that is pinned
// to another build waits for a node, not for an activity.
func (r *activeRun) noteUnserved() {
	e := r.engine
	lacks := slices.DeleteFunc(r.run.Unserved(), func(l core.Lack) bool { return l.Why == otherBuild })
	for _, l := range e.dispatcher.unserved.Set(r.location.tenure(), r.id, lacks) {
		if l.Why == core.NotRegistered {
			e.log.ActivityMissing(l.Activity)
		} else {
			e.log.ActivityRefused(r.run.Began().WorkflowID, l.Activity, l.Why)
		}
	}
}

// unservedCalls returns faults, sorted, about what runs wait for here.
func (d *dispatcher) unservedCalls() (faults []error) {
	for _, l := range d.unserved.All() {
		fault := fmt.Errorf("activity %q is called by workflows but not registered with this engine; its calls wait in the queue: register it and start again %s", l.Activity, see.Queues)
		if l.Why != core.NotRegistered {
			fault = fmt.Errorf("calls of activity %q wait for another process: %s %s", l.Activity, l.Why, see.Queues)
		}
		faults = append(faults, fault)
	}
	return faults
}
