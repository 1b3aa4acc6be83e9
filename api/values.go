package api

import (
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/param"
)

// span is a duration as text: "30s", "1h30m", "7d".
type span = param.Span

const (
	defaultWait = span(20 * time.Second)
	maxWait     = span(time.Minute)
)

// decodeQueryInto decodes the parameters of an address into a struct.
func decodeQueryInto(r *http.Request, query any) error {
	given, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return badRequest("the parameters of the address cannot be read: %v", err)
	}
	var known []string
	for _, p := range param.Queried(reflect.TypeOf(query).Elem()) {
		known = append(known, p.Name)
	}
	for name := range given {
		switch {
		case slices.Contains(known, name):
		case len(known) == 0:
			return badRequest("there is no parameter %q here; the address takes none", name)
		default:
			return badRequest("there is no parameter %q; there are %s", name, strings.Join(known, ", "))
		}
	}
	return param.ReadQuery(query, given)
}
