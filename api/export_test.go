package api

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/web"
)

// Routes are the routes of the API for the tests of all routes.
func Routes(e *perdure.Engine) []web.Route { return routes(e, nil) }
