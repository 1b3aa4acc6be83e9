package dashboard

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/store/memory"
)

// TestF43_WhatIsNotThere: the page about a gate, schedule or run that is not there is said
// to be about that, and where to look for it.
func TestF43_WhatIsNotThere(t *testing.T) {
	srv, _ := servedBy(t, memory.New())
	for address, want := range map[string]string{
		"/gate?name=g":        "see the page of gates",
		"/schedule?name=s":    "see the page of schedules",
		"/run?id=r":           "Search for it in the list of runs",
		"/runs?before=monday": "is not a run ID",
	} {
		resp, err := srv.Client().Get(srv.URL + "/shop" + address)
		if err != nil {
			t.Fatal(err)
		}
		if got := body(t, resp); !strings.Contains(got, want) {
			t.Errorf("%s: %d\n%s", address, resp.StatusCode, got)
		}
	}
}

// TestF6_LinksOfErrorPages: at any depth, and below any prefix, an error page has its style, its
// script and links that lead somewhere.
func TestF6_LinksOfErrorPages(t *testing.T) {
	eng, err := perdure.Open(t.Context(), memory.New())
	must(t, err)
	t.Cleanup(func() { eng.Close() })
	pages, err := Handler(eng, access.Rules{Anonymous: access.Identity{Name: "ann", Role: access.Operator}})
	must(t, err)
	address := regexp.MustCompile(`(?:href|src|action)="([^"#]+)"`)
	for _, prefix := range []string{"", "/shop", "/a/b/c"} {
		mux := http.NewServeMux()
		mux.Handle(prefix+"/", http.StripPrefix(prefix, pages))
		ask := func(address string) (int, string) {
			r, w := httptest.NewRequest("GET", "http://localhost"+address, nil), httptest.NewRecorder()
			r.RemoteAddr = "127.0.0.1:4711"
			mux.ServeHTTP(w, r)
			return w.Code, w.Body.String()
		}
		for path, status := range map[string]int{
			"/none": 404, "/runs/": 404, "/runs/x": 404, "/runs/x/y/z": 404, "/runs/x/": 404, "/runs%2Fx": 404, "/a%2Fb/c%2Fd": 404, "/login/x?y=/z/": 404,
			"/logout": 405, "/run?id=nobody": 404, "/runs?before=monday": 400, "/static/none.css": 404, "/static": 404,
		} {
			at, err := url.Parse("http://localhost" + prefix + path)
			must(t, err)
			got, text := ask(at.RequestURI())
			if got != status {
				t.Errorf("%s has the status %d, want %d", at, got, status)
			}
			found := address.FindAllStringSubmatch(text, -1)
			if strings.HasPrefix(path, "/static/") {
				continue // no page
			}
			if len(found) < 10 {
				t.Errorf("%s has only the links %q", at, found)
			}
			for _, m := range found {
				link, err := at.Parse(html.UnescapeString(m[1]))
				must(t, err)
				if got, _ := ask(link.RequestURI()); got != 200 || !strings.HasPrefix(link.Path, prefix+"/") {
					t.Errorf("%s leads with %q to %s, which has the status %d", at, m[1], link, got)
				}
			}
		}
	}
}

// TestF6_ErrorPagesInABrowser: one below the folders of its address looks as others do, and its
// keys and links work.
func TestF6_ErrorPagesInABrowser(t *testing.T) {
	b := browse(t)
	srv, _ := servedBy(t, memory.New())
	for _, keys := range []string{"gr", "/"} {
		b.expect = "/shop/runs/x/y" // the only address that the browser may complain of
		b.open(srv.URL + "/shop/runs/x/y")
		b.looks("nested-error")
		if family := js[string](b, "getComputedStyle(document.body).fontFamily"); !strings.Contains(family, "system-ui") {
			t.Errorf("the page has the font %s: it has no style", family)
		}
		b.expect = ""
		b.do(chromedp.KeyEvent(keys))
		b.wait(`location.pathname === "/shop/runs" && document.querySelector("h1").textContent === "Runs"`)
		b.calm()
	}
}
