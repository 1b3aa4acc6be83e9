package seal

import (
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/gates"
)

// GateSpec converts a gate's public spec, with a default mode.
func GateSpec(s gate.Spec, mode gate.Mode) gates.Spec {
	if s.Mode != "" {
		mode = s.Mode
	}
	return gates.Spec{
		Name: s.Name, Limit: s.Limit, Mode: gates.Mode(mode), MaxHold: s.MaxHold,
		Rate: gates.Rate(s.Rate), Budget: gates.Budget(s.Budget), Breaker: gates.Breaker(s.Breaker),
	}
}
