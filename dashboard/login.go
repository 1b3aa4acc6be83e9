package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/web"
)

// loginPage is where a person enters a token. It needs no role.
var loginPage = page{path: "login", title: "Log in", file: "login", still: true}

// loginForm is the form of the login.
type loginForm struct {
	Tokens bool   // there are tokens to log in with
	Wrong  string // why the entered token does not let in; empty if none was entered
	To     string // the page to which the browser goes then, as a reference below the dashboard; empty: the overview
}

func showLogin(q *request) (any, error) {
	return loginForm{Tokens: q.guard.HasTokens(), To: pageOf(q.URL.Query().Get("to"))}, nil
}

// pageOf returns a reference to a page of the dashboard, "" if it is to anything else: a login
// leads nowhere else.
func pageOf(reference string) string {
	path, query, _ := strings.Cut(reference, "?")
	is := slices.ContainsFunc(pages, func(p page) bool { return p.path == path && p.path != "" })
	values, err := url.ParseQuery(query)
	if !is || err != nil {
		return ""
	}
	return string(linkTo(path, values))
}

// login exchanges a token for a cookie.
func (s *server) login(q *request) (any, error) {
	if err := q.ParseForm(); err != nil {
		return nil, &badRequest{err.Error(), "Send the form again."}
	}
	to := pageOf(q.PostForm.Get("to"))
	if p := s.guard.Login(q.w, q.Request, q.PostForm.Get("token"), web.Route{Role: reader}); p != nil {
		q.status = http.StatusForbidden
		return loginForm{Tokens: s.guard.HasTokens(), Wrong: p.Detail, To: to}, nil
	}
	q.redirect = cmp.Or(to, "./")
	return nil, nil
}

// logout makes the browser delete the cookie.
func (s *server) logout(q *request) (any, error) {
	s.guard.Logout(q.w, q.Request)
	q.redirect = "login"
	return nil, nil
}
