package api

import (
	"cmp"
	"fmt"
	"reflect"
	"time"

	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/ops"
)

// listEndpoints returns the endpoints of the table of lists, with those of one of a list.
func listEndpoints() []endpoint {
	return []endpoint{
		list(&listing.Nodes), list(&listing.WorkflowStats), list(&listing.PausedActivities), list(&listing.Switches),
		list(&listing.ActivityStats), list(&listing.HourStats), list(&listing.ErrorStats),
		list(&listing.Gates), named("GET /api/gates/{name}", "describeGate", "Describe a gate with the calls at it.", "gates show", command.FindGate),
		list(&listing.Schedules), named("GET /api/schedules/{name}", "describeSchedule", "Describe a schedule with its fires.", "schedules show", ops.DescribeSchedule),
	}
}

// list returns the endpoint of a row of the table of lists.
func list[Q, T any](l *listing.List[Q, T]) endpoint {
	return answering(l.Address, l.Name, l.Short+".", l.Line, l.Field, l.Order, false, func(c *call, q Q) (all []T, next string, err error) {
		all, err = l.Read(c.Context(), c.e, &q, time.Now())
		return all, "", err
	})
}

// answering returns the endpoint whose answer is an object with a list, and with the place behind
// which the next page begins if it has pages.
func answering[Q, T any](line, name, summary, does, field, order string, pages bool, read func(c *call, q Q) (all []T, next string, err error)) endpoint {
	fields := []reflect.StructField{{Name: "List", Type: reflect.TypeFor[[]T](), Tag: reflect.StructTag(fmt.Sprintf("json:%q doc:%q", field, order))}}
	if pages {
		fields = append(fields, reflect.StructField{Name: "Next", Type: reflect.TypeFor[string](), Tag: `json:"next,omitempty" doc:"after of the next page, if there is one"`})
	}
	result := reflect.StructOf(fields)
	e := define(line, name, summary, does, func(c *call, q Q, _ none) (any, error) {
		all, next, err := read(c, q)
		r := reflect.New(result).Elem()
		if r.Field(0).Set(reflect.ValueOf(append([]T{}, all...))); pages {
			r.Field(1).SetString(next)
		}
		return r.Interface(), err
	})
	e.result = result
	return e
}

// size is how long a page is of a list that one run has.
type size struct {
	Limit int `query:"limit" doc:"maximum number; default 1000"`
}

func (s size) limit() int { return cmp.Or(s.Limit, 1000) }

// more is one more than the limit, which shows whether there is a next page.
func (s size) more() int { return s.limit() + 1 }

// mostOnPage is the maximum number of events, attempts or calls in a page.
const mostOnPage = 100_000

// paged returns the endpoint of a list that one run has, which is read in pages.
func paged[Q interface {
	read(c *call) ([]T, error)
	limit() int
}, T any](line, name, summary, does, field, order string, place func(last *T) string) endpoint {
	return answering(line, name, summary, does, field, order, true, func(c *call, q Q) (all []T, next string, err error) {
		limit := q.limit()
		if limit > mostOnPage {
			return nil, "", badRequest("the limit is %d; at most %d %s are listed on a page", limit, mostOnPage, field)
		}
		if all, err = q.read(c); len(all) > limit {
			all, next = all[:limit], place(&all[limit-1])
		}
		return all, next, err
	})
}
