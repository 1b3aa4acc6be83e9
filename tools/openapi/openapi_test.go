package openapi

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
)

const root = "../.."

// purchase waits for a signal and then fails again and again.
const purchase = `fn main(input: [item], output: [receipt]):
    decision = wait signal approval [retry: 0] [timeout: 2d]
    receipt = @http.post(url="http://127.0.0.1:9/pay", json={"item": item}) [retry: 20, backoff: 1h]
`

// TestF31_AnswersFitTheDocument lets the validator judge the document, and the requests and
// answers of a server with something of everything on record.
func TestF31_AnswersFitTheDocument(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command")
	}
	text, err := os.ReadFile(filepath.Join(root, "api", "testdata", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	document, err := libopenapi.NewDocument(text)
	if err != nil {
		t.Fatal(err)
	}
	v, problems := validator.NewValidator(document)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if ok, wrong := v.ValidateDocument(); !ok {
		for _, w := range wrong {
			t.Errorf("%s: %s %v", w.Message, w.Reason, w.SchemaValidationErrors)
		}
		t.FailNow()
	}
	s := start(t)
	s.judge = v
	s.fill()
	for path, methods := range paths(t, text) {
		if _, reads := methods["get"]; reads && !strings.HasPrefix(path, "/api/live/") && !strings.HasSuffix(path, "/result") { // which take as long as one listens
			s.ask(http.MethodGet, strings.NewReplacer("{id}", "chair", "{name}", "nightly", "{code}", "limit").Replace(path), "")
		}
	}
	if s.asked < 40 {
		t.Errorf("only %d requests were made", s.asked)
	}
}

func paths(t *testing.T, text []byte) map[string]map[string]any {
	t.Helper()
	var d struct{ Paths map[string]map[string]any }
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d.Paths
}

// server is the command's server, whose answers are judged.
type server struct {
	t     *testing.T
	url   string
	judge validator.Validator
	asked int
}

// start builds the command, and runs an engine and a server.
func start(t *testing.T) *server {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "perdure")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/perdure")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "purchase.flow"), []byte(purchase), 0o600); err != nil {
		t.Fatal(err)
	}
	background(t, dir, binary, "flow", "serve", "--db", "a.db")
	out := background(t, dir, binary, "dashboard", "--db", "a.db", "--listen", "127.0.0.1:0", "-o", "json")
	var l struct{ URL string }
	if err := json.NewDecoder(out).Decode(&l); err != nil {
		t.Fatal(err)
	}
	started := exec.CommandContext(t.Context(), binary, "start", "purchase.flow", "chair", `{"item": "a chair"}`, "--db", "a.db")
	started.Dir = dir
	if out, err := started.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return &server{t: t, url: strings.TrimSuffix(l.URL, "/")}
}

// background runs a command until the test ends, and returns what it prints once it prints.
func background(t *testing.T, dir string, args ...string) io.Reader {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	cmd.Stderr = cmd.Stdout
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	first := make([]byte, 1)
	if _, err := io.ReadFull(out, first); err != nil {
		t.Fatal(err)
	}
	return io.MultiReader(bytes.NewReader(first), out)
}

// fill puts something of everything on record.
func (s *server) fill() {
	for _, r := range []struct{ method, path, body string }{
		{"POST", "/api/runs/chair/signals/approval", `{"value": true}`},
		{"GET", "/api/runs/chair/result?wait=3s", ""},
		{"PUT", "/api/schedules/nightly", `{"workflow": "flow", "input": null, "spec": {"every": "1h"}, "priority": 3, "retry": "[retry: 3]"}`},
		{"POST", "/api/schedules/nightly/pause", `{"why": "a test"}`},
		{"POST", "/api/schedules/nightly/trigger", `{}`},
		{"POST", "/api/activities/charge/pause", `{"why": "a test"}`},
		{"POST", "/api/operations", `{"operation": "retry-now", "runs": {"retrying": true}, "dry_run": true}`},
		{"POST", "/api/runs/chair/operations", `{"operation": "edit-policy", "calls": {"name": "http.post"}, "policy": "[retry: 30]"}`},
		{"POST", "/api/runs/chair/operations", `{"operation": "pause-run", "why": "a test"}`},
		{"POST", "/api/runs/chair/fork", `{"new_id": "sofa", "call": 2, "dry_run": true}`},
		{"POST", "/api/policies/explain", `{"policy": "[retry: 3, backoff: 60]"}`},
		{"POST", "/api/policies/try", `{"policy": "[retry: 3]", "since": "7d"}`},
		{"POST", "/api/sweep", `{"completed": "30d", "dry_run": true}`},
		{"POST", "/api/gates/none/pause", `{}`},
		{"POST", "/api/attempts/complete", `{"token": "none", "result": 7}`},
		{"GET", "/api/runs/nobody", ""},
		{"GET", "/api/runs?status=wrong", ""},
	} {
		s.ask(r.method, r.path, r.body)
	}
}

// ask sends a request and lets its answer be judged.
func (s *server) ask(method, path, body string) {
	s.t.Helper()
	s.asked++
	request := func() *http.Request {
		r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
		if err != nil {
			s.t.Fatal(err)
		}
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		r.Header.Set("Authorization", "Bearer none is needed on this machine")
		return r
	}
	sent := request()
	sent.Header.Del("Authorization")
	answer, err := http.DefaultClient.Do(sent)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if answer.StatusCode >= http.StatusInternalServerError {
		s.t.Errorf("%s %s: status %d\n%s", method, path, answer.StatusCode, text)
	}
	answer.Body = io.NopCloser(bytes.NewReader(text))
	if ok, wrong := s.judge.ValidateHttpRequestResponse(request(), answer); !ok {
		for _, w := range wrong {
			s.t.Errorf("%s %s: status %d: %s: %s", method, path, answer.StatusCode, w.Message, w.Reason)
			for _, e := range w.SchemaValidationErrors {
				s.t.Errorf("  at %s: %s", e.FieldPath, e.Reason)
			}
		}
		s.t.Logf("%s", text)
	}
}
