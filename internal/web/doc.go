// Package web serves tables of routes behind one guard. The HTTP API and the dashboard are
// such tables. The guard checks a request against what the table says about its route,
// before a handler sees it. A handler therefore neither authorizes the caller nor reads
// from the network: the body is in memory and within the route's limit.
//
// Package webtest tests that for every route of a table, from the table itself.
package web
