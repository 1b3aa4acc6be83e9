package dashboard

import (
	"errors"
	"maps"
	"net/url"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/internal/param"
)

// renamed are the parameters of addresses that were called otherwise before.
var renamed = map[string]string{"q": "prefix", "error": "error_type"}

// readFilter reads a filter from the parameters of an address.
func readFilter(given url.Values, into any) error {
	v := maps.Clone(given)
	for old, name := range renamed {
		if len(v[name]) == 0 {
			v[name] = v[old]
		}
	}
	return notRead(param.ReadQuery(into, v))
}

// readSpanned reads a filter with a span of time, which has a standard beginning: an address in
// which it is empty means all times.
func (q *request) readSpanned(into any, span *listing.Span, standard string) error {
	v := q.URL.Query()
	if !v.Has("since") {
		v.Set("since", standard)
	}
	if err := readFilter(v, into); err != nil {
		return err
	}
	return notRead(span.Check())
}

// spanned are the parameters of an address with a filter that has a span of time.
func spanned(filter any) url.Values {
	v := param.Query(filter)
	if !v.Has("since") {
		v.Set("since", "")
	}
	return v
}

// notRead is the answer to a filter that cannot be read.
func notRead(err error) error {
	if w, ok := errors.AsType[*param.Wrong](err); ok {
		return &badRequest{human.Sentence("the " + w.Param + " " + w.Problem), human.Sentence(w.Remedy)}
	}
	return err
}

// spanTabs returns tabs for the frequently used spans, keeping the rest of the address.
func spanTabs(path string, s *listing.Span, rest url.Values) (tabs []listTab) {
	for _, t := range []struct{ name, since string }{{"1 hour", "1h"}, {"6 hours", "6h"}, {"1 day", "24h"}, {"7 days", "7d"}, {"30 days", "30d"}} {
		v := url.Values{"since": {t.since}}
		for name, values := range rest {
			if name != "since" && name != "until" {
				v[name] = values
			}
		}
		tabs = append(tabs, listTab{t.name, linkTo(path, v), s.Since.Written == t.since && s.Until.IsZero()})
	}
	return tabs
}
