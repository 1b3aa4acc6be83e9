package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/internal/web"
	"github.com/perdure/perdure/internal/web/webtest"
)

func routes() []web.Route {
	ok := func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(web.Who(r.Context()).Name)) }
	return []web.Route{
		{Method: "GET", Pattern: "/healthz", Name: "live", Summary: "s", AnyHost: true, Handler: ok},
		{Method: "GET", Pattern: "/a/{id}", Name: "read", Summary: "s", Role: access.Viewer, Handler: ok},
		{Method: "GET", Pattern: "/wait", Name: "wait", Summary: "s", Role: access.Viewer, Long: true, Handler: ok},
		{Method: "POST", Pattern: "/a/{id}", Name: "write", Summary: "s", Role: access.Operator, Also: []access.Role{access.Starter}, Writes: true, Body: 1 << 10, Handler: ok},
		{Method: "POST", Pattern: "/b", Name: "bare", Summary: "s", Role: access.Operator, Writes: true, Handler: ok},
		{Method: "POST", Pattern: "/login", Name: "login", Summary: "s", Body: 100, Media: "application/x-www-form-urlencoded", Handler: ok},
	}
}

func serve(rules access.Rules) (http.Handler, error) {
	g, err := web.New(rules)
	if err != nil {
		return nil, err
	}
	return g.Handler(routes(), web.Look{Refuse: web.WriteProblem, Policy: web.NoContent}), nil
}

func TestF8_TheGuardRefusesByTheTable(t *testing.T) { webtest.Check(t, routes(), serve) }

// ask returns the status and the body of a request that change has made.
func ask(t *testing.T, h http.Handler, method, path string, change func(*http.Request)) (int, string) {
	t.Helper()
	r, w := httptest.NewRequest(method, "http://localhost"+path, nil), httptest.NewRecorder()
	r.RemoteAddr = "127.0.0.1:4711"
	change(r)
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// TestF49_NobodyTakesAllPlaces: one caller has some of the places of requests that wait, and
// leaves the others to others; viewers together leave some to operators.
func TestF49_NobodyTakesAllPlaces(t *testing.T) {
	wait := make(chan struct{})
	var under sync.WaitGroup
	rules := webtest.Rules()
	rules.Identify = func(r *http.Request) access.Identity {
		if name := r.Header.Get("As"); strings.HasPrefix(name, "op") {
			return access.Identity{Name: name, Role: access.Operator}
		}
		return access.Identity{Name: r.Header.Get("As"), Role: access.Viewer}
	}
	g, err := web.New(rules)
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	h := g.Handler([]web.Route{{Method: "GET", Pattern: "/wait", Name: "wait", Summary: "s", Role: access.Viewer, Long: true, Handler: func(http.ResponseWriter, *http.Request) {
		begun <- struct{}{}
		<-wait
	}}}, web.Look{Refuse: web.WriteProblem, Policy: web.NoContent})
	as := func(name, address string) func(*http.Request) {
		return func(r *http.Request) {
			r.Host, r.RemoteAddr = rules.Hosts[0], address
			r.Header.Set("As", name)
		}
	}
	fill := func(n int, name, address string) {
		for range n {
			under.Go(func() {
				if code, body := ask(t, h, "GET", "/wait", as(name, address)); code != http.StatusOK {
					t.Errorf("%s: %d %s", name, code, body)
					begun <- struct{}{}
				}
			})
			<-begun
		}
	}
	refused := func(code int, name, address string) {
		t.Helper()
		if got, body := ask(t, h, "GET", "/wait", as(name, address)); got != code || !strings.Contains(body, `"retry_after":5`) {
			t.Errorf("%s: %d %s, want %d", name, got, body, code)
		}
	}
	fill(web.MaxLongEach, "ann", "192.0.2.1:1")
	refused(http.StatusTooManyRequests, "ann", "192.0.2.2:1")
	fill(web.MaxLongEach, "", "192.0.2.1:1")
	refused(http.StatusTooManyRequests, "", "192.0.2.1:2")
	fill(web.MaxLongEach, "", "192.0.2.2:1")
	refused(http.StatusServiceUnavailable, "eve", "192.0.2.1:1")
	fill(web.KeptForOperators-1, "op1", "192.0.2.1:1")
	fill(1, "op2", "192.0.2.1:1")
	refused(http.StatusServiceUnavailable, "op3", "192.0.2.1:1")
	close(wait)
	under.Wait()
	go func() { <-begun }()
	if code, body := ask(t, h, "GET", "/wait", as("ann", "192.0.2.1:1")); code != http.StatusOK {
		t.Errorf("when all have gone: %d %s", code, body)
	}
}

func TestF8_AnonymousIsOnThisMachineOnly(t *testing.T) {
	h, err := serve(access.Rules{
		Anonymous: access.Identity{Name: "me", Role: access.Operator}, Hosts: []string{"localhost", "[::1]", "shop.example"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what   string
		change func(*http.Request)
		want   int
	}{
		{"from here", func(*http.Request) {}, 200},
		{"by IPv6", func(r *http.Request) { r.RemoteAddr, r.Host = "[::1]:80", "[::1]:7460" }, 200},
		{"from elsewhere", func(r *http.Request) { r.RemoteAddr = "192.0.2.7:80" }, 401},
		{"through a proxy here", func(r *http.Request) { r.Header.Set("X-Forwarded-For", "192.0.2.7") }, 401},
		{"through a proxy that only names itself", func(r *http.Request) { r.Header.Set("Via", "1.1 proxy") }, 401},
		{"through a proxy that tells the scheme", func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "https") }, 401},
		{"through a proxy that passes the host on", func(r *http.Request) { r.Host = "shop.example" }, 401},
		{"with a token that is unknown", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+webtest.OperatorSecret) }, 401},
		{"for a name that leads here", func(r *http.Request) { r.Host = "rebound.example:7460" }, 421},
	} {
		if got, body := ask(t, h, "POST", "/b", c.change); got != c.want || got == 200 && body != "me" {
			t.Errorf("%s: %d %s, want %d", c.what, got, body, c.want)
		}
	}
}

func TestF8_IdentifyAsksTheProgram(t *testing.T) {
	h, err := serve(access.Rules{Identify: func(r *http.Request) access.Identity {
		if c, err := r.Cookie("own"); err == nil {
			return access.Identity{Name: c.Value, Role: access.Operator}
		}
		return access.Identity{}
	}})
	if err != nil {
		t.Fatal(err)
	}
	own := func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "own", Value: "ann"}) }
	if got, body := ask(t, h, "GET", "/a/1", own); got != 200 || body != "ann" {
		t.Errorf("%d %s", got, body)
	}
	if got, _ := ask(t, h, "GET", "/a/1", func(*http.Request) {}); got != 401 {
		t.Errorf("nobody: %d", got)
	}
	if got, _ := ask(t, h, "POST", "/b", own); got != 403 {
		t.Errorf("a cookie from who knows which page: %d", got)
	}
	if got, _ := ask(t, h, "POST", "/b", func(r *http.Request) { own(r); r.Header.Set("Origin", "http://localhost") }); got != 200 {
		t.Errorf("a cookie from an own page: %d", got)
	}
}

// TestF8_ALoginIsWorthItsTokenUntilItExpires: a cookie is accepted by every server that has
// the token, as long as it lasts, and proves nothing when anything of it is changed.
func TestF8_ALoginIsWorthItsTokenUntilItExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := webtest.Rules()
		rules.Hosts = nil
		g, err := web.New(rules)
		if err != nil {
			t.Fatal(err)
		}
		w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "/login", nil)
		pages := web.Route{Role: access.Viewer}
		if g.Login(w, r, "nobody's secret, although long", pages) == nil || len(w.Header()) != 0 {
			t.Error("an unknown secret is let in")
		}
		if p := g.Login(w, r, webtest.ViewerSecret, pages); p != nil {
			t.Fatalf("a known secret is not let in: %v", p)
		}
		cookie := w.Result().Cookies()[0]
		if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.MaxAge != 12*60*60 || strings.Contains(cookie.Value, webtest.ViewerSecret) {
			t.Errorf("the cookie is %v", cookie)
		}
		other, err := serve(rules)
		if err != nil {
			t.Fatal(err)
		}
		with := func(value string) (int, string) {
			return ask(t, other, "GET", "/a/1", func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookie.Name, Value: value}) })
		}
		if got, who := with(cookie.Value); got != 200 || who != "vic" {
			t.Errorf("another server: %d %s", got, who)
		}
		for i := range cookie.Value {
			changed := []byte(cookie.Value)
			changed[i] ^= 1
			if got, who := with(string(changed)); got == 200 && who != "vic" || got == 200 && i < strings.LastIndexByte(cookie.Value, '.') {
				t.Errorf("byte %d changed: %d %s", i, got, who)
			}
		}
		time.Sleep(12 * time.Hour)
		if got, _ := with(cookie.Value); got != 401 {
			t.Errorf("an expired cookie: %d", got)
		}
	})
}

func TestF8_RulesThatAreOpenAreRefused(t *testing.T) {
	tokens := webtest.Rules().Tokens
	me := access.Identity{Name: "me", Role: access.Operator}
	for _, c := range []struct {
		listen string
		rules  access.Rules
		want   string // of the error
	}{
		{"127.0.0.1:7460", access.Rules{Anonymous: me}, ""},
		{"localhost:0", access.Rules{Anonymous: me}, ""},
		{"[::1]:7460", access.Rules{Tokens: tokens}, ""},
		{"127.0.0.1:7460", access.Rules{}, "let no one in"},
		{":7460", access.Rules{Anonymous: me}, "no token is needed"},
		{"0.0.0.0:7460", access.Rules{Anonymous: me}, "no token is needed"},
		{"[::]:7460", access.Rules{Tokens: tokens}, "name the hosts"},
		{"10.0.0.7:7460", access.Rules{Tokens: tokens}, ""},
		{"shop.example:7460", access.Rules{Anonymous: me}, "no token is needed"},
		{"127.0.0.1", access.Rules{Anonymous: me}, "is not an address"},
		{"127.0.0.1:1", access.Rules{Anonymous: me, Hosts: []string{"*"}}, "any web page"},
		{"127.0.0.1:1", access.Rules{Tokens: []access.Token{{Name: "a", Role: access.Viewer, Secret: "short"}}}, "has 5 bytes"},
		{"127.0.0.1:1", access.Rules{Tokens: append(tokens, tokens[0])}, "two tokens"},
		{"127.0.0.1:1", access.Rules{Tokens: []access.Token{{Name: "a", Role: "admin", Secret: webtest.ViewerSecret}}}, `the role "admin" of token "a" is none; use viewer, operator, starter or worker`},
		{"127.0.0.1:1", access.Rules{Anonymous: access.Identity{Role: "root"}}, `the role "root" of Anonymous is none`},
		{"127.0.0.1:1", access.Rules{Tokens: []access.Token{{Name: "a", Role: access.Viewer.Only("checkout"), Secret: webtest.ViewerSecret}}}, "cannot be limited; write viewer"},
		{"127.0.0.1:1", access.Rules{Tokens: []access.Token{{Name: "a", Role: access.Starter.Only(), Secret: webtest.ViewerSecret}}}, "starter:NAME,NAME, with names of workflows"},
		{"127.0.0.1:1", access.Rules{Tokens: []access.Token{{Name: "a", Role: "worker:gpu,,cpu", Secret: webtest.ViewerSecret}}}, "with names of queues"},
		{"127.0.0.1:1", access.Rules{Tokens: []access.Token{{Name: "a", Role: "worker:50%", Secret: webtest.ViewerSecret}}}, "is no escape"},
	} {
		rules, err := c.rules.ForListen(c.listen)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %+v: %v, want %q", c.listen, c.rules, err, c.want)
		}
		if err == nil && !strings.HasPrefix(c.listen, "127") && !strings.HasPrefix(c.listen, "l") && rules.Anonymous.Role != "" {
			t.Errorf("%s: anonymous holds", c.listen)
		}
	}
	if _, err := access.ReadTokens(strings.NewReader("# x\nann operator " + webtest.OperatorSecret + "\nbob viewer short\n")); err == nil || !strings.Contains(err.Error(), "line 3") || strings.Contains(err.Error(), "short") {
		t.Errorf("a short secret: %v", err)
	}
	if got, err := access.ReadTokens(strings.NewReader("\nann operator " + webtest.OperatorSecret)); err != nil || len(got) != 1 || got[0] != tokens[0] {
		t.Errorf("%v, %v", got, err)
	}
}
