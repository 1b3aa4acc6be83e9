package dashboard

import (
	"net/http"
)

// loginPage is where a person enters a token. It needs no role.
var loginPage = page{path: "login", title: "Log in", file: "login", still: true}

// loginForm is the form of the login.
type loginForm struct {
	Tokens bool // there are tokens to log in with
	Wrong  bool // the entered token is invalid
}

func showLogin(q *request) (any, error) { return loginForm{Tokens: q.guard.HasTokens()}, nil }

// login exchanges a token for a cookie.
func (s *server) login(q *request) (any, error) {
	if err := q.ParseForm(); err != nil {
		return nil, &badRequest{err.Error(), "Send the form again."}
	}
	if !s.guard.Login(q.w, q.Request, q.PostForm.Get("token")) {
		q.status = http.StatusForbidden
		return loginForm{Tokens: s.guard.HasTokens(), Wrong: true}, nil
	}
	q.redirect = "./"
	return nil, nil
}

// logout makes the browser delete the cookie.
func (s *server) logout(q *request) (any, error) {
	s.guard.Logout(q.w, q.Request)
	q.redirect = "login"
	return nil, nil
}
