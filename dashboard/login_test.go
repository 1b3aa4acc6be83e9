package dashboard

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/internal/web"
	"github.com/perdure/perdure/internal/web/webtest"
	"github.com/perdure/perdure/store/memory"
)

// TestF8_ALoginLeadsWhereItWasAskedFor: who opens a page without a login gets to it after the
// login, and nowhere else, whatever the address says; before it no page names the database. The token of a program is refused
// with the roles that suffice.
func TestF8_ALoginLeadsWhereItWasAskedFor(t *testing.T) {
	eng, err := perdure.Open(t.Context(), memory.New())
	must(t, err)
	defer eng.Close()
	h, err := Handler(eng, webtest.Rules())
	must(t, err)
	ask := func(method, address, body string) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest(method, address, strings.NewReader(body)), httptest.NewRecorder()
		if r.Host = webtest.Host; method == http.MethodGet {
			r.Body, r.ContentLength = http.NoBody, 0
		} else {
			r.Header.Set("Content-Type", formMedia)
		}
		h.ServeHTTP(w, r)
		return w
	}
	to := ask("GET", "/run?id=a%26b%2Fc", "").Header().Get("Location")
	if to != "login?to=run%3Fid%3Da%2526b%252Fc" {
		t.Fatalf("it leads to %q", to)
	}
	form := ask("GET", "/"+to, "").Body.String()
	if !strings.Contains(form, `name="to" value="run?id=a%26b%2Fc"`) {
		t.Errorf("the form is\n%s", form)
	}
	if strings.Contains(form, eng.Location()) {
		t.Errorf("the form names the database %s", eng.Location())
	}
	for wanted, want := range map[string]string{
		"run?id=a%26b%2Fc": "run?id=a%26b%2Fc", "": "./", "https://evil.example/": "./", "//evil.example": "./", "run/../..//evil.example": "./",
		"/run?id=x": "./", "login": "./", "logout": "./", "javascript:alert(1)": "./",
	} {
		w := ask("POST", "/login", url.Values{"token": {webtest.ViewerSecret}, "to": {wanted}}.Encode())
		if got := w.Header().Get("Location"); w.Code != http.StatusSeeOther || got != want {
			t.Errorf("%q: %d, it leads to %q, want %q", wanted, w.Code, got, want)
		}
	}
	for _, token := range webtest.Tokens {
		w := ask("POST", "/login", url.Values{"token": {token.Secret}}.Encode())
		in := w.Code == http.StatusSeeOther && w.Header().Get("Set-Cookie") != ""
		if want := token.Role.May(access.Viewer); in != want || !in && !strings.Contains(w.Body.String(), token.Name+" is "+web.InWords(token.Role)+", and this needs a viewer or an operator.") {
			t.Errorf("the token of %s: %d %s\n%s", token.Name, w.Code, w.Header(), w.Body)
		}
	}
}
