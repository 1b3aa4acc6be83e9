// Package web serves tables of routes behind one guard: the HTTP API and the dashboard are
// such tables. What a request must pass is decided here, by what the table says of its
// route, before a handler sees it. So a handler neither checks who asks nor reads from the
// network: the body that it finds is in memory and within the route's limit.
//
// Package webtest holds every route of a table to that, from the table itself.
package web
