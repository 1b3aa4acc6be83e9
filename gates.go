package perdure

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/view"
)

// The views of gates. All of them are plain data and have stable JSON names.
type (
	// Gate is a gate over all nodes, as activity.Through names it, and who is there.
	Gate = view.Gate
	// Ticket is the place of a call at a gate.
	Ticket = view.Ticket
	// GateWait says where a pending call waits.
	GateWait = view.GateWait
	// PausedInfo says who paused something, and when.
	PausedInfo = view.Pause
)

// Gates returns the gates of the engine's group by name: how many they let pass,
// who holds them, who waits and for how long, and what their circuit breakers and
// retry budgets say. It reads what is committed, so it works beside a running
// engine and without one. A gate is there from when the first call came to it
// until nobody has used it for a week, unless it remembers something: a pause, a budget
// that is not full, failures that its breaker counts.
func (e *Engine) Gates(ctx context.Context) ([]Gate, error) {
	gates, err := e.inner.Gates(ctx)
	if err != nil {
		return nil, fmt.Errorf("perdure: gates: %w", err)
	}
	return gates, nil
}

// PauseGate lets no attempt pass a gate until ResumeGate, on all nodes and across
// restarts; attempts that run go on, and the queue times of calls that wait go on
// as well. Who wants that and why is shown with the gate; both may be empty. When
// it returns, the wish is durable, and the gate's owner follows it at once or when
// there is one. Pausing a paused gate changes nothing. ErrNotFound says that no
// call has come to such a gate yet.
func (e *Engine) PauseGate(ctx context.Context, name, by, why string) error {
	if err := e.inner.PauseGate(ctx, name, true, request.By{Who: by, Why: why}); err != nil {
		return fmt.Errorf("perdure: pause gate %q: %w", name, err)
	}
	return nil
}

// ResumeGate ends a pause; see PauseGate. A gate that is not paused stays as it is.
func (e *Engine) ResumeGate(ctx context.Context, name, by, why string) error {
	if err := e.inner.PauseGate(ctx, name, false, request.By{Who: by, Why: why}); err != nil {
		return fmt.Errorf("perdure: resume gate %q: %w", name, err)
	}
	return nil
}
