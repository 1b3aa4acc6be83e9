package webtest

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/internal/web"
)

// Tokens and host of the tests' requests.
const (
	Host           = "perdure.example"
	OperatorSecret = "the-secret-of-the-operator"
	ViewerSecret   = "the-secret-of-the-viewer"
)

// Tokens are one of each role, with those that are limited.
var Tokens = []access.Token{
	{Name: "ann", Role: access.Operator, Secret: OperatorSecret},
	{Name: "vic", Role: access.Viewer, Secret: ViewerSecret},
	{Name: "shop", Role: access.Starter, Secret: "the-secret-of-the-starter"},
	{Name: "till", Role: access.Starter.Only("checkout"), Secret: "the-secret-of-a-starter-of-checkout"},
	{Name: "farm", Role: access.Worker, Secret: "the-secret-of-the-worker"},
	{Name: "camera", Role: access.Worker.Only("gpu", "cpu, slow"), Secret: "the-secret-of-a-worker-of-two-queues"},
}

// Rules returns the access rules of the tests.
func Rules() access.Rules {
	return access.Rules{Tokens: slices.Clone(Tokens), Hosts: []string{Host}}
}

// Check sends every route of a table all kinds of requests that must be refused: to the
// real handler from serve, and to one whose routes record that they were reached. Valid
// requests must reach them.
func Check(t *testing.T, routes []web.Route, serve func(access.Rules) (http.Handler, error)) {
	t.Helper()
	readOnly := Rules()
	readOnly.ReadOnly = true
	s := &suite{t: t, routes: routes}
	s.real, s.realReading = must(t, serve, Rules()), must(t, serve, readOnly)
	s.probe, s.probeReading = must(t, s.probing, Rules()), must(t, s.probing, readOnly)
	for _, route := range routes {
		t.Run(route.Name, func(t *testing.T) {
			s := *s
			s.t, s.route = t, route
			s.sound()
			s.refusals()
			s.passes()
		})
	}
	t.Run("slow bodies", func(t *testing.T) { slow(t, routes, serve) })
	t.Run("states", func(t *testing.T) { states(t, routes, serve) })
}

func must(t *testing.T, serve func(access.Rules) (http.Handler, error), rules access.Rules) http.Handler {
	t.Helper()
	h, err := serve(rules)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// suite is the test of one route.
type suite struct {
	t      *testing.T
	routes []web.Route
	route  web.Route

	real, realReading   http.Handler // the latter is read-only
	probe, probeReading http.Handler
	reached             *string // the probe that was reached
}

// probing serves the routes with handlers that record their names.
func (s *suite) probing(rules access.Rules) (http.Handler, error) {
	g, err := web.New(rules)
	if err != nil {
		return nil, err
	}
	if s.reached == nil {
		s.reached = new(string)
	}
	var probes []web.Route
	for _, r := range s.routes {
		r.Handler = func(w http.ResponseWriter, _ *http.Request) {
			*s.reached = r.Name
			w.WriteHeader(http.StatusTeapot)
		}
		probes = append(probes, r)
	}
	return g.Handler(probes, web.Look{Refuse: web.WriteProblem, Policy: web.NoContent}), nil
}

// sound checks the table's entry of a route.
func (s *suite) sound() {
	r := s.route
	if r.Name == "" || r.Summary == "" || r.Handler == nil {
		s.t.Errorf("%s %s lacks a name, a summary or a handler", r.Method, r.Pattern)
	}
	reads := r.Method == http.MethodGet
	if r.Writes && (reads || r.Role != access.Operator || r.AnyHost) {
		s.t.Errorf("%s writes with the method %s, the role %q, any host %v", r.Name, r.Method, r.Role, r.AnyHost)
	}
	if reads && r.Body != 0 {
		s.t.Errorf("%s reads and takes a body of %d bytes", r.Name, r.Body)
	}
	if r.Body > 16<<20 {
		s.t.Errorf("%s takes a body of %d bytes", r.Name, r.Body)
	}
}

var wildcards = regexp.MustCompile(`\{[^{}]*\}`)

// Path returns an address that matches a pattern.
func Path(pattern string) string {
	return wildcards.ReplaceAllStringFunc(pattern, func(w string) string {
		if w == "{$}" {
			return ""
		}
		return "x"
	})
}

// Request returns a valid request for a route.
func Request(route web.Route) *http.Request {
	var body io.Reader
	if route.Body > 0 {
		body = strings.NewReader("{}")
	}
	r := httptest.NewRequest(route.Method, Path(route.Pattern), body)
	if route.Body > 0 {
		r.Header.Set("Content-Type", media(route))
	}
	r.Host = Host
	r.Header.Set("Authorization", "Bearer "+OperatorSecret)
	return r
}

func media(route web.Route) string { return cmp.Or(route.Media, "application/json") }

// refusal is one violation of the rules.
type refusal struct {
	what    string
	status  int
	change  func(r *http.Request)
	reading bool   // sent to the read-only server
	says    string // the detail of the problem; empty: any
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// refusals sends requests that must be refused.
func (s *suite) refusals() {
	route := s.route
	all := []refusal{
		{what: "a long address", status: http.StatusRequestURITooLong, change: func(r *http.Request) {
			r.URL.RawQuery = "q=" + strings.Repeat("x", 20<<10)
		}},
		{what: "many parameters", status: http.StatusRequestURITooLong, change: func(r *http.Request) { r.URL.RawQuery = strings.Repeat("a=1&", 300) }},
		{what: "large headers", status: http.StatusRequestHeaderFieldsTooLarge, change: header("X-Large", strings.Repeat("x", 40<<10))},
	}
	if !route.AnyHost {
		all = append(all,
			refusal{what: "a foreign host", status: http.StatusMisdirectedRequest, change: func(r *http.Request) { r.Host = "evil.example" }},
			refusal{what: "no host", status: http.StatusMisdirectedRequest, change: func(r *http.Request) { r.Host = "" }})
	}
	if route.Role != "" {
		all = append(all,
			refusal{what: "no token", status: http.StatusUnauthorized, change: func(r *http.Request) { r.Header.Del("Authorization") }},
			refusal{what: "another token", status: http.StatusUnauthorized, change: header("Authorization", "Bearer "+OperatorSecret+"x")},
			refusal{what: "an empty token", status: http.StatusUnauthorized, change: header("Authorization", "Bearer ")},
			refusal{what: "a token of another scheme", status: http.StatusUnauthorized, change: header("Authorization", "Basic "+OperatorSecret)})
	}
	for _, token := range Tokens {
		if !route.Admits(token.Role) {
			all = append(all, refusal{
				what: web.InWords(token.Role), status: http.StatusForbidden, change: header("Authorization", "Bearer "+token.Secret),
				says: fmt.Sprintf("%s is %s, and this needs %s.", token.Name, web.InWords(token.Role), route.Needs("")),
			})
		}
	}
	if route.Writes {
		all = append(all, refusal{what: "read-only", status: http.StatusForbidden, change: func(*http.Request) {}, reading: true})
	}
	all = append(all, refusal{what: "a script of another site", status: http.StatusForbidden, change: func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Sec-Fetch-Mode", "cors")
	}})
	if route.Method != http.MethodGet {
		all = append(all, s.refusalsOfPosts()...)
	}
	for _, c := range all {
		s.refuse(c)
	}
	if route.Body == 0 && route.Method != http.MethodGet {
		s.refuse(refusal{what: "a body", status: http.StatusRequestEntityTooLarge, change: func(r *http.Request) { body(r, 1, true) }})
	}
}

// refusalsOfPosts returns the violations for routes other than GET.
func (s *suite) refusalsOfPosts() []refusal {
	route := s.route
	all := []refusal{
		{what: "a form of another site", status: http.StatusForbidden, change: func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Sec-Fetch-Mode", "navigate")
		}},
		{what: "a form of the same site", status: http.StatusForbidden, change: header("Sec-Fetch-Site", "same-site")},
		{what: "another origin", status: http.StatusForbidden, change: header("Origin", "https://evil.example")},
		{what: "no origin", status: http.StatusForbidden, change: header("Origin", "null")},
	}
	if other, found := s.get(); found {
		if other.Writes {
			s.t.Errorf("a GET of %s writes", route.Pattern)
		}
	} else {
		all = append(all,
			refusal{what: "GET", status: http.StatusMethodNotAllowed, change: func(r *http.Request) { r.Method, r.Body, r.ContentLength = http.MethodGet, nil, 0 }},
			refusal{what: "HEAD", status: http.StatusMethodNotAllowed, change: func(r *http.Request) { r.Method, r.Body, r.ContentLength = http.MethodHead, nil, 0 }})
	}
	if route.Body > 0 {
		all = append(all,
			refusal{what: "a large body", status: http.StatusRequestEntityTooLarge, change: func(r *http.Request) { body(r, route.Body+1, true) }},
			refusal{what: "a large body of unknown length", status: http.StatusRequestEntityTooLarge, change: func(r *http.Request) { body(r, route.Body+1, false) }},
			refusal{what: "a body of another type", status: http.StatusUnsupportedMediaType, change: header("Content-Type", "text/plain")},
			refusal{what: "a body without a type", status: http.StatusUnsupportedMediaType, change: func(r *http.Request) { r.Header.Del("Content-Type") }})
	}
	return all
}

// get returns the GET route with the same address.
func (s *suite) get() (web.Route, bool) {
	for _, r := range s.routes {
		if r.Pattern == s.route.Pattern && r.Method == http.MethodGet {
			return r, true
		}
	}
	return web.Route{}, false
}

// body sets a body of a given length, with or without a Content-Length.
func body(r *http.Request, length int64, announced bool) {
	r.Body, r.ContentLength = io.NopCloser(io.LimitReader(endless{}, length)), -1
	if announced {
		r.ContentLength = length
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// refuse sends a request that violates a rule.
func (s *suite) refuse(c refusal) {
	s.t.Helper()
	for _, real := range []bool{true, false} {
		handler := s.handler(real, c.reading)
		r, w := Request(s.route), httptest.NewRecorder()
		c.change(r)
		*s.reached = ""
		handler.ServeHTTP(w, r)
		if *s.reached != "" {
			s.t.Errorf("%s: the handler was reached", c.what)
		}
		// Pages redirect callers without a token to the login.
		login := c.status == http.StatusUnauthorized && w.Code == http.StatusSeeOther && s.route.Method == http.MethodGet && real
		if w.Code != c.status && !login {
			s.t.Errorf("%s: status %d, want %d (real handler: %v)\n%s", c.what, w.Code, c.status, real, w.Body)
		}
		if !strings.Contains(html.UnescapeString(w.Body.String()), c.says) {
			s.t.Errorf("%s: the answer does not say %q\n%s", c.what, c.says, w.Body)
		}
		if policy := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") {
			s.t.Errorf("%s: the content security policy is %q", c.what, policy)
		}
	}
}

func (s *suite) handler(real, reading bool) http.Handler {
	switch {
	case real && reading:
		return s.realReading
	case real:
		return s.real
	case reading:
		return s.probeReading
	}
	return s.probe
}

// passes sends valid requests.
func (s *suite) passes() {
	pass := func(what string, handler http.Handler, change func(*http.Request)) {
		s.t.Helper()
		r, w := Request(s.route), httptest.NewRecorder()
		change(r)
		*s.reached = ""
		handler.ServeHTTP(w, r)
		if *s.reached != s.route.Name || w.Code != http.StatusTeapot {
			s.t.Errorf("%s: status %d, reached %q\n%s", what, w.Code, *s.reached, w.Body)
		}
	}
	pass("an operator", s.probe, func(*http.Request) {})
	pass("an operator's page", s.probe, func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Origin", "http://"+Host)
	})
	pass("a host with a port", s.probe, func(r *http.Request) { r.Host = Host + ":7460" })
	for _, token := range Tokens {
		if s.route.Admits(token.Role) {
			pass(web.InWords(token.Role), s.probe, header("Authorization", "Bearer "+token.Secret))
		}
	}
	if !s.route.Writes {
		pass("read-only", s.probeReading, func(*http.Request) {})
	}
	if s.route.Body > 0 {
		pass("the largest body", s.probe, func(r *http.Request) { body(r, s.route.Body, false) })
	}
	if s.route.Role == "" {
		pass("anybody", s.probe, func(r *http.Request) { r.Header.Del("Authorization") })
	}
	if s.route.AnyHost {
		pass("any host", s.probe, func(r *http.Request) { r.Host = fmt.Sprintf("10.0.0.%d", 7) })
	}
}
