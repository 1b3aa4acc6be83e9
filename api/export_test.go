package api

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/web"
)

// Routes are the routes of the API for the tests of all routes.
func Routes(e *perdure.Engine) []web.Route { return routes(e, nil) }

// Comments are the keys of the comments that the OpenAPI document has.
func Comments() map[string]bool {
	_, s := document()
	return s.asked
}
