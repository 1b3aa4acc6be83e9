package engine

import "fmt"

// warnAt is when a run is near a limit: at four fifths of it.
func warnAt(limit int) int { return limit - limit/5 }

// warnOfLength says once that a run's history will come to its limit: in the turn
// with which it passes the mark.
func (e *Engine) warnOfLength(r *resident, added int) {
	mark, length := warnAt(e.config.MaxHistory), r.run.Length()
	if length >= mark && length-added < mark {
		start := r.run.Start()
		e.log.Warn("perdure: the history of a run grows long; it fails at the limit unless it continues as new",
			"workflow", start.WorkflowID, "run", r.id, "type", start.Type, "events", length, "limit", e.config.MaxHistory)
	}
}

// warnings are for people who look at a run that is near a limit.
func (e *Engine) warnings(events, pending int) (all []string) {
	if events >= warnAt(e.config.MaxHistory) {
		all = append(all, fmt.Sprintf("its history has %d events; it fails at %d unless it continues as new", events, e.config.MaxHistory))
	}
	if pending >= warnAt(e.config.MaxPendingCalls) {
		all = append(all, fmt.Sprintf("it has %d pending calls; at %d, further ones are refused", pending, e.config.MaxPendingCalls))
	}
	return all
}
