// Package api serves an engine over HTTP: whatever language a program is written in, it can
// start, signal, query, update and follow runs, and do all that operators do.
//
//	handler, err := api.Handler(eng, access.Rules{
//		Tokens: []access.Token{{Name: "shop", Role: access.Operator, Secret: os.Getenv("PERDURE_TOKEN")}},
//		Hosts:  []string{"perdure.example.com"},
//	})
//	...
//	mux.Handle("/api/", handler)
//
// The engine may be one that is opened and not started: the handler then is a client of
// those that serve the same database. "perdure dashboard" is such a server.
//
// All is JSON, in the forms of package view. What can be asked is described at
// /api/openapi.json, which is made from the same table and the same types as the handler;
// docs/http.md walks through it.
//
// # Times and repetition
//
// Durations are text such as "1h30m", times are RFC 3339. A request that changes something
// takes an idempotency key in the header Idempotency-Key where it says so: repeated with the
// key it does nothing twice, and has the same answer. Where there is none, repeating has no
// effect of its own, or the documentation says which.
//
// A wait ends with the caller's request, or when the time is over that the request gives it:
// the answer then has the status 202, and what was asked for stands.
//
// # Errors
//
// An error is a problem document as RFC 9457 has it, with the type, a stable code, what is
// wrong and what to do: see /api/problems.
//
// # Live views
//
// Under /api/live are streams of server-sent events. Each event is a whole view, so one
// that was missed is made up for by the next; a client that comes back with Last-Event-ID
// gets an event when the view has changed.
package api
