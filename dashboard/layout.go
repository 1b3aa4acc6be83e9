package dashboard

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"io/fs"
	"net/http"
	"strconv"
	"sync"
	"time"
)

//go:embed templates
var templateFiles embed.FS

// layout is the data of the layout's template, around the data of the page.
type layout struct {
	Title    string
	Up       template.URL // relative path to the dashboard, which all links begin with
	Menu     []menuItem
	Location string
	Person   string // name of the caller; may be empty
	Known    bool   // the guard has decided what the caller may do
	Operator bool   // the caller may change something
	ReadOnly bool   // no caller may change anything
	Login    bool   // the caller has logged in with a token and can log out
	Now      *stamp
	Zone     string // of times that are no ages
	Live     bool
	Every    int64 // milliseconds between live updates
	Failed   int   // status of the error shown instead of the page; 0: none
	Style    string
	Script   string
	Data     any
}

type menuItem struct {
	Name    string
	Link    template.URL
	Current string // for aria-current
}

// write writes the page.
func (q *request) write(w http.ResponseWriter, data any) {
	l := layout{
		Title: q.title, Up: template.URL(q.up()), Person: q.person.Name, Known: !q.refused, Operator: q.operator(), ReadOnly: q.guard.ReadOnly(),
		Data: data, Login: q.guard.HasTokens(),
		Live: !q.still && q.Method == http.MethodGet, Now: atStamp(q.now, q.now), Zone: q.now.Local().Format("UTC-07:00"),
		Style: q.up() + asset("app.css"), Script: q.up() + asset("app.js"),
	}
	if q.person.Role != "" { // the name of the database is for those who may read it
		l.Location = q.engine.Location()
	}
	for _, p := range pages {
		if p.menu == "" || q.path == loginPage.path { // where no caller is logged in yet
			continue
		}
		item := menuItem{Name: p.menu, Link: l.Up + link(p.path)}
		switch {
		case q.refused: // nothing of the menu is shown
		case p.path == q.path:
			item.Current = "page"
		case p.path == q.under && q.under != "":
			item.Current = "true"
		}
		l.Menu = append(l.Menu, item)
	}
	status := q.status
	if f, ok := data.(failure); ok {
		l.Failed = f.Status
		l.Data = struct {
			failure
			Up template.URL
		}{f, l.Up}
		if q.live() {
			status = http.StatusOK
		}
	}
	if t, ok := data.(titled); ok {
		l.Title = t.title()
	}
	// Live updates must not load the database: a slow page is fetched less often.
	l.Every = max(2*time.Second, 20*time.Since(q.begun)).Milliseconds()
	var text bytes.Buffer
	pool := sheets()[q.file]
	s := pool.Get().(*sheet)
	defer pool.Put(s)
	s.now = q.now
	if err := s.ExecuteTemplate(&text, "layout", l); err != nil {
		http.Error(w, "The page cannot be shown: "+err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Server-Timing", "page;dur="+strconv.FormatFloat(float64(time.Since(q.begun).Microseconds())/1000, 'f', 1, 64))
	w.WriteHeader(status)
	_, _ = w.Write(visible(text.Bytes())) // an error means that the client is gone
}

// live reports whether the script requests an update of a page, and the guard admitted q. A
// failure is then an ordinary response that says itself that it is one: a browser would log
// each as an error of the open page.
func (q *request) live() bool { return q.Header.Get("X-Perdure-Live") != "" && !q.refused }

// titled is page data with another title than in the table.
type titled interface{ title() string }

// sheet is the template of a page, whose functions tell times from the time of the request for
// which it is executed.
type sheet struct {
	*template.Template
	now time.Time
}

// sheets are the sheets by page that no request is executing: each has the layout, the shared parts
// and the page.
var sheets = sync.OnceValue(func() map[string]*sync.Pool {
	base := template.Must(template.New("layout").Funcs((&sheet{}).functions()).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html"))
	files, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		panic(err)
	}
	all := map[string]*sync.Pool{}
	for _, file := range files {
		name := file[len("templates/") : len(file)-len(".html")]
		if name == "layout" || name == "parts" {
			continue
		}
		page := template.Must(template.Must(base.Clone()).ParseFS(templateFiles, file))
		all[name] = &sync.Pool{New: func() any {
			s := &sheet{}
			s.Template = template.Must(page.Clone()).Funcs(s.functions())
			return s
		}}
	}
	return all
})

// asset returns the URL of a static file, with a hash of its content.
func asset(name string) string {
	if sum, ok := sums.Load(name); ok {
		return sum.(string)
	}
	data, err := staticFiles.ReadFile("static/" + name)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(data)
	url := "static/" + name + "?" + hex.EncodeToString(sum[:6])
	sums.Store(name, url)
	return url
}

var sums sync.Map // from the name of a static file to its URL
