package dashboard

import (
	"fmt"
	"html/template"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/perdure/perdure/view"
)

// Option is a setting of a Handler.
type Option func(*server) error

// Logs makes the page of a run link to its logs. In the address {workflow_id}, {run_id} and
// {trace_id} stand for those of the run, as in
//
//	https://logs.example/search?q={run_id}
//
// Another address than http and https, one without such a place, or with another one, is a
// *view.InputError of Handler.
func Logs(address string) Option { return outside("logs", address) }

// Traces makes the page of a run that has a trace link to it. The address is like that of Logs.
func Traces(address string) Option { return outside("trace", address) }

// outward is a link to another system.
type outward struct{ name, address string }

var placeholder = regexp.MustCompile(`\{[^}]*\}`)

func outside(name, address string) Option {
	return func(s *server) error {
		u, err := url.Parse(placeholder.ReplaceAllString(address, "x"))
		known := placeholder.FindAllString(address, -1)
		strange := slices.IndexFunc(known, func(p string) bool { return p != "{workflow_id}" && p != "{run_id}" && p != "{trace_id}" })
		problem := ""
		switch {
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			problem = "does not begin with https:// or http:// and a host"
		case len(known) == 0:
			problem = "is the same for all runs; say with {workflow_id}, {run_id} or {trace_id} where those of a run stand"
		case strange >= 0:
			problem = "has " + known[strange] + ", which is none of {workflow_id}, {run_id} and {trace_id}"
		}
		if problem != "" {
			return &view.InputError{What: fmt.Sprintf("address of the %s, %q,", name, address), Problem: problem}
		}
		s.outside = append(s.outside, outward{name, address})
		return nil
	}
}

// of returns the link for a run; empty if it has no trace and the link is about that.
func (o outward) of(d *view.Description) template.URL {
	trace := ""
	if parts := strings.Split(d.Trace, "-"); len(parts) == 4 { // W3C trace parent
		trace = parts[1]
	}
	if trace == "" && (o.name == "trace" || strings.Contains(o.address, "{trace_id}")) {
		return ""
	}
	return template.URL(strings.NewReplacer(
		"{workflow_id}", url.QueryEscape(d.WorkflowID), "{run_id}", url.QueryEscape(d.RunID), "{trace_id}", url.QueryEscape(trace),
	).Replace(o.address))
}
