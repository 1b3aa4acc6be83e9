package engine

import (
	"github.com/perdure/perdure/internal/inspect"
)

// warnOfLength says once that a run's history will come to its limit: in the turn
// with which it passes the mark.
func (e *Engine) warnOfLength(r *activeRun, added int) {
	mark, length := inspect.Near(e.config.MaxHistory), r.run.Length()
	if length >= mark && length-added < mark {
		e.log.HistoryLong(logged(r.run.Start()), length, e.config.MaxHistory)
	}
}

// warnOfBacklog says once that a run leaves signals unread: in the turn with which they
// pass the mark.
func (e *Engine) warnOfBacklog(r *activeRun, before int) {
	mark, unread := inspect.Near(e.config.MaxSignalBacklog), r.run.Backlog()
	if unread >= mark && before < mark {
		e.log.BacklogLong(logged(r.run.Start()), unread, e.config.MaxSignalBacklog)
	}
}
