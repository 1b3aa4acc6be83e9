package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/store/postgres"
)

// wrongTexts are wrong, or nearly so, for any parameter of an address.
var wrongTexts = []string{
	"xyz", "-1", "0", "1.5", "1e9", "9223372036854775807", "99999999999999999999", "\x00", "a\x00b", "\xff", "{}", "null", "[1", "'; --", "=", "a=b=c", "/",
	"1/2", "1/2/3", "2026-13-45T00:00:00Z", "-1h", "999999999999h", "0001-01-01T00:00:00Z", "\u2028\n", strings.Repeat("x", 9000),
}

// ways returns some of all mistakes for the next field, by turns, and all at night.
func ways[T any](m *mistaken, all []T, some int) []T {
	if extent.Nightly() {
		return all
	}
	m.turn += some
	return slices.Concat(all, all)[m.turn%len(all):][:some]
}

// wrongValues are wrong, or nearly so, for any property of a body.
var wrongValues = []any{
	nil, "", "xyz", "\x00", "a\nb", "-1h", "999999999999h", "2026-13-45T00:00:00Z", -1, 0, 1.5, 1e300, true,
	object{}, []any{}, []any{nil}, object{"x": "\x00"}, []any{"\x00", -1}, strings.Repeat("x", 2<<20+1),
}

// TestF40_NoMistakeOfACallerIsAFaultOfTheServer sends to every address of the document, in
// place of each of its parameters and properties, what is wrong for it in every way. Whatever
// comes of it, it is never a status that says the server is at fault.
func TestF40_NoMistakeOfACallerIsAFaultOfTheServer(t *testing.T) {
	extent.NotInShort(t, "thousands of requests, one after the other")
	t.Run("memory", func(t *testing.T) { mistakes(t, memory.New(), true) })
	t.Run("postgres", func(t *testing.T) {
		mistakes(t, postgres.URL(pgtest.Database(t)), false)
	})
}

func mistakes(t *testing.T, db store.Opener, bodies bool) {
	m := &mistaken{needy: newNeedyOn(t, db)}
	paths := documentAsRead(t)
	for _, path := range slices.Sorted(maps.Keys(paths["paths"].(object))) {
		methods := paths["paths"].(object)[path].(object)
		for _, method := range slices.Sorted(maps.Keys(methods)) {
			o := methods[method]
			for i := range count(o, "parameters") {
				m.parameter(strings.ToUpper(method), path, o, i)
			}
			if ref, ok := at(o, "requestBody", "content", "application/json", "schema", "$ref").(string); ok && bodies {
				m.properties(method, path, o, at(paths, "components", "schemas", ref[strings.LastIndexByte(ref, '/')+1:]))
			}
		}
	}
	if m.sent < 400 {
		t.Errorf("only %d requests were sent", m.sent)
	}
}

// mistaken is a caller who makes all mistakes.
type mistaken struct {
	*needy
	sent int
	turn int
}

// parameter gives one parameter wrong values, and the others none or right ones.
func (m *mistaken) parameter(method, path string, o any, i int) {
	name, in := at(o, "parameters", i, "name").(string), at(o, "parameters", i, "in").(string)
	for _, wrong := range ways(m, wrongTexts, 5) {
		query, to, header := url.Values{}, path, http.Header{}
		switch in {
		case "path":
			to = strings.Replace(to, "{"+name+"}", url.PathEscape(wrong), 1)
		case "query":
			query.Set(name, wrong)
		case "header":
			if strings.ContainsAny(wrong, "\x00\n") {
				continue // is no header
			}
			header.Set(name, wrong)
		}
		if strings.HasSuffix(path, "/result") && name != "wait" {
			query.Set("wait", "0s")
		}
		to = strings.NewReplacer("{id}", "guest", "{name}", "door", "{code}", "limit", "{number}", "1", "{key}", "k").Replace(to)
		if len(query) > 0 {
			to += "?" + query.Encode()
		}
		m.judge(method, to, header, nil, wrongAt{name, wrong})
	}
}

// properties gives each property of a body wrong values, beside right ones of the others.
func (m *mistaken) properties(method, path string, o, schema any) {
	properties, _ := at(schema, "properties").(object)
	target := m.target(path)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		least, _ := bodiesOf(m.t, schema, m.values(at(o, "operationId").(string)))
		for _, body := range least {
			if properties["dry_run"] != nil {
				body["dry_run"] = true
				a := m.to(method, target, o, body)
				if m.check(method, path, a.Status, a.Raw, wrongAt{"dry_run", true}); bytes.Contains(a.Raw, []byte(`"1970-01-01T`)) || bytes.Contains(a.Raw, []byte(`"0001-01-01T`)) {
					m.t.Errorf("%s %s: a dry run has a time: %s", method, path, a.Raw)
				}
			}
			for _, wrong := range ways(m, wrongValues, 5) {
				body := maps.Clone(body)
				if body[name] = wrong; body["token"] != nil && name != "token" {
					body["token"] = "no token"
				}
				a := m.to(method, target, o, body)
				if m.sent++; a.Status < 300 { // it may be over
					target = m.target(path)
				}
				m.check(method, path, a.Status, a.Raw, wrongAt{name, wrong})
			}
		}
	}
}

// wrongAt is what a request has where. It is made a text only where it is told: some are long.
type wrongAt struct {
	name  string
	wrong any
}

func (w wrongAt) String() string { return w.name + " " + clip(fmt.Sprintf("%#v", w.wrong)) }

func clip(s string) string { return s[:min(len(s), 60)] }

// judge sends a request, and reads of the answer only whether it says a fault.
func (m *mistaken) judge(method, path string, header http.Header, body object, what wrongAt) {
	m.t.Helper()
	var text io.Reader
	if body != nil || method != http.MethodGet && method != http.MethodDelete {
		j, _ := json.Marshal(body)
		if body == nil {
			j = []byte("{}")
		}
		text = bytes.NewReader(j)
	}
	r, err := http.NewRequestWithContext(m.t.Context(), method, m.server.URL+path, text)
	if err != nil {
		m.t.Fatal(err)
	}
	if r.Header = header; text != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Authorization", "Bearer "+m.token)
	answer, err := m.server.Client().Do(r)
	if err != nil {
		m.t.Errorf("%s %s, %s: %v", method, clip(path), what, err)
		return
	}
	defer answer.Body.Close()
	var raw []byte
	if answer.StatusCode >= 300 { // else it may be a stream
		raw, _ = io.ReadAll(answer.Body)
	}
	m.sent++
	m.check(method, path, answer.StatusCode, raw, what)
}

// drawn is text that is drawn by chance, and may have any word in it.
var drawn = regexp.MustCompile(`"(selection|token|next)":"[^"]*",?`)

// check complains of an answer that says a fault of the server, or what only its database knows.
func (m *mistaken) check(method, path string, status int, raw []byte, what wrongAt) {
	m.t.Helper()
	text := drawn.ReplaceAllString(string(raw), "")
	if status >= 500 || strings.Contains(text, "SQLSTATE") || strings.Contains(text, "pgx") {
		m.t.Errorf("%s %s, %s: %d %s", method, clip(path), what, status, clip(text[max(0, strings.Index(text, `"detail"`)):]+strings.Repeat(" ", 60))+text[max(0, min(len(text), strings.Index(text, `"detail"`)+60)):min(len(text), 400)])
	}
}
