package api

import (
	"net/http"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/internal/web"
)

// Handler serves an engine over HTTP, for those whom the rules let in. Its addresses begin
// with /api/; beside them it answers /healthz and /readyz, for those who mount it there. It
// is safe for concurrent use, and does not close the engine.
//
// The error says what is wrong with the rules.
func Handler(e *perdure.Engine, rules access.Rules) (http.Handler, error) {
	g, err := web.New(rules)
	if err != nil {
		return nil, err
	}
	return g.Handler(routes(e, g), web.Look{Refuse: web.WriteProblem, Policy: web.NoContent}), nil
}

// routes are the endpoints of an engine for a guard.
func routes(e *perdure.Engine, g *web.Guard) (all []web.Route) {
	for _, ep := range table() {
		all = append(all, ep.route(e, g))
	}
	return all
}

// table are all endpoints.
func table() (all []endpoint) {
	for _, part := range [][]endpoint{
		runEndpoints(), messageEndpoints(), operationEndpoints(), tokenEndpoints(), ledgerEndpoints(), databaseEndpoints(),
		activityEndpoints(), gateEndpoints(), scheduleEndpoints(), policyEndpoints(), liveEndpoints(), serverEndpoints(),
	} {
		all = append(all, part...)
	}
	return all
}
