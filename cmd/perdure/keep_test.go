package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// TestF6_TheDemoLeavesItsDataInTheDashboard: with --keep the demo ends in the dashboard of what
// it did, which an interrupt ends as it ends any server; the data stays.
func TestF6_TheDemoLeavesItsDataInTheDashboard(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot send an interrupt to another one here")
	}
	t.Parallel()
	dir := t.TempDir()
	for _, round := range []string{"the demo", "the finished demo"} {
		cmd := command(t, dir, "demo", "--orders", "6", "--kills", "1", "--dir", "d", "--keep")
		var complaints bytes.Buffer
		cmd.Stderr = &complaints
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var said []string
		at := ""
		for lines := bufio.NewScanner(out); at == "" && lines.Scan(); {
			said = append(said, lines.Text())
			if m := regexp.MustCompile(`^Serving .* at (http://127\.0\.0\.1:\d+/)`).FindStringSubmatch(lines.Text()); m != nil {
				at = m[1]
			}
		}
		if at == "" {
			t.Fatalf("%s serves nothing\n%s\n%s", round, strings.Join(said, "\n"), &complaints)
		}
		get := func(path string) string {
			t.Helper()
			resp, err := http.Get(at + path)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Errorf("%s of %s has status %d, %v", path, round, resp.StatusCode, err)
			}
			return string(text)
		}
		if page := get(""); !strings.Contains(page, "<b>6</b> <span>completed</span>") {
			t.Errorf("the overview of %s does not have the orders: %s", round, page)
		}
		list := get("runs?status=completed")
		link := regexp.MustCompile(`<a class="id row" href="(run\?[^"]+)"`).FindAllStringSubmatch(list, -1)
		if len(link) != 6 {
			t.Fatalf("the list of %s has %d runs: %s", round, len(link), list)
		}
		if page := get(strings.ReplaceAll(link[0][1], "&amp;", "&")); !strings.Contains(page, `<h2 id="timeline">Timeline</h2>`) {
			t.Errorf("a run of %s has no timeline: %s", round, page)
		}
		if page := get("ledger"); !strings.Contains(page, "ended with an error") {
			t.Errorf("the ledger of %s is empty: %s", round, page)
		}
		if text := get("api/runs?status=completed"); strings.Count(text, `"workflow_id"`) != 6 {
			t.Errorf("the API of %s has %s", round, text)
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(out)
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil || complaints.Len() > 0 {
			t.Errorf("%s ends with %v\n%s\n%s", round, err, rest, &complaints)
		}
		if _, err := http.Get(at); err == nil {
			t.Errorf("%s still serves", round)
		}
	}
	stdout, stderr, code := run(t, dir, "list", "--db", "sqlite:d/demo.db", "--status", "completed", "-o", "jsonl")
	if got := strings.Count(stdout, "\n"); code != 0 || got != 6 {
		t.Errorf("list: exit code %d, %d runs\n%s", code, got, stderr)
	}
}
