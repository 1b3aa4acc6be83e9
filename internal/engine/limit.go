package engine

import (
	"github.com/perdure/perdure/internal/inspect"
)

// warnOfLength warns once that a run's history comes close to its limit: in the turn that
// passes the mark.
func (r *activeRun) warnOfLength(added int) {
	e := r.engine
	mark, length := inspect.Near(e.config.MaxHistory), r.run.Length()
	if length >= mark && length-added < mark {
		e.log.HistoryLong(logged(r.run.Start()), length, e.config.MaxHistory)
	}
}

// warnOfBacklog warns that unread signals of a run come close to the limit: in each turn that
// passes the mark.
func (r *activeRun) warnOfBacklog(before int) {
	e := r.engine
	mark, unread := inspect.Near(e.config.MaxSignalBacklog), r.run.Backlog()
	if unread >= mark && before < mark {
		e.log.BacklogLong(logged(r.run.Start()), unread, e.config.MaxSignalBacklog)
	}
}
