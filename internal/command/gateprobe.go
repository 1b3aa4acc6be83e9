package command

import (
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

var probeGate = fills(Row(Command{
	On: Gate, Name: "probe", Short: "Let one attempt pass an open circuit breaker",
	Means:   "The cooldown of the breaker ends: the first call in line starts its attempt now, as the probe. If it succeeds the breaker closes and the others pass; if it fails the breaker is open again for its cooldown. If no call waits, the next one that comes is the probe. Where each run key has a breaker of its own, this is about the key that is named, or about all.",
	Example: "  perdure gates probe payments --reason \"they say that it is up\"\n  perdure gates probe payments --key customer-17\n  perdure gates probe payments --dry-run",
}, func(a *Ask, p *gateProbe) (view.GateChange, Effect, error) {
	c, err := ops.ProbeGateKey(a.Ctx, a.Engine, a.Name, p.Key, a.Settings(&p.Reason)...)
	return c, gateEffect(&c), err
}), gateProbeForm)

// gateProbe says whose breaker is probed.
type gateProbe struct {
	Key string `json:"key,omitempty" help:"probe the breaker of this run {key} alone, if each has its own" label:"Only of the key" hint:"empty: of every key"`
	Reason
}

// gateProbeForm asks for a key where each has a breaker of its own.
func gateProbeForm(a *Ask, _ *gateProbe) (f Form, err error) {
	g, err := FindGate(a.Ctx, a.Engine, a.Name)
	if err == nil && !g.Spec.Breaker.PerKey {
		f.Without = append(f.Without, "key")
	}
	return f, err
}
