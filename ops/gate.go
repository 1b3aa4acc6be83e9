package ops

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// Gates returns the gates of the engine's group by name: how many calls they let pass, who
// holds them, who waits and for how long, and what their circuit breakers and retry
// budgets say. It reads what is committed, so it works beside a running engine and
// without one. A gate exists from the first call that comes to it until it is unused for a
// week, unless it remembers something: a pause, a budget that is not full, failures that
// its breaker counts.
func Gates(ctx context.Context, e *perdure.Engine) ([]view.Gate, error) {
	gates, err := inside(e).Gates(ctx)
	return gates, failed(err, "gates")
}

// PauseGate lets no attempt pass a gate until ResumeGate, on all nodes and across
// restarts. Attempts that run continue, and so do the queue times of calls that wait. When
// PauseGate returns, the request is durable; the gate's owner follows it as soon as there
// is one. Pausing a paused gate changes nothing. The error is perdure.ErrNotFound if no
// call has come to such a gate yet.
func PauseGate(ctx context.Context, e *perdure.Engine, name string, options ...Option) error {
	s := settingsOf(options)
	return failed(inside(e).PauseGate(ctx, name, true, s.whom()), "pause gate %q", name)
}

// ResumeGate ends a pause; see PauseGate. A gate that is not paused stays as it is.
func ResumeGate(ctx context.Context, e *perdure.Engine, name string, options ...Option) error {
	s := settingsOf(options)
	return failed(inside(e).PauseGate(ctx, name, false, s.whom()), "resume gate %q", name)
}
