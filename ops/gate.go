package ops

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// Gates returns the gates of the engine's group by name: their limits, the calls that
// hold them, the calls that wait and for how long, and the state of their circuit
// breakers and retry budgets. It reads committed state, so it works beside a running
// engine and without one. A gate exists from its first call until it is unused for a
// week; one with a pause, an edit, a budget that is not full or failures that its breaker
// counts is kept.
func Gates(ctx context.Context, e *perdure.Engine) ([]view.Gate, error) {
	gates, err := inside(e).Gates(ctx)
	return gates, failed(err, "gates")
}

// PauseGate lets no attempt pass a gate until ResumeGate, on all nodes and across
// restarts. Running attempts continue, and the QueueTimeout of waiting calls keeps
// counting. When PauseGate returns, the request is durable; the gate's owner carries it
// out as soon as there is one. Pausing a paused gate changes nothing. Repeated with the
// RequestID of a request that was carried out, it does nothing. The error is
// perdure.ErrNotFound if no call has come to such a gate yet.
func PauseGate(ctx context.Context, e *perdure.Engine, name string, options ...ControlOption) error {
	return failed(inside(e).PauseGate(ctx, name, true, undryable(options, "ops.PauseGate")), "pause gate %q", name)
}

// ResumeGate ends a pause; see PauseGate. It changes nothing if the gate is not paused.
func ResumeGate(ctx context.Context, e *perdure.Engine, name string, options ...ControlOption) error {
	return failed(inside(e).PauseGate(ctx, name, false, undryable(options, "ops.ResumeGate")), "resume gate %q", name)
}

// EditGate overrides what the code declares for a gate: its limit, rate, retry budget or
// circuit breaker. An edit applies to the fields it names, on all nodes and across
// restarts, until another edit names them or edit.AsInCode removes it; a deployment with
// other values does not end it. Other fields follow the code. A lower limit takes effect
// as slots are given back, and an open breaker stays open until its cooldown ends: see
// ProbeGate and ResetGate.
//
// The result says what the edit means for the calls at the gate, according to committed
// state; with DryRun EditGate changes nothing. When it returns without an error, the
// request is durable; the gate's owner carries it out as soon as there is one. Repeated
// with the RequestID of a request that was carried out, it does nothing and returns the
// outcome, with the gate as it is now. The error is perdure.ErrNotFound if no call has
// come to such a gate yet, and a *view.InputError if the edit is invalid for the gate.
func EditGate(ctx context.Context, e *perdure.Engine, name string, edit view.GateEdit, options ...ControlOption) (view.GateChange, error) {
	s := unselected(options)
	change, err := inside(e).EditGate(ctx, name, edit, s.dry, s.whom())
	return change, failed(err, "edit gate %q", name)
}

// ProbeGate ends the cooldown of an open circuit breaker: the first call in line starts
// its attempt now, as the probe, whose outcome closes the breaker or opens it again. If
// no call waits, the next call is the probe. A breaker that is closed, or has a probe
// already, stays as it is. Where each run key has a breaker of its own, it is about all of
// them; see ProbeGateKey. Result and errors are those of EditGate; a paused gate and a
// gate without a breaker refuse.
func ProbeGate(ctx context.Context, e *perdure.Engine, name string, options ...ControlOption) (view.GateChange, error) {
	return ProbeGateKey(ctx, e, name, "", options...)
}

// ProbeGateKey is ProbeGate for the breaker of one run key (workflow.Key). A gate with one breaker
// for all keys refuses.
func ProbeGateKey(ctx context.Context, e *perdure.Engine, name, key string, options ...ControlOption) (view.GateChange, error) {
	s := unselected(options)
	change, err := inside(e).ProbeGate(ctx, name, key, s.dry, s.whom())
	return change, failed(err, "probe gate %q", name)
}

// ResetGate resets parts of a gate: the circuit breaker closes, the retry budget gets all
// its tokens. Waiting calls start as the gate allows. Where each run key has its own,
// parts.Key says of which. Result and errors are those of EditGate; a gate with one for all
// keys refuses a key.
func ResetGate(ctx context.Context, e *perdure.Engine, name string, parts view.GateReset, options ...ControlOption) (view.GateChange, error) {
	s := unselected(options)
	change, err := inside(e).ResetGate(ctx, name, parts, s.dry, s.whom())
	return change, failed(err, "reset gate %q", name)
}
