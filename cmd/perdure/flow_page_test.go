package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestF5_ThePageAboutFlowFilesIsAScript does what docs/flow.md says, in its order and word for
// word, beside a service that answers whatever is asked.
func TestF5_ThePageAboutFlowFilesIsAScript(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "flow.md"))
	if err != nil {
		t.Fatal(err)
	}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/rows"):
			fmt.Fprint(w, `{"rows": [1, 2], "next": null}`)
		case r.URL.Path == "/tables":
			fmt.Fprint(w, `["orders"]`)
		default:
			fmt.Fprint(w, `[1, 2]`)
		}
	}))
	defer service.Close()
	here := strings.NewReplacer("http://warehouse", service.URL, "http://crm", service.URL, "http://desk", service.URL)
	text, dir := strings.ReplaceAll(string(page), "\r\n", "\n"), t.TempDir()
	files, commands, cases := blocks(text, "flow", ""), blocks(text, "sh", ""), blocks(text, "json", "")
	for i, name := range []string{"names", "nightly", "import", "approval"} {
		if err := os.WriteFile(filepath.Join(dir, name+".flow"), []byte(files[i]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "nightly.test.json"), []byte(cases[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "perdure"), []byte("#!/bin/sh\n"+asCommand+"=1 PERDURE_DB= PERDURE_GROUP= exec "+self+" \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, block := range commands {
		block, serve := strings.CutSuffix(strings.TrimSpace(block), "perdure flow serve")
		shell := exec.CommandContext(t.Context(), "sh", "-eu", "-c", here.Replace(block))
		shell.Dir = dir
		shell.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		out, err := shell.CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s\n%s", err, block, out)
		}
		if serve {
			background(t, command(t, dir, "flow", "serve", "--db", "served.db"), "Serving")
		}
	}
	stdout, stderr, code := run(t, dir, "list", "-o", "json")
	var runs []struct {
		Workflow string
		Status   string
	}
	if err := json.Unmarshal([]byte(stdout), &runs); err != nil || code != 0 {
		t.Fatalf("%s%s, %v", stdout, stderr, err)
	}
	got := map[string]string{}
	for _, r := range runs {
		got[r.Workflow] = r.Status
	}
	if want := map[string]string{"names.flow": "completed", "import.flow": "completed", "approval.flow": "completed"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	if stdout, _, _ := run(t, dir, "flow", "run", "names.flow", "--files", "."); stdout != "[\"hello ann\",\"hello bob\"]\n" {
		t.Errorf("%s", stdout)
	}
	if stdout, stderr, code := run(t, dir, "flow", "test", "nightly.flow"); code != 0 {
		t.Errorf("%s%s", stdout, stderr)
	}
}
