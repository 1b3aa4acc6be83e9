package dashboard

import (
	"errors"
	"html/template"
	"net/url"
	"time"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/internal/param"
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
	var both listing.Span
	if err = readSpan(s.SinceText, s.UntilText, &both.Since, &both.Until); err == nil {
		err = both.Check()
	}
	s.Since, s.Until = both.Since.At, both.Until.At
	return s, notRead(err)
}

// readSpan reads the bounds of a time span. Empty text means none.
func readSpan(since, until string, from, to *param.Moment) error {
	for _, b := range []struct {
		text string
		into *param.Moment
	}{{since, from}, {until, to}} {
		if b.text == "" {
			continue
		}
		if err := b.into.UnmarshalText([]byte(b.text)); err != nil {
			return err
		}
	}
	return nil
}

// notRead is the answer to a filter that cannot be read.
func notRead(err error) error {
	if w, ok := errors.AsType[*param.Wrong](err); ok {
		return &badRequest{human.Sentence("the " + w.Param + " " + w.Problem), human.Sentence(w.Remedy)}
	}
	return err
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
