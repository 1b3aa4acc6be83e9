package dashboard

import (
	"cmp"
	"context"
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/internal/web"
)

// Handler returns a handler that serves the dashboard of an engine to the callers that
// the rules allow. The engine may be opened and not started. The handler works below any
// path; all links and forms are relative:
//
//	pages, err := dashboard.Handler(eng, rules)
//	...
//	mux.Handle("/perdure/", http.StripPrefix("/perdure", pages))
//
// The error is that of the rules or of an option. The handler is safe for concurrent use. It keeps
// nothing between requests.
func Handler(e *perdure.Engine, rules access.Rules, options ...Option) (http.Handler, error) {
	guard, err := web.New(rules)
	if err != nil {
		return nil, err
	}
	s := &server{engine: e, guard: guard}
	for _, set := range options {
		if err := set(s); err != nil {
			return nil, err
		}
	}
	return guard.Handler(s.routes(), web.Look{Refuse: s.refuse, Policy: web.OwnFiles}), nil
}

type server struct {
	engine  *perdure.Engine
	guard   *web.Guard
	outside []outward // from the page of a run
}

// maxForm is the maximum size of a form in bytes.
const maxForm = 2 << 20

// routes returns the routes of the pages, the login, and the style and script files.
func (s *server) routes() []web.Route {
	routes := []web.Route{
		{Method: http.MethodGet, Pattern: "/static/", Name: "dashboardFile", Summary: "style and script of the dashboard", Handler: static()},
		{Method: http.MethodGet, Pattern: "/login", Name: "dashboardLogin", Summary: "the form of the login", Handler: s.serve(&loginPage, showLogin)},
		{
			Method: http.MethodPost, Pattern: "/login", Name: "dashboardEnter", Summary: "log in, with a token", Body: 4 << 10,
			Media: formMedia, Handler: s.serve(&loginPage, s.login),
		},
		{
			Method: http.MethodPost, Pattern: "/logout", Name: "dashboardLeave", Summary: "log out", Role: access.Viewer, Body: 4 << 10,
			Media: formMedia, Handler: s.serve(&loginPage, s.logout),
		},
	}
	for i := range pages {
		p := &pages[i]
		path := "/" + p.path
		if p.path == "" {
			path += "{$}"
		}
		routes = append(routes, web.Route{
			Method: http.MethodGet, Pattern: path, Name: "dashboard " + p.file, Summary: p.title, Role: reader, Handler: s.serve(p, p.show),
		})
		if p.post != nil {
			routes = append(routes, web.Route{
				Method: http.MethodPost, Pattern: path, Name: "dashboard do " + p.file, Summary: p.title, Role: access.Operator, Writes: true,
				Body: maxForm, Media: formMedia, Handler: s.serve(p, p.post),
			})
		}
	}
	return routes
}

// reader is the role that the pages need. Programs that are starters or workers have none.
const reader = access.Viewer

const formMedia = "application/x-www-form-urlencoded"

// limit is how long a page waits for the database.
const limit = 10 * time.Second

// request is the request for a page that is being made.
type request struct {
	*http.Request
	*page
	ctx     context.Context
	engine  *perdure.Engine
	w       http.ResponseWriter
	guard   *web.Guard
	outside []outward
	person  access.Identity
	now     time.Time // engine time if the page knows it, otherwise that of this process
	begun   time.Time
	status  int

	// redirect is where to send the browser instead; empty for nowhere.
	redirect string
	done     bool // the response is written
	refused  bool // by the guard
}

// serve returns the handler for one function of a page.
func (s *server) serve(p *page, show func(*request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		q := s.request(ctx, w, r, p)
		data, err := show(q)
		switch {
		case err != nil:
			q.write(w, q.failed(err))
		case q.done:
		case q.redirect != "":
			// http.Redirect would make the reference absolute, with a path that lacks the
			// prefix.
			w.Header().Set("Location", q.redirect)
			w.WriteHeader(http.StatusSeeOther)
		default:
			q.write(w, data)
		}
	}
}

// request returns the request for a page.
func (s *server) request(ctx context.Context, w http.ResponseWriter, r *http.Request, p *page) *request {
	now := time.Now()
	return &request{
		Request: r, page: p, ctx: ctx, engine: s.engine, w: w, guard: s.guard, outside: s.outside, person: web.Who(r.Context()),
		now: now, begun: now, status: http.StatusOK,
	}
}

// operator reports whether the caller may change something.
func (q *request) operator() bool {
	return q.person.Role.May(access.Operator) && !q.guard.ReadOnly()
}

//go:embed static
var staticFiles embed.FS

// static serves the style and the script. Their URLs contain a hash of their content, so
// browsers may cache them.
func static() http.HandlerFunc {
	files := http.FileServerFS(staticFiles)
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		files.ServeHTTP(w, r)
	}
}

// up returns the relative path from the requested address to the dashboard: "../" for each folder
// that a browser sees in the address, none for the dashboard's own pages.
func (q *request) up() string {
	return strings.Repeat("../", max(strings.Count(q.URL.EscapedPath(), "/")-1, 0))
}

// link returns a relative URL: a page with parameters, given as pairs of name and value. It
// omits empty values.
func link(path string, pairs ...string) template.URL {
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Add(pairs[i], pairs[i+1])
		}
	}
	return linkTo(path, query)
}

// linkTo returns a relative URL.
func linkTo(path string, query url.Values) template.URL {
	text := cmp.Or(path, "./")
	if len(query) > 0 {
		text += "?" + strings.ReplaceAll(query.Encode(), "+", "%20")
	}
	return template.URL(text) // values of users are escaped
}
