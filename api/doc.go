// Package api serves an engine over HTTP: programs in any language can start, signal,
// query, update and follow runs, and do everything that operators do.
//
//	handler, err := api.Handler(eng, access.Rules{
//		Tokens: []access.Token{{Name: "shop", Role: access.Operator, Secret: os.Getenv("PERDURE_TOKEN")}},
//		Hosts:  []string{"perdure.example.com"},
//	})
//	...
//	mux.Handle("/api/", handler)
//
// The engine may be opened and not started: the handler is then a client of the engines
// that serve the same database. "perdure dashboard" is such a server.
//
// Requests and responses are JSON, with the types of package view. /api/openapi.json
// describes all endpoints and is made from the same table and types as the handler;
// docs/http.md is a tour.
//
// # Times and repetition
//
// Durations are strings such as "1h30m", times are RFC 3339. A request that changes
// something takes an idempotency key in the header Idempotency-Key where its
// documentation says so: repeated with the key it does nothing twice and returns the same
// response. Other requests can be repeated without effect, unless their documentation
// says otherwise.
//
// A wait ends with the caller's request, or after the time that the request sets: the
// response then has the status 202, and the request is still carried out.
//
// # Errors
//
// An error is a problem document of RFC 9457, with the type, a stable code, what is wrong
// and what to do: see /api/problems.
//
// # Live views
//
// Under /api/live are streams of server-sent events. Each event is a whole view, so a
// client may miss events; a client that reconnects with Last-Event-ID gets an event when
// the view has changed.
package api
