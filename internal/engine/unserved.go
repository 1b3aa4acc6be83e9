package engine

import (
	"maps"
	"slices"
)

// unserved are the runs of a partition with queued calls of activities that are not registered
// with this engine. It follows the runs whether they are in memory or evicted, and goes with
// the partition. It is guarded by the engine's mu.
type unserved struct {
	of   map[string][]string // names of activities, by run
	runs map[string]int      // how many runs wait for an activity
}

// set says which activities a run waits for.
func (u *unserved) set(run string, activities []string) {
	for _, name := range u.of[run] {
		if u.runs[name]--; u.runs[name] == 0 {
			delete(u.runs, name)
		}
	}
	if len(activities) == 0 {
		delete(u.of, run)
		return
	}
	if u.of == nil {
		u.of, u.runs = map[string][]string{}, map[string]int{}
	}
	u.of[run] = activities
	for _, name := range activities {
		u.runs[name]++
	}
}

// noteUnserved records which missing activities a run waits for after a durable step. A run
// that is pinned to another build waits for a node, not for an activity. The engine's mu is
// held.
func (e *Engine) noteUnserved(r *activeRun) {
	activities := r.run.Unserved()
	if len(activities) == 0 && len(r.partition.unserved.of) == 0 {
		return // the usual case
	}
	activities = slices.DeleteFunc(activities, func(name string) bool { return r.staysElsewhere() || e.defs.activities[name] != nil })
	r.partition.unserved.set(r.id, activities)
	for _, name := range activities {
		if !e.health.missing[name] {
			if e.health.missing == nil {
				e.health.missing = map[string]bool{}
			}
			e.health.missing[name] = true
			e.log.ActivityMissing(name)
		}
	}
}

// unservedActivities returns the missing activities for which runs wait here, sorted. The
// engine's mu is held.
func (e *Engine) unservedActivities() []string {
	if e.phase == stopped {
		return nil
	}
	names := map[string]bool{}
	for _, p := range e.partitions {
		for name := range p.unserved.runs {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
