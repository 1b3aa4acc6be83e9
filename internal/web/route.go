package web

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/perdure/perdure/access"
)

// Route describes one endpoint for the guard and the tests.
type Route struct {
	Method  string // GET, POST ...; GET answers HEAD as well
	Pattern string // of http.ServeMux, without a method
	Name    string // what it does, in one word, such as startRun
	Summary string

	Role    access.Role   // required role; empty: none, for probes and login pages
	Also    []access.Role // other roles that suffice; the handler holds a caller to its limits
	Writes  bool          // changes something; refused when read-only
	AnyHost bool          // serves any Host: for probes, which reveal nothing

	Body  int64  // maximum size of the body in bytes; 0: no body is accepted
	Media string // media type of the body; empty: application/json
	Long  bool   // may last as long as its caller listens; limited in number

	Handler http.HandlerFunc
}

// Admits reports whether a caller with the role may use the route.
func (r Route) Admits(role access.Role) bool {
	return role.May(r.Role) || slices.ContainsFunc(r.Also, role.May)
}

// Roles returns the roles that suffice for the route, nil if it needs none.
func (r Route) Roles() (all []access.Role) {
	if r.Role == "" {
		return nil
	}
	for _, role := range []access.Role{access.Viewer, access.Starter, access.Worker, access.Operator} {
		if r.Admits(role) {
			all = append(all, role)
		}
	}
	return all
}

// Needs says in words which roles suffice for the route, such as "a viewer or an operator". of
// is added to the one that a caller may have for some names only.
func (r Route) Needs(of string) string {
	var words []string
	for _, role := range r.Roles() {
		if words = append(words, InWords(role)); slices.Contains(r.Also, role) {
			words[len(words)-1] += of
		}
	}
	return strings.Join(words, " or ")
}

// InWords returns a role as in "a starter of checkout, refund".
func InWords(r access.Role) string {
	text := "a " + string(r.Kind())
	if r.Kind() == access.Operator {
		text = "an operator"
	}
	if names := r.Names(); names != nil {
		text += " of " + strings.Join(names, ", ")
	}
	return text
}

// Look says how a set of routes presents itself.
type Look struct {
	// Refuse writes why a request is refused. The status is that of the problem.
	Refuse func(w http.ResponseWriter, r *http.Request, p *Problem)
	// Policy is the Content-Security-Policy.
	Policy string
}

// Content security policies: of responses that are not pages, and of pages whose scripts
// and styles are files of the same server.
const (
	NoContent = "default-src 'none'; frame-ancestors 'none'"
	OwnFiles  = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

type whoKey struct{}

// Who returns the caller of an admitted request. It returns the zero Identity if the route
// needs no role.
func Who(ctx context.Context) access.Identity {
	who, _ := ctx.Value(whoKey{}).(access.Identity)
	return who
}

type againKey struct{}

// Again returns why a long request would no longer be admitted, or nil. A handler that
// sends while its caller listens calls it before each send.
func Again(ctx context.Context) *Problem {
	if again, ok := ctx.Value(againKey{}).(func() *Problem); ok {
		return again()
	}
	return nil
}
