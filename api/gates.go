package api

import (
	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/view"
)

func gateEndpoints() []endpoint {
	return []endpoint{
		list(&listing.Gates, func(all []view.Gate) gateList { return gateList{all} }),
		define("GET /api/gates/{name}", "describeGate", "Describe a gate with the calls at it.", "gates show", describeGate),
	}
}

type gateList struct {
	Gates []view.Gate `json:"gates" doc:"by name"`
}

func describeGate(c *call, _, _ none) (*view.Gate, error) {
	return command.FindGate(c.Context(), c.e, c.PathValue("name"))
}
