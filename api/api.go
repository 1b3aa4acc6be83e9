package api

import (
	"net/http"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/internal/web"
)

// Handler returns a handler that serves an engine to the callers that the rules allow.
// Its paths begin with /api/; it also serves /healthz and /readyz. It is safe for
// concurrent use, and does not close the engine.
//
// The error is that of the rules.
func Handler(e *perdure.Engine, rules access.Rules, options ...Option) (http.Handler, error) {
	g, err := web.New(rules)
	if err != nil {
		return nil, err
	}
	all := routes(e, g)
	for _, o := range options {
		all = append(all, o.route)
	}
	return g.Handler(all, web.Look{Refuse: web.WriteProblem, Policy: web.NoContent}), nil
}

// Option adds something to what Handler serves: Metrics.
type Option struct{ route web.Route }

// Metrics serves a handler of package telemetry at /metrics, to callers who may look.
func Metrics(h http.Handler) Option {
	return Option{web.Route{Method: http.MethodGet, Pattern: "/metrics", Name: "metrics", Summary: "Metrics for Prometheus.", Role: access.Viewer, Handler: h.ServeHTTP}}
}

// routes returns the endpoints of an engine for a guard.
func routes(e *perdure.Engine, g *web.Guard) (all []web.Route) {
	for _, ep := range table() {
		all = append(all, ep.route(e, g))
	}
	return all
}

// table returns all endpoints.
func table() (all []endpoint) {
	for _, part := range [][]endpoint{
		runEndpoints(), messageEndpoints(), operationEndpoints(), listEndpoints(), ledgerEndpoints(), databaseEndpoints(),
		policyEndpoints(), liveEndpoints(), serverEndpoints(), commandEndpoints(),
	} {
		all = append(all, part...)
	}
	return all
}
