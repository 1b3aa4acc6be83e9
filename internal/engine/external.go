package engine

import (
	"github.com/perdure/perdure/internal/attempt"
	"github.com/perdure/perdure/internal/core"
)

// outsideRule is about messages from processes that complete attempts from outside.
func outsideRule(e *Engine) rule {
	return rule{arrived: e.heardOutside}
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
