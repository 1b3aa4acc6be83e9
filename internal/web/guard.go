package web

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/access"
)

// Limits on a request apart from its body.
const (
	maxAddress = 16 << 10 // bytes
	maxHeaders = 32 << 10 // bytes
	maxParams  = 200
	// Patience is the time limit of requests that are not long.
	Patience = 30 * time.Second
)

// Guard admits requests that access.Rules allow. It is safe for concurrent use.
type Guard struct {
	rules  access.Rules
	tokens []holder
	cross  *http.CrossOriginProtection
	long   places
}

// holder is the holder of a token.
type holder struct {
	who access.Identity
	sum [sha256.Size]byte // of the secret, so that all comparisons have the same length
}

// New returns the guard for the rules, or an error if they are invalid.
func New(rules access.Rules) (*Guard, error) {
	if err := rules.Validate(); err != nil {
		return nil, err
	}
	g := &Guard{rules: rules, cross: http.NewCrossOriginProtection(), long: places{by: map[string]int{}}}
	for _, t := range rules.Tokens {
		g.tokens = append(g.tokens, holder{access.Identity{Name: t.Name, Role: t.Role}, sha256.Sum256([]byte(t.Secret))})
	}
	return g, nil
}

// ReadOnly reports whether all requests that write are refused.
func (g *Guard) ReadOnly() bool { return g.rules.ReadOnly }

// HasTokens reports whether there are tokens to log in with.
func (g *Guard) HasTokens() bool { return len(g.tokens) > 0 }

// Handler serves routes behind the guard. Like http.ServeMux it panics if two routes
// conflict.
func (g *Guard) Handler(routes []Route, look Look) http.Handler {
	mux, places := http.NewServeMux(), map[string]*place{}
	for _, r := range routes {
		p := places[r.Pattern]
		if p == nil {
			p = &place{guard: g, look: look, methods: map[string]Route{}}
			places[r.Pattern] = p
			mux.Handle(r.Pattern, p)
		}
		if _, twice := p.methods[r.Method]; twice {
			panic(fmt.Sprintf("web: two routes are %s %s", r.Method, r.Pattern))
		}
		p.methods[r.Method] = r
	}
	unknown := &place{guard: g, look: look}
	if places["/"] == nil {
		mux.Handle("/", unknown)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		harden(w.Header(), look.Policy)
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(2 * Patience)) // not all writers have deadlines
		if p := bounds(r); p != nil {
			look.refuseUnread(w, r, p)
			return
		}
		h, _ := mux.Handler(r)
		if _, is := h.(*place); !is { // a redirect, to a path that lacks the prefix below which the routes are served
			unknown.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// harden sets the security headers of every response. The referrer is sent to the own site,
// because browsers without it send forms with the origin null.
func harden(h http.Header, policy string) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// bounds returns why a request is too large apart from its body, or nil.
func bounds(r *http.Request) *Problem {
	if n := len(r.RequestURI); n > maxAddress || len(r.URL.RawQuery) > maxAddress {
		return TooLong.Of(fmt.Sprintf("The address has %d bytes; at most %d are read.", n, maxAddress))
	}
	if n := strings.Count(r.URL.RawQuery, "&"); n >= maxParams {
		return TooLong.Of(fmt.Sprintf("The address has %d parameters; at most %d are read.", n+1, maxParams))
	}
	size := 0
	for name, values := range r.Header {
		for _, v := range values {
			size += len(name) + len(v)
		}
	}
	if size > maxHeaders {
		return HeadersTooLarge.Of(fmt.Sprintf("The headers have %d bytes; at most %d are read.", size, maxHeaders))
	}
	return nil
}

// place is an address with its routes by method. A place without routes serves requests for
// unknown addresses.
type place struct {
	guard   *Guard
	look    Look
	methods map[string]Route
}

func (p *place) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	route, who, problem := p.admit(w, r)
	if problem == nil {
		problem = p.guard.readBody(w, r, route)
	}
	if problem != nil {
		p.look.refuseUnread(w, r, problem)
		return
	}
	ctx := context.WithValue(r.Context(), whoKey{}, who)
	if route.Long {
		ctx = context.WithValue(ctx, againKey{}, func() *Problem { return p.guard.again(r, who) })
		leave, busy := p.guard.long.take(r, who)
		if busy != nil {
			p.look.Refuse(w, r, busy)
			return
		}
		defer leave()
		connection := http.NewResponseController(w)
		_, _ = connection.SetReadDeadline(time.Time{}), connection.SetWriteDeadline(time.Time{})
	} else {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, Patience)
		defer cancel()
	}
	route.Handler(w, r.WithContext(ctx))
}

// admit decides everything about a request except its body.
func (p *place) admit(w http.ResponseWriter, r *http.Request) (Route, access.Identity, *Problem) {
	g, nobody := p.guard, access.Identity{}
	route, found := p.route(r.Method)
	if !(found && route.AnyHost) && !g.hostAllowed(r.Host) {
		return route, nobody, ForeignHost.Of(fmt.Sprintf("The request is for the host %q.", r.Host))
	}
	if problem := g.crossOrigin(r); problem != nil {
		return route, nobody, problem
	}
	if len(p.methods) == 0 {
		return route, nobody, NotFound.Of(fmt.Sprintf("There is nothing at %q.", r.URL.Path))
	}
	if !found {
		allowed := slices.Sorted(maps.Keys(p.methods))
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		return route, nobody, WrongMethod.Of(fmt.Sprintf("%q takes %s, not %s.", r.URL.Path, strings.Join(allowed, " and "), r.Method))
	}
	who, ambient := g.identify(r)
	switch {
	case route.Admits(who.Role):
	case who.Role == "":
		w.Header().Set("WWW-Authenticate", `Bearer realm="perdure"`)
		return route, nobody, NoToken.Of("The request has no token that the server knows.")
	default:
		return route, nobody, TooLittle(who, route.Needs(""))
	}
	if ambient && unsafeMethod(r.Method) && r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "" {
		return route, nobody, CrossOrigin.Of("The request has a cookie, and neither Sec-Fetch-Site nor Origin says which page sent it.")
	}
	if route.Writes && g.rules.ReadOnly {
		return route, nobody, ReadOnly.Of("The server is started to read only, and this changes something.")
	}
	return route, who, nil
}

// TooLittle is the problem that the role of a caller does not suffice. needed says which would.
func TooLittle(who access.Identity, needed string) *Problem {
	p := NotAllowed.Of(fmt.Sprintf("%s is %s, and this needs %s.", who.Name, InWords(who.Role), needed))
	p.Next = "Use the token of " + needed + "."
	return p
}

// again returns why a request that was admitted for a caller would no longer be: logins
// expire, and the program may remove rights.
func (g *Guard) again(r *http.Request, who access.Identity) *Problem {
	if now, _ := g.identify(r); now != who {
		return NoToken.Of("What let the request in holds no longer: the login has expired, or the rights were changed.")
	}
	return nil
}

func (p *place) route(method string) (Route, bool) {
	route, found := p.methods[method]
	if !found && method == http.MethodHead {
		route, found = p.methods[http.MethodGet]
		found = found && !route.Long // a long route may wait for the body
	}
	return route, found
}

func unsafeMethod(method string) bool {
	return method != http.MethodGet && method != http.MethodHead && method != http.MethodOptions
}

// hostAllowed reports whether the server may be reached by this Host.
func (g *Guard) hostAllowed(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(hostname(host), "[]")), ".")
	if len(g.rules.Hosts) == 0 {
		return access.IsLoopback(host)
	}
	return slices.ContainsFunc(g.rules.Hosts, func(allowed string) bool {
		return allowed == "*" || strings.TrimSuffix(strings.ToLower(strings.Trim(allowed, "[]")), ".") == host
	})
}

// hostname returns a Host without its port.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return host
}

// crossOrigin returns a problem if another site sent the request through a browser. It only
// admits navigation to a page, as by a link.
func (g *Guard) crossOrigin(r *http.Request) *Problem {
	if err := g.cross.Check(r); err != nil {
		return CrossOrigin.Of(fmt.Sprintf("The request is from another origin: %v.", err))
	}
	site, mode := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Sec-Fetch-Mode")
	if (site == "cross-site" || site == "same-site") && mode != "navigate" {
		return CrossOrigin.Of("A page of another origin sent the request.")
	}
	return nil
}

// isMedia reports whether a Content-Type is the media type.
func isMedia(header, want string) bool {
	got, _, err := mime.ParseMediaType(header)
	return err == nil && got == want
}
