package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/extent"
)

// TestF29_ThePageAboutHTTPIsAScript does what docs/http.md says, in its order: an engine, a
// server, then every command with curl, and the client in Python.
func TestF29_ThePageAboutHTTPIsAScript(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "http.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"curl", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			extent.Missing(t, "The page about the HTTP API is played with "+program+". Install it: apt-get install "+program+", brew install "+program+".")
		}
	}
	text, dir := strings.ReplaceAll(string(page), "\r\n", "\n"), t.TempDir()
	flow, python, commands := blocks(text, "flow", ""), blocks(text, "python", ""), blocks(text, "sh", "")
	if len(flow) != 1 || len(python) != 1 || len(commands) < 10 || !strings.HasPrefix(commands[0], "perdure flow serve") || !strings.HasPrefix(commands[1], "perdure dashboard") {
		t.Fatalf("the page has %d flow files, %d clients and %d blocks of commands", len(flow), len(python), len(commands))
	}
	background(t, command(t, dir, append(strings.Fields(commands[0])[1:], "-o", "table")...), "Serving")
	first := background(t, command(t, dir, append(strings.Fields(commands[1])[1:], "--listen", "127.0.0.1:0", "-o", "jsonl")...), "{")
	var server struct{ URL string }
	if err := json.Unmarshal([]byte(first), &server); err != nil {
		t.Fatalf("%v: %s", err, first)
	}
	// A reader who is slow has waited longer for the first attempt than a script.
	here := strings.NewReplacer("http://127.0.0.1:7460/", server.URL, "result?wait=2s", "result?wait=6s")
	for name, content := range map[string]string{"purchase.flow": flow[0], "client.py": here.Replace(python[0])} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	shell := exec.CommandContext(t.Context(), "sh", "-eu", "-c", here.Replace(strings.Join(commands[2:], "\necho\necho ---\n")))
	shell.Dir = dir
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		`"attached":false`, `"attached":true`, `"wait":{"for":`, `"sent":"signal"`, `"closed":false`, `"for":"backoff"`, `"outcome":"failed"`,
		`"dry_run":true,"runs":1,"calls":1`, `"outcome":"applied"`, "paid in cash", `"status":"completed"`, `"why":"the till is down"`,
		"the lamp is paid", "event: view", `"code":"not-found"`, `"openapi":"3.1.0"`,
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("nothing that is printed says %s", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}

// background runs a command until the test ends, and returns the first line that it prints
// which begins with a text.
func background(t *testing.T, cmd *exec.Cmd, begin string) string {
	t.Helper()
	reader, writer := io.Pipe()
	cmd.Stdout, cmd.Stderr = writer, writer
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		_ = writer.Close()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	lines := bufio.NewScanner(reader)
	var all []string
	for lines.Scan() {
		if all = append(all, lines.Text()); strings.HasPrefix(lines.Text(), begin) {
			go func() { _, _ = io.Copy(io.Discard, reader) }()
			return lines.Text()
		}
	}
	t.Fatalf("%v ended:\n%s", cmd.Args, strings.Join(all, "\n"))
	return ""
}
