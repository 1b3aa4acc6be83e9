package flow_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/internal/flow/syntax"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store/memory"
)

// really runs a program on an engine in real time.
func really(t *testing.T, text string, input any, options ...flow.Option) (string, error) {
	t.Helper()
	r, err := flow.New(options...)
	if err != nil {
		t.Fatal(err)
	}
	f, err := r.Load("test.flow", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	p, err := f.With(input)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	eng, err := perdure.Open(ctx, memory.New(), perdure.Register(r.Definitions()...), perdure.Logger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	if err := eng.Start(ctx); err != nil {
		t.Fatal(err)
	}
	out, err := perdure.Run(ctx, eng, flow.Workflow, "run", p)
	return string(out), err
}

func TestW4_HTTP(t *testing.T) {
	var asked atomic.Int64
	keys := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/echo":
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			_ = json.NewEncoder(w).Encode(map[string]any{"method": r.Method, "body": string(body), "type": r.Header.Get("Content-Type"), "extra": r.Header.Get("X-Extra"), "big": json.Number("9007199254740993")})
		case "/busy":
			keys[r.Header.Get("Idempotency-Key")] = true
			if asked.Add(1) < 3 {
				w.Header().Set("Retry-After", "0")
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			fmt.Fprint(w, "at last")
		case "/untold": // JSON, but no header says so
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, `{"n": 7}`)
		case "/large":
			_, _ = w.Write(bytes.Repeat([]byte("x"), 2<<20))
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	out, err := really(t, `fn main(input: [url], output: [result]):
    a = @http.get(url=url + "/echo", headers={"X-Extra": "e"})
    b = @http.post(url=url + "/echo", json={"n": [1, None]})
    c = @http.put(url=url + "/echo", body="text")
    d = @http.get(url=url + "/busy") [HTTPError429 -> retry: 3, backoff: 1h]
    f = @http.get(url=url + "/untold")
    errors = []
    for path in ["/none", "/large"]:
        try:
            @http.get(url=url + path) [retry: 1]
        except (HTTPError5xx, LimitError) as e:
            errors = errors + [e.type, e.attempts]
    try:
        @http.get(url="http://127.0.0.1:1/") [NetworkError -> retry: 1]
    except NetworkError as e:
        errors = errors + [e.type, e.attempts]
    return [a.status, a.json.extra, a.json.big + 1, b.json.method, b.json.body, b.json.type, c.json.body, a.headers["content-type"], d.body, d.json, f.json.n, errors]
`, map[string]string{"url": server.URL})
	want := `[200,"e",9007199254740994,"POST","{\"n\":[1,null]}","application/json","text","application/json; charset=utf-8","at last",null,7,["HTTPError503",2,"LimitError",1,"NetworkError",2]]`
	if out != want || err != nil {
		t.Errorf("%s\nwant\n%s\n%v", out, want, err)
	}
	if len(keys) != 1 || keys[""] {
		t.Errorf("the attempts of one call had the keys %v", keys)
	}
}

// TestW4_HTTPNeedsAnURL: what can never be asked is not asked again and again.
func TestW4_HTTPNeedsAnURL(t *testing.T) {
	for _, url := range []string{"", "::x", "example.org", "/path", "ftp://example.org/", "http://", "mailto:x", "http://a b/"} {
		_, err := really(t, "fn main(input: [url], output: []):\n    @http.get(url=url) [retry: 3, backoff: 1h]\n", map[string]string{"url": url})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("the url %q cannot be used", url)) || !retry.IsTerminal(err) {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// TestW4_HTTPErrorsAreTyped: an answer has the names of its status and of its class,
// and those of package httpretry.
func TestW4_HTTPErrorsAreTyped(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNotFound) }))
	defer server.Close()
	_, err := really(t, "fn main(input: [url], output: []):\n    @http.get(url=url) [HTTPError4xx -> retry: 1]\n", map[string]string{"url": server.URL})
	gaveUp, ok := errors.AsType[*retry.ExhaustedError](err)
	if !ok || gaveUp.Attempts != 2 {
		t.Fatalf("%v", err)
	}
	if got := fmt.Sprint(retry.Classify(gaveUp.Err).Types); got != "[HTTPError404 HTTPError4xx HTTP404 HTTP4xx]" {
		t.Error(got)
	}
}

func TestW4_Shell(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands of this test are those of a Unix shell")
	}
	out, err := really(t, `
a = @shell.run(command="cat; echo $GREETING >&2; pwd", stdin="in\n", env={"GREETING": "hello"}, dir="/")
errors = []
try:
    @shell.run(command="echo no >&2; exit 3") [ShellError3 -> retry: 1]
except ShellError as e:
    errors = errors + [e.type, e.message, e.attempts]
try:
    @shell.run(command="sleep 100 & wait") [timeout: 0.2]
except Timeout as e:
    errors = errors + [e.type]
try:
    @shell.run(command="yes")  [timeout: 10s]
except (LimitError, Timeout) as e:
    errors = errors + ["ended"]
return [a.stdout, a.stderr, errors]
`[1:], nil, flow.AllowShell())
	if want := `["in\n/\n","hello\n",["ShellError3","the command ended with exit code 3: no",2,"Timeout","ended"]]`; out != want || err != nil {
		t.Errorf("%s, %v", out, err)
	}
}

func TestW4_Files(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in.txt"), []byte("héllo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "secret"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := really(t, `
a = @file.read(path="in.txt")
n = @file.write(path="out.txt", content=upper(a))
@file.write(path="out.txt", content="!", append=True)
b = @file.read(path="out.txt")
errors = []
for path in ["missing", "../secret", "/etc/hostname"]:
    try:
        @file.read(path=path)
    except NotExist as e:
        errors = errors + ["missing"]
    except FileError as e:
        errors = errors + [e.type]
return [a, n, b, errors]
`[1:], nil, flow.Files(dir))
	if want := `["héllo",6,"HÉLLO!",["missing","FileError","FileError"]]`; out != want || err != nil {
		t.Errorf("%s, %v", out, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 3 || entries[0].Name() != ".perdure" {
		t.Errorf("%v is left", entries)
	}
}

func TestW4_Log(t *testing.T) {
	var said bytes.Buffer
	out, err := really(t, "@log(message=\"hello\")\n@log(message={\"a\": [1]})\n", nil, flow.LogTo(&said))
	if out != "null" || err != nil || said.String() != "hello\n{\"a\":[1]}\n" {
		t.Errorf("%s, %v, %q", out, err, said.String())
	}
}

// TestW4_ArgumentsOfActivities: the checker knows the fields of the inputs of
// activities.
func TestW4_ArgumentsOfActivities(t *testing.T) {
	type base struct {
		Note string `json:"note,omitempty"`
	}
	type order struct {
		base
		ID     string `json:"id"`
		Amount *int   `json:"amount"`
		Hidden int    `json:"-"`
		Plain  bool
	}
	r, err := flow.New(flow.Actions(
		activity.Declare[order, string]("charge"), activity.Declare[*order, string]("refund"),
		activity.Declare[string, string]("greet"), activity.Declare[map[string]int, string]("open"),
		activity.Declare[json.RawMessage, string]("raw"), activity.Declare[struct{}, string]("tick"),
	))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"@charge(id=\"x\", Plain=True, note=\"n\", amount=1)\n@refund(id=\"x\", Plain=False)\n@open(a=1)\n@raw(b=2)\n@tick()\n": "",
		"@charge(id=\"x\", Plain=True, hidden=1)\n":  "has no argument hidden",
		"@charge(id=1, Plain=True)\n":                "the argument id is a text, and this is a whole number",
		"@charge(id=None, Plain=None, amount=1.5)\n": "the argument amount is a whole number, and this is one with a point",
		"@charge(id=str(1), Plain=\"yes\")\n":        "the argument Plain is a truth value, and this is a text",
		"@charge(Plain=True)\n":                      "lacks id",
		"@refund(id=\"x\")\n":                        "lacks Plain",
		"@greet(name=\"x\")\n":                       "The activity takes a string",
		"@tick(x=1)\n":                               "has no argument x",
	} {
		_, err := r.Load("", text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestMistakesInOptions(t *testing.T) {
	_, err := flow.New(
		flow.Actions(activity.Declare[struct{}, string]("a"), activity.Declare[struct{}, string]("a"), nil, activity.Declare[struct{}, string]("no name"), activity.Declare[struct{}, string]("http.get")),
		flow.Files("/does/not/exist"),
	)
	for _, want := range []string{`two actions "a"`, "is nil", `cannot call "no name"`, `two actions "http.get"`, "is no directory"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	var faults flow.Faults
	r, err := flow.New()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Load("x.flow", "@nobody()\n"); !errors.As(err, &faults) || faults[0].File != "x.flow" || faults[0].Code != syntax.CodeAction {
		t.Errorf("%v", err)
	}
}
