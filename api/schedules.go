package api

import (
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

func scheduleEndpoints() []endpoint {
	return []endpoint{
		list(&listing.Schedules, func(all []view.Schedule) scheduleList { return scheduleList{all} }),
		define("GET /api/schedules/{name}", "describeSchedule", "Describe a schedule with its fires.", "schedules show", describeSchedule),
	}
}

type scheduleList struct {
	Schedules []view.Schedule `json:"schedules" doc:"by name"`
}

func describeSchedule(c *call, _, _ none) (*view.Schedule, error) {
	return ops.DescribeSchedule(c.Context(), c.e, c.PathValue("name"))
}
