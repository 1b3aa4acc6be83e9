package dashboard

import (
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/schedule"
)

// wrongTexts are wrong, or nearly so, for any field of a form and any parameter of an address.
var wrongTexts = []string{
	"", "xyz", "-1", "0", "1.5", "1e9", "99999999999999999999", "\x00", "a\x00b", "\xff", "{}", "null", "[1", "'; --", "1/2", "7",
	"2026-13-45T00:00:00Z", "-1h", "999999999999h", "0001-01-01T00:00:00Z", "\u2028\n", hostile, strings.Repeat("x", 4000),
}

// ways returns the wrong texts for the next field: all at night, by day some by turns.
func (m *mistaken) ways() []string {
	if extent.Nightly() {
		return wrongTexts
	}
	const some = 5
	m.turn += some
	return slices.Concat(wrongTexts, wrongTexts)[m.turn%len(wrongTexts):][:some]
}

// mistaken is a person who makes all mistakes.
type mistaken struct {
	*testing.T
	srv  *httptest.Server
	sent map[string]bool // what was sent already
	turn int
}

var (
	formsOf  = regexp.MustCompile(`(?s)<form([^>]*)>(.*?)</form>`)
	fieldsOf = regexp.MustCompile(`(?s)<(?:input|select|textarea)([^>]*)>`)
	linksOf  = regexp.MustCompile(`<a[^>]* href="([^"#]+)"`)
	wordsOf  = regexp.MustCompile(`([a-z]+)="([^"]*)"`)
)

func attributes(tag string) map[string]string {
	out := map[string]string{}
	for _, m := range wordsOf.FindAllStringSubmatch(tag, -1) {
		out[m[1]] = html.UnescapeString(m[2])
	}
	return out
}

// TestF32_NoMistakeOnAPageIsAFaultOfTheServer opens every page that the pages lead to, and
// gives every parameter of its address, and every field of its forms, what is wrong for it in
// every way. Whatever comes of it, it is never a page that says the server is at fault.
func TestF32_NoMistakeOnAPageIsAFaultOfTheServer(t *testing.T) {
	file := made(t)
	srv, eng := served(t, file, perdure.Register(checkout, deliver, reserve, charge, ship, often))
	must(t, eng.Start(t.Context()))
	must(t, perdure.Schedule(t.Context(), eng, "nightly", checkout, "ok", schedule.Spec{Cron: "0 3 * * *"}))
	m := &mistaken{T: t, srv: srv, sent: map[string]bool{}}
	var pagesToSee []string
	for _, p := range everyPage("bad-1", "charge", "bank", "nightly") {
		pagesToSee = append(pagesToSee, p.path)
	}
	for _, op := range command.Operations() {
		pagesToSee = append(pagesToSee, string(link("operate", "op", op.Name, "id", "bad-1")), string(link("operate", "op", op.Name, "id", "bad-1", "number", "2")),
			string(link("operate", "op", op.Name, "all", "yes")), string(link("operate", "op", op.Name, "id", "ok-0")))
	}
	for _, c := range changes() {
		name := map[command.On]string{command.Gate: "bank", command.Schedule: "nightly", command.Runs: "bad-1"}[c.On]
		pagesToSee = append(pagesToSee, string(link("change", "kind", string(c.On), "do", c.Name, "name", name)), string(link("change", "kind", string(c.On), "do", c.Name, "name", name, "asked", "yes")))
	}
	for _, address := range pagesToSee {
		text := m.get(address)
		m.parameters(address)
		for _, form := range formsOf.FindAllStringSubmatch(text, -1) {
			m.fields(address, attributes(form[1]), form[2])
		}
		for _, l := range linksOf.FindAllStringSubmatch(text, -1) {
			if to := html.UnescapeString(l[1]); !strings.Contains(to, "://") && !strings.HasPrefix(to, "static/") {
				m.parameters(to)
			}
		}
	}
	if len(m.sent) < 500 {
		t.Errorf("only %d requests were sent", len(m.sent))
	}
}

// parameters gives each parameter of an address wrong values, once for a page and parameter.
func (m *mistaken) parameters(address string) {
	path, query, _ := strings.Cut(address, "?")
	values, err := url.ParseQuery(query)
	must(m, err)
	for name := range values {
		key := path + "?" + name + "&" + values.Get("op") + values.Get("kind") + values.Get("do") + values.Get("all")
		if m.sent[key] {
			continue
		}
		m.sent[key] = true
		for _, wrong := range m.ways() {
			other := maps.Clone(values)
			other[name] = []string{wrong}
			m.get(path + "?" + other.Encode())
		}
	}
}

// fields gives each field of a form wrong values, beside what the form has in the others.
func (m *mistaken) fields(address string, form map[string]string, content string) {
	values := url.Values{}
	for _, f := range fieldsOf.FindAllStringSubmatch(content, -1) {
		if a := attributes(f[1]); a["name"] != "" {
			values.Set(a["name"], a["value"])
		}
	}
	action := form["action"]
	if action == "" {
		action = address
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		at, _ := url.Parse(action)
		key := form["method"] + at.Path + at.Query().Get("op") + at.Query().Get("kind") + at.Query().Get("do") + at.Query().Get("all") + values.Get("kind") + values.Get("do") + values.Get("op") + "." + name
		if m.sent[key] {
			continue
		}
		m.sent[key] = true
		for _, wrong := range m.ways() {
			other := maps.Clone(values)
			other[name] = []string{wrong}
			if form["method"] == "post" {
				m.post(action, other)
			} else {
				m.get(at.Path + "?" + other.Encode())
			}
		}
	}
}

func (m *mistaken) get(address string) string {
	m.Helper()
	r, err := http.NewRequestWithContext(m.Context(), http.MethodGet, m.srv.URL+"/shop/"+strings.TrimPrefix(address, "./"), nil)
	must(m, err)
	return m.ask(r, address)
}

func (m *mistaken) post(address string, form url.Values) {
	m.Helper()
	r, err := http.NewRequestWithContext(m.Context(), http.MethodPost, m.srv.URL+"/shop/"+address, strings.NewReader(form.Encode()))
	must(m, err)
	r.Header.Set("Content-Type", formMedia)
	r.Header.Set("Origin", m.srv.URL)
	m.ask(r, address+" "+form.Encode())
}

func (m *mistaken) ask(r *http.Request, what string) string {
	m.Helper()
	begun := time.Now()
	client := *m.srv.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(r)
	must(m, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(m, err)
	m.sent[r.Method+what] = true
	if resp.StatusCode >= 500 {
		notice := regexp.MustCompile(`(?s)<main.*</main>`).FindString(string(text))
		m.Errorf("%s %.300s: %d after %v\n%.500s", r.Method, what, resp.StatusCode, time.Since(begun), regexp.MustCompile(`<[^>]*>`).ReplaceAllString(notice, " "))
	}
	return string(text)
}
