package workflow

import (
	"cmp"
	"slices"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
)

// gatesOnRecord are the gates of a call as history has them, by name.
func gatesOnRecord(options seal.ActivityOptions) []history.GateSpec {
	var all []history.GateSpec
	for _, g := range options.Gates {
		s := g.Spec()
		s.Mode = cmp.Or(s.Mode, gate.Rejoin)
		all = append(all, history.GateSpec(s))
	}
	slices.SortFunc(all, func(a, b history.GateSpec) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
