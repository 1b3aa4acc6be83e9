package workflow

import (
	"cmp"
	"slices"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/history"
)

// gatesOnRecord are the gates of a call as history has them, by name.
func gatesOnRecord(options activity.Options) []history.Gate {
	var gates []history.Gate
	for _, g := range options.Gates {
		c := g.Spec().Config(gate.Rejoin)
		gates = append(gates, history.Gate{
			Name: g.Name(), Limit: c.Limit, Mode: string(c.Mode), MaxHold: c.MaxHold,
			Rate:    history.GateRate(c.Rate),
			Budget:  history.GateBudget(c.Budget),
			Breaker: history.GateBreaker(c.Breaker),
		})
	}
	slices.SortFunc(gates, func(a, b history.Gate) int { return cmp.Compare(a.Name, b.Name) })
	return gates
}
