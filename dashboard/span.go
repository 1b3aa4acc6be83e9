package dashboard

import (
	"fmt"
	"html/template"
	"net/url"
	"time"

	"github.com/perdure/perdure/internal/human"
)

// span is a time span with its bounds as a person wrote them.
type span struct {
	SinceText, UntilText string
	Since, Until         time.Time // zero: no bound
}

// spanOf parses the parameters since and until of an address.
func (q *request) spanOf(standard string) (s span, err error) {
	v := q.URL.Query()
	s.SinceText, s.UntilText = standard, v.Get("until")
	if v.Has("since") {
		s.SinceText = v.Get("since")
	}
	if s.Since, err = q.moment(s.SinceText); err == nil {
		s.Until, err = q.moment(s.UntilText)
	}
	if err == nil && !s.Since.IsZero() && !s.Until.IsZero() && !s.Since.Before(s.Until) {
		err = &badRequest{fmt.Sprintf("The time span is empty: %q is not before %q.", s.SinceText, s.UntilText), "Exchange them, or leave one out."}
	}
	return s, err
}

// moment parses a time. Empty text means none.
func (q *request) moment(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, ok := human.Moment(text, q.now)
	if !ok {
		return t, &badRequest{fmt.Sprintf("%q is not a time.", text), "Give how long ago it is (90m, 24h, 7d), or a time such as " + q.now.UTC().Format(time.RFC3339) + "."}
	}
	return t, nil
}

// spanTab is a frequently used time span.
type spanTab struct {
	Name    string
	Link    template.URL
	Current string // for aria-current
}

// spanTabs returns tabs for the frequently used spans, keeping the rest of the address.
func (s *span) spanTabs(path string, rest url.Values) (tabs []spanTab) {
	for _, t := range []struct{ name, since string }{{"1 hour", "1h"}, {"6 hours", "6h"}, {"1 day", "24h"}, {"7 days", "7d"}, {"30 days", "30d"}} {
		v := url.Values{"since": {t.since}}
		for name, values := range rest {
			if name != "since" && name != "until" {
				v[name] = values
			}
		}
		tab := spanTab{Name: t.name, Link: linkTo(path, v)}
		if s.SinceText == t.since && s.UntilText == "" {
			tab.Current = "true"
		}
		tabs = append(tabs, tab)
	}
	return tabs
}
