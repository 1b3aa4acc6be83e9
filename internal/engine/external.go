package engine

import (
	"github.com/perdure/perdure/internal/attempt"
	"github.com/perdure/perdure/internal/core"
)

// outsideRule is about messages from processes that complete attempts from outside.
func outsideRule(e *Engine) rule {
	return rule{gather: e.inboxFirst, arrived: e.heardOutside}
}

// heardOutside treats a heartbeat from outside as a sign of life of the body that runs here.
func (e *Engine) heardOutside(run string, in core.Input) {
	beat, is := in.(core.Heartbeat)
	if !is {
		return
	}
	if x := e.attempts.Get(attempt.Key{Run: run, Call: beat.Call, Number: beat.Attempt}); x != nil {
		x.Alive()
	}
}

// inboxFirst reads the inbox before a run takes an attempt as ended if a message there may
// say how it ended: before an attempt that continues outside times out, and before attempts
// that were in flight at a takeover count as lost. It also reads the inbox of a partition
// that is being handed over.
func (e *Engine) inboxFirst(r *activeRun, todo []mail, loaded bool) ([]mail, error) {
	var err error
	switch {
	case r.run.OutsideDue(e.clock.Now()):
		err = e.readInbox(r.partition)
	case loaded && !r.run.Idle() && !e.wasRead(r.partition):
		err = e.readInboxOnce(r.partition)
	default:
		return todo, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var rest []mail
	for _, m := range r.mail {
		if e.limited(m) != nil {
			rest = append(rest, m)
		} else {
			todo = append(todo, m)
		}
	}
	r.mail = rest
	return todo, err
}
