package webtest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/internal/web"
)

// atOnce is how long a refusal may take, in virtual time: that of a page which asks the
// database for its frame. Held is how long a connection without a complete request may last.
const (
	atOnce = time.Second
	held   = 20 * time.Second
)

// state is how far a request came.
type state struct {
	name   string
	head   string // the headers that announce the body; empty: the headers end in the middle
	body   string
	drips  bool // then a byte a second follows
	cut    bool // then the caller closes its side
	broken bool // never a valid request, so never carried out
}

// longState is the state in which a server without a deadline waits for ever.
const longState = 0

func statesOf(route web.Route) []state {
	large := fmt.Sprintf("Content-Length: %d\r\n\r\n", 256<<10)
	all := []state{
		longState: {name: "no body after the length of a large one", head: large, broken: true},
		{name: "headers that do not end", broken: true},
		{name: "headers cut off", cut: true, broken: true},
		{name: "no body after a length", head: "Content-Length: 100\r\n\r\n", broken: true},
		{name: "no chunk", head: "Transfer-Encoding: chunked\r\n\r\n", broken: true},
		{name: "a length that is none", head: "Content-Length: -1\r\n\r\n", broken: true},
		{name: "two lengths", head: "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", broken: true},
		{name: "a body that drips", head: "Content-Length: 100\r\n\r\n", body: "{", drips: true, broken: true},
		{name: "a chunk that drips", head: "Transfer-Encoding: chunked\r\n\r\n", body: "64\r\n{", drips: true, broken: true},
		{name: "a body cut off", head: "Content-Length: 100\r\n\r\n", body: "{", cut: true, broken: true},
		{name: "a chunk cut off", head: "Transfer-Encoding: chunked\r\n\r\n", body: "64\r\n{", cut: true, broken: true},
		{name: "chunks that are none", head: "Transfer-Encoding: chunked\r\n\r\n", body: "zz\r\n\r\n", broken: true},
		{name: "a body too large", head: fmt.Sprintf("Content-Length: %d\r\n\r\n", route.Body+1), broken: true},
		{name: "a body with leave to send it", head: "Expect: 100-continue\r\nContent-Length: 100\r\n\r\n", broken: true},
	}
	if route.Body == 0 {
		return all
	}
	return append(all, state{name: "a whole request", head: "Content-Length: 2\r\n\r\n", body: "{}"})
}

// states sends every route, by every method, from every kind of caller, a request that ends in
// every state: over connections, in virtual time. Each is answered as the table says, each
// refusal immediately, and no connection stays open.
func states(t *testing.T, routes []web.Route, serve func(access.Rules) (http.Handler, error)) {
	synctest.Test(t, func(t *testing.T) {
		var reached string
		s := &suite{t: t, routes: routes, reached: &reached}
		probes, real := NewServer(must(t, s.probing, Rules())), NewServer(must(t, serve, Rules()))
		defer probes.Close()
		defer real.Close()
		probes.ReadHeaderTimeout, real.ReadHeaderTimeout = 10*time.Second, 10*time.Second
		others := map[string]bool{} // patterns whose other methods were tried
		for n, route := range append(slices.Clone(routes), web.Route{Method: http.MethodPost, Pattern: "/nothing/here", Name: "unknown", Body: 100}) {
			for i, st := range statesOf(route) {
				if testing.Short() && n > 0 && i != longState {
					continue // the guard is the same
				}
				for _, who := range callers() {
					a := attack{t: t, route: route, method: route.Method, secret: who, state: st, reached: &reached, routes: routes}
					a.try(probes)
					if i == longState && a.refused() {
						a.try(real) // its way to present a refusal
					}
					if i != longState || others[route.Pattern+who] {
						continue
					}
					others[route.Pattern+who] = true
					for _, a.method = range []string{"HEAD", "PUT", "DELETE", "OPTIONS"} {
						a.try(probes)
					}
				}
			}
		}
	})
}

// attack is one request.
type attack struct {
	t       *testing.T
	route   web.Route
	method  string
	secret  string
	state   state
	reached *string
	routes  []web.Route
}

// refused reports whether the guard refuses the request by its headers.
func (a *attack) refused() bool {
	if a.route.Name == "unknown" {
		return true
	}
	for _, r := range a.routes {
		if r.Pattern == a.route.Pattern && (r.Method == a.method || r.Method == http.MethodGet && a.method == http.MethodHead && !r.Long) {
			return !r.Admits(a.role())
		}
	}
	return true
}

// callers are the secrets of all roles, and none, and one that the server does not know.
func callers() []string {
	all := []string{"", "no-token-of-this-server"}
	for _, token := range Tokens {
		if token.Role.Names() == nil { // the guard knows no limits
			all = append(all, token.Secret)
		}
	}
	return all
}

func (a *attack) role() access.Role {
	for _, token := range Tokens {
		if token.Secret == a.secret {
			return token.Role
		}
	}
	return ""
}

func (a *attack) try(server *Server) {
	*a.reached = ""
	begun := time.Now()
	connection := server.Dial()
	defer connection.Close()
	go a.send(connection)
	in := bufio.NewReader(connection)
	status := 0
	for {
		answer, err := http.ReadResponse(in, &http.Request{Method: a.method})
		if err != nil {
			break
		}
		if answer.StatusCode == http.StatusContinue {
			continue
		}
		status = answer.StatusCode
		if a.state.head != "" && a.refused() && time.Since(begun) > atOnce {
			a.errorf("refused with %d after %v", status, time.Since(begun))
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		if !a.state.broken && !a.refused() {
			break // the connection may live on
		}
	}
	took := time.Since(begun)
	synctest.Wait()
	switch {
	case took > held:
		a.errorf("the connection was open for %v", took)
	case a.state.head != "" && a.refused() && took > 2*atOnce:
		a.errorf("refused, and the connection was open for %v", took)
	case a.state.head != "" && !a.state.cut && status == 0:
		a.errorf("no answer")
	case status >= 500:
		a.errorf("status %d", status)
	case *a.reached != "" && (a.state.broken || a.refused()):
		a.errorf("reached %s", *a.reached)
	}
}

func (a *attack) errorf(format string, args ...any) {
	a.t.Helper()
	a.t.Errorf("%s %s (%s) as %q, %s: %s", a.method, a.route.Pattern, a.route.Name, a.role(), a.state.name, fmt.Sprintf(format, args...))
}

// send writes the request and, if it drips, a byte a second until the server is gone.
func (a *attack) send(to net.Conn) {
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\n", a.method, Path(a.route.Pattern), Host, media(a.route))
	if a.secret != "" {
		head += "Authorization: Bearer " + a.secret + "\r\n"
	}
	if _, err := io.WriteString(to, head+a.state.head+a.state.body); err != nil {
		return
	}
	for a.state.drips {
		time.Sleep(time.Second)
		if _, err := io.Copy(to, strings.NewReader(" ")); err != nil {
			return
		}
	}
	if a.state.cut {
		_ = to.Close()
	}
}
