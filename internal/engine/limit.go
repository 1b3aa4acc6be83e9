package engine

import (
	"github.com/perdure/perdure/internal/inspect"
)

// warnOfLength says once that a run's history will come to its limit: in the turn
// with which it passes the mark.
func (e *Engine) warnOfLength(r *activeRun, added int) {
	mark, length := inspect.Near(e.config.MaxHistory), r.run.Length()
	if length >= mark && length-added < mark {
		start := r.run.Start()
		e.log.Warn("perdure: the history of a run grows long; it fails at the limit unless it continues as new",
			"workflow", start.WorkflowID, "run", r.id, "type", start.Type, "events", length, "limit", e.config.MaxHistory)
	}
}

// warnOfBacklog says once that a run leaves signals unread: in the turn with which they
// pass the mark.
func (e *Engine) warnOfBacklog(r *activeRun, before int) {
	mark, unread := inspect.Near(e.config.MaxSignalBacklog), r.run.Backlog()
	if unread >= mark && before < mark {
		start := r.run.Start()
		e.log.Warn("perdure: a run leaves signals unread; at the limit it is sent no more until its code has read some",
			"workflow", start.WorkflowID, "run", r.id, "type", start.Type, "unread", unread, "limit", e.config.MaxSignalBacklog)
	}
}
