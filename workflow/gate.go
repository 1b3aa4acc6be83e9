package workflow

import (
	"cmp"
	"slices"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/internal/seal"
)

// gatesOnRecord are the gates of a call as history has them, by name.
func gatesOnRecord(options seal.ActivityOptions) []gates.Spec {
	var all []gates.Spec
	for _, g := range options.Gates {
		all = append(all, seal.GateSpec(g.Spec(), gate.Rejoin))
	}
	slices.SortFunc(all, func(a, b gates.Spec) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
