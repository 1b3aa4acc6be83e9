package api

import (
	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

func gateEndpoints() []endpoint {
	return []endpoint{
		define("GET /api/gates", "listGates", "List gates: what they let pass, who holds them and who waits.", "gates", listGates),
		define("GET /api/gates/{name}", "describeGate", "Describe a gate with the calls at it.", "gates show", describeGate),
	}
}

type gateList struct {
	Gates []view.Gate `json:"gates" doc:"by name"`
}

func listGates(c *call, _, _ none) (gateList, error) {
	gates, err := ops.Gates(c.Context(), c.e)
	return gateList{append([]view.Gate{}, gates...)}, err
}

func describeGate(c *call, _, _ none) (*view.Gate, error) {
	return command.FindGate(c.Context(), c.e, c.PathValue("name"))
}
