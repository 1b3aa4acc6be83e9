// Package webtest tests tables of routes against what package web promises for every route.
// It derives the requests from the table, so each new route is tested automatically.
package webtest
