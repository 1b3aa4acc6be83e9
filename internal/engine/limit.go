package engine

import "fmt"

// warnAt is when a run is near a limit: at four fifths of it.
func warnAt(limit int) int { return limit - limit/5 }

// warnOfLength says once that a run's history will come to its limit: in the turn
// with which it passes the mark.
func (e *Engine) warnOfLength(r *activeRun, added int) {
	mark, length := warnAt(e.config.MaxHistory), r.run.Length()
	if length >= mark && length-added < mark {
		start := r.run.Start()
		e.log.Warn("perdure: the history of a run grows long; it fails at the limit unless it continues as new",
			"workflow", start.WorkflowID, "run", r.id, "type", start.Type, "events", length, "limit", e.config.MaxHistory)
	}
}

// warnOfBacklog says once that a run leaves signals unread: in the turn with which they
// pass the mark.
func (e *Engine) warnOfBacklog(r *activeRun, before int) {
	mark, unread := warnAt(e.config.MaxSignalBacklog), r.run.Backlog()
	if unread >= mark && before < mark {
		start := r.run.Start()
		e.log.Warn("perdure: a run leaves signals unread; at the limit it is sent no more until its code has read some",
			"workflow", start.WorkflowID, "run", r.id, "type", start.Type, "unread", unread, "limit", e.config.MaxSignalBacklog)
	}
}

// warnings are for people who look at a run that is near a limit.
func (e *Engine) warnings(events, pending, unread int) (all []string) {
	if events >= warnAt(e.config.MaxHistory) {
		all = append(all, fmt.Sprintf("its history has %d events; it fails at %d unless it continues as new", events, e.config.MaxHistory))
	}
	if pending >= warnAt(e.config.MaxPendingCalls) {
		all = append(all, fmt.Sprintf("it has %d pending calls; at %d, further ones are refused", pending, e.config.MaxPendingCalls))
	}
	if unread >= warnAt(e.config.MaxSignalBacklog) {
		all = append(all, fmt.Sprintf("it has %d unread signals; with %d, further ones are refused until its code has read some", unread, e.config.MaxSignalBacklog))
	}
	return all
}
