package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// TestW8_BackoffSurvivesKill kills the command with SIGKILL while a step waits for
// its second attempt: the same command goes on, at the time that was first chosen,
// and what was done is not done again.
func TestW8_BackoffSurvivesKill(t *testing.T) {
	const wait = 3 * time.Second
	var mu sync.Mutex
	asked := map[string][]time.Time{}
	failed := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.URL.Path] = append(asked[r.URL.Path], time.Now())
		if r.URL.Path == "/b" && len(asked["/b"]) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			close(failed)
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	text := "fn main(input: [url], output: [r]):\n    a = @http.get(url=url + \"/a\")\n" +
		"    b = @http.get(url=url + \"/b\") [retry: 2, fixed: 3s, jitter: none]\n    r = [a.status, b.status]\n"
	if err := os.WriteFile(filepath.Join(dir, "kill.flow"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"flow", "run", "kill.flow", "--input", `{"url": "` + server.URL + `"}`}
	first := command(t, dir, args...)
	var said bytes.Buffer
	first.Stderr = &said
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-failed:
	case <-time.After(30 * time.Second):
		t.Fatalf("the service was not asked: %s", said.String())
	}
	waitForBackoff(t, dir)
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()

	stdout, stderr, code := run(t, dir, args...)
	if stdout != "[200,200]\n" || code != 0 {
		t.Fatalf("%s%s exit %d", stdout, stderr, code)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(asked["/a"]) != 1 || len(asked["/b"]) != 2 {
		t.Fatalf("the service was asked %d and %d times, want once and twice", len(asked["/a"]), len(asked["/b"]))
	}
	// Not before its time; how much later is up to how fast a process starts here.
	if waited := asked["/b"][1].Sub(asked["/b"][0]); waited < wait-100*time.Millisecond || waited > wait+20*time.Second {
		t.Errorf("the second attempt came after %s, want %s", waited, wait)
	}
}

// waitForBackoff waits until the failed attempt is on record.
func waitForBackoff(t *testing.T, dir string) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		stdout, _, _ := run(t, dir, "list", "--retrying", "-o", "json")
		var rows []json.RawMessage
		if json.Unmarshal([]byte(stdout), &rows) == nil && len(rows) > 0 {
			return
		}
	}
	t.Fatal("the failed attempt is not on record")
}
