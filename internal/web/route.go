package web

import (
	"context"
	"net/http"

	"github.com/perdure/perdure/access"
)

// Route describes one endpoint for the guard and the tests.
type Route struct {
	Method  string // GET, POST ...; GET answers HEAD as well
	Pattern string // of http.ServeMux, without a method
	Name    string // what it does, in one word, such as startRun
	Summary string

	Role    access.Role // required role; empty: none, for probes and login pages
	Writes  bool        // changes something; refused when read-only
	AnyHost bool        // serves any Host: for probes, which reveal nothing

	Body  int64  // maximum size of the body in bytes; 0: no body is accepted
	Media string // media type of the body; empty: application/json
	Long  bool   // may last as long as its caller listens; limited in number

	Handler http.HandlerFunc
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

func as(ctx context.Context, who access.Identity) context.Context {
	return context.WithValue(ctx, whoKey{}, who)
}
