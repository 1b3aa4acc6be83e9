// Package webtest holds tables of routes to what package web promises of every route. The
// requests are made from the table, so a route that is added is tested with it.
package webtest
