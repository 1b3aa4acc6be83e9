package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/perdure/perdure/internal/core"
)

// unserved are the runs of a partition with queued calls that cannot start on this node. It
// follows the runs whether they are in memory or evicted, and goes with the partition. It is
// guarded by the engine's mu.
type unserved struct {
	of   map[string][]core.Lack // by run
	runs map[core.Lack]int      // how many runs wait
}

// set says what a run waits for.
func (u *unserved) set(run string, lacks []core.Lack) {
	for _, l := range u.of[run] {
		if u.runs[l]--; u.runs[l] == 0 {
			delete(u.runs, l)
		}
	}
	if len(lacks) == 0 {
		delete(u.of, run)
		return
	}
	if u.of == nil {
		u.of, u.runs = map[string][]core.Lack{}, map[core.Lack]int{}
	}
	u.of[run] = lacks
	for _, l := range lacks {
		u.runs[l]++
	}
}

// noteUnserved records what calls of a run wait for after a durable step. A run that is pinned
// to another build waits for a node, not for an activity. The engine's mu is held.
func (e *Engine) noteUnserved(r *activeRun) {
	lacks := r.run.Unserved()
	if len(lacks) == 0 && len(r.partition.unserved.of) == 0 {
		return // the usual case
	}
	lacks = slices.DeleteFunc(lacks, func(l core.Lack) bool { return l.Why == otherBuild })
	r.partition.unserved.set(r.id, lacks)
	for _, l := range lacks {
		if e.health.missing[l] {
			continue
		}
		if e.health.missing == nil {
			e.health.missing = map[core.Lack]bool{}
		}
		e.health.missing[l] = true
		if l.Why == core.NotRegistered {
			e.log.ActivityMissing(l.Activity)
		} else {
			e.log.ActivityRefused(r.run.Began().WorkflowID, l.Activity, l.Why)
		}
	}
}

// unservedCalls returns faults, sorted, about what runs wait for here. The engine's mu is held.
func (e *Engine) unservedCalls() (faults []error) {
	if e.phase == stopped {
		return nil
	}
	all := map[core.Lack]bool{}
	for _, p := range e.partitions {
		for l := range p.unserved.runs {
			all[l] = true
		}
	}
	for _, l := range slices.SortedFunc(maps.Keys(all), core.Lack.Compare) {
		fault := fmt.Errorf("activity %q is called by workflows but not registered with this engine; its calls wait in the queue: register it and start again", l.Activity)
		if l.Why != core.NotRegistered {
			fault = fmt.Errorf("calls of activity %q wait for another process: %s", l.Activity, l.Why)
		}
		faults = append(faults, fault)
	}
	return faults
}
