package web

import (
	"context"
	"net/http"

	"github.com/perdure/perdure/access"
)

// Route is what the guard and the tests know of one thing that can be asked.
type Route struct {
	Method  string // GET, POST ...; GET answers HEAD as well
	Pattern string // of http.ServeMux, without a method
	Name    string // what it does, in one word: startRun
	Summary string

	Role    access.Role // that is needed; empty: none, for probes and login pages
	Writes  bool        // changes something: refused when read-only
	AnyHost bool        // answers whatever the Host: probes, which say nothing of anybody

	Body  int64  // bytes that a body may have; 0: none is accepted
	Media string // its type; empty: application/json
	Long  bool   // may take as long as its caller listens, bounded in number

	Handler http.HandlerFunc
}

// Look is how a set of routes presents itself.
type Look struct {
	// Refuse shows why a request is refused. The status is that of the problem.
	Refuse func(w http.ResponseWriter, r *http.Request, p *Problem)
	// Policy is the Content-Security-Policy.
	Policy string
}

// The content security policies: of what is no page, and of pages whose scripts and styles
// are files of the same server.
const (
	NoContent = "default-src 'none'; frame-ancestors 'none'"
	OwnFiles  = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

type whoKey struct{}

// Who returns who makes a request that passed the guard; the zero Identity if its route needs no role.
func Who(ctx context.Context) access.Identity {
	who, _ := ctx.Value(whoKey{}).(access.Identity)
	return who
}

type againKey struct{}

// Again returns why a request that takes long would not be let in any more, nil if it would.
// What is sent for as long as a caller listens asks before it sends.
func Again(ctx context.Context) *Problem {
	if again, ok := ctx.Value(againKey{}).(func() *Problem); ok {
		return again()
	}
	return nil
}

func as(ctx context.Context, who access.Identity) context.Context {
	return context.WithValue(ctx, whoKey{}, who)
}
