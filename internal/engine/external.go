package engine

import (
	"github.com/perdure/perdure/internal/attempt"
	"github.com/perdure/perdure/internal/core"
)

// outsideRule concerns messages about attempts from outside.
func outsideRule(e *Engine) rule {
	return rule{gather: e.inboxFirst, arrived: e.heardOutside}
}

// heardOutside keeps a body alive of whose attempt a heartbeat arrives from outside.
func (e *Engine) heardOutside(run string, in core.Input) {
	beat, is := in.(core.Heartbeat)
	if !is {
		return
	}
	if x := e.attempts.Get(attempt.Key{Run: run, Call: beat.Call, Number: beat.Attempt}); x != nil {
		x.Alive()
	}
}

// inboxFirst reads the inbox before a run takes an attempt for ended of which a message
// there may say how it ended: before it times out an attempt that goes on outside, and
// before it loses those that were in flight when it was taken over. It does so in a
// partition that leaves, too.
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
