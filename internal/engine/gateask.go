package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/store"
)

// PauseGate lets nobody pass a gate any more, or again, also across restarts. What
// runs goes on. When it returns, the wish is durable; the gate's owner follows it.
func (e *Engine) PauseGate(ctx context.Context, name string, paused bool, by, why string) error {
	if err := history.CheckName("gate name", name); err != nil {
		return err
	}
	m := core.ToGate{Gate: name, Word: core.GateResume, By: by, Why: why}
	unknown := func(err error) error {
		return fmt.Errorf("there is no gate %q: it is made when the first call comes to it, and forgotten a week after the last: %w", name, err)
	}
	if paused {
		g, err := e.Gate(ctx, name)
		if errors.Is(err, store.ErrNotFound) {
			return unknown(err)
		}
		if err != nil {
			return err
		}
		spec := g.Detail().Spec
		m.Word, m.Spec = core.GatePause, &spec
	}
	err := e.db.Post(ctx, message.ControlGate(e.group, &m))
	if errors.Is(err, store.ErrNotFound) {
		return unknown(err)
	}
	if err == nil {
		e.kickInbox()
	}
	return err
}
