package request

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/store"
)

// PauseGate keeps attempts from passing a gate, or lets them pass again. Attempts in
// flight go on. When it returns, the request is durable. store.ErrNotFound says that
// there is no such gate.
func (c *Client) PauseGate(ctx context.Context, name string, paused bool, by By) error {
	if err := c.check(ctx, named("gate", name), by.check()); err != nil {
		return err
	}
	err := c.pauseGate(ctx, core.ToGate{Gate: name, Word: core.GateResume, By: by.Who, Why: by.Why}, paused)
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("there is no gate %q: it is made when the first call comes to it, and forgotten a week after the last: %w", name, err)
	}
	return err
}

func (c *Client) pauseGate(ctx context.Context, m core.ToGate, paused bool) error {
	if paused { // what it does goes along, in case it is forgotten before the message arrives
		g, err := c.read.Gate(ctx, m.Gate)
		if err != nil {
			return err
		}
		spec := g.Detail().Spec
		m.Word, m.Spec = core.GatePause, &spec
	}
	return c.tell(ctx, message.ControlGate(c.group, &m))
}
