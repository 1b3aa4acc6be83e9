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
// week, unless it remembers something: a pause, an edit, a budget that is not full, failures
// that its breaker counts.
func Gates(ctx context.Context, e *perdure.Engine) ([]view.Gate, error) {
	gates, err := inside(e).Gates(ctx)
	return gates, failed(err, "gates")
}

// PauseGate lets no attempt pass a gate until ResumeGate, on all nodes and across
// restarts. Attempts that run continue, and so do the queue times of calls that wait. When
// PauseGate returns, the request is durable; the gate's owner follows it as soon as there
// is one. Pausing a paused gate changes nothing. With the RequestID of a request that the gate
// has followed, nothing is done, whatever was done since. The error is perdure.ErrNotFound if no
// call has come to such a gate yet.
func PauseGate(ctx context.Context, e *perdure.Engine, name string, options ...ControlOption) error {
	s := settingsOf(options)
	s.unselected()
	s.wet("ops.PauseGate")
	return failed(inside(e).PauseGate(ctx, name, true, s.whom()), "pause gate %q", name)
}

// ResumeGate ends a pause; see PauseGate. A gate that is not paused stays as it is.
func ResumeGate(ctx context.Context, e *perdure.Engine, name string, options ...ControlOption) error {
	s := settingsOf(options)
	s.unselected()
	s.wet("ops.ResumeGate")
	return failed(inside(e).PauseGate(ctx, name, false, s.whom()), "resume gate %q", name)
}

// EditGate makes a gate do something else than what the code declares: another limit, rate,
// retry budget or circuit breaker. An edit holds for what it names, on all nodes and across
// restarts, until another one names that or edit.AsInCode takes it back; a deployment with
// other values does not end it. The rest of the gate follows the code. A lower limit takes
// effect as slots are given back, and a breaker that is open stays so until its time has
// come: see ProbeGate and ResetGate.
//
// The change says what the edit means for the calls at the gate, judged by what is
// committed; DryRun only asks for that. When EditGate returns without an error, the request
// is durable; the gate's owner follows it as soon as there is one. With the RequestID of a
// request that the gate has followed, nothing is done, and the answer has what came of it,
// with the gate as it is now. The error is
// perdure.ErrNotFound if no call has come to such a gate yet, and a *view.InputError if the
// gate cannot do what the edit says.
func EditGate(ctx context.Context, e *perdure.Engine, name string, edit view.GateEdit, options ...ControlOption) (view.GateChange, error) {
	s := settingsOf(options)
	s.unselected()
	change, err := inside(e).EditGate(ctx, name, edit, s.dry, s.whom())
	return change, failed(err, "edit gate %q", name)
}

// ProbeGate ends the cooldown of an open circuit breaker: the first call in line starts its
// attempt now, as the probe, whose outcome closes the breaker or opens it again. If no call
// waits, the next one that comes does. A breaker that is closed, or has its probe already,
// stays as it is. Result and errors are those of EditGate; a paused gate, and one without
// a breaker, refuse.
func ProbeGate(ctx context.Context, e *perdure.Engine, name string, options ...ControlOption) (view.GateChange, error) {
	s := settingsOf(options)
	s.unselected()
	change, err := inside(e).ProbeGate(ctx, name, s.dry, s.whom())
	return change, failed(err, "probe gate %q", name)
}

// ResetGate lets parts of a gate forget what was: the circuit breaker closes, the retry
// budget has all its tokens. What waits starts as the gate allows. Result and errors are
// those of EditGate.
func ResetGate(ctx context.Context, e *perdure.Engine, name string, parts view.GateReset, options ...ControlOption) (view.GateChange, error) {
	s := settingsOf(options)
	s.unselected()
	change, err := inside(e).ResetGate(ctx, name, parts, s.dry, s.whom())
	return change, failed(err, "reset gate %q", name)
}
