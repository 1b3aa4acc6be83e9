package main

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/view"
)

// TestE80_DemoOnAServerSurvivesKillsOfEitherWorker: two processes share the work, and
// each kill hits one of them.
func TestE80_DemoOnAServerSurvivesKillsOfEitherWorker(t *testing.T) {
	t.Parallel()
	dir, url := t.TempDir(), pgtest.Database(t)
	args := []string{"demo", "--orders", "40", "--dir", "d", "--kills", "6", "--db", url, "-o", "json"}
	stdout, stderr, code := run(t, dir, args...)
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	r := check(t, stdout, 40, 4)
	if r.Workers != 2 || !strings.Contains(r.Database, "schema=perdure_demo_") {
		t.Errorf("%d workers on %s", r.Workers, r.Database)
	}
	for _, want := range []string{"2 worker processes share the orders", "kill -9 of worker-", " is started again, process ", "perdure_demo_", "nodes --db"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("the progress does not say %q:\n%s", want, stderr)
		}
	}

	// What it left can be read, and both have done something.
	stdout, stderr, code = run(t, dir, "list", "--db", r.Database, "--status", "completed", "-o", "jsonl")
	if got := strings.Count(stdout, "\n"); code != 0 || got != 40 {
		t.Errorf("list: exit code %d, %d runs\n%s", code, got, stderr)
	}
	stdout, stderr, code = run(t, dir, "show", r.Longest, "--db", r.Database)
	if code != 0 || !strings.Contains(stdout, "fulfil-order  completed") {
		t.Errorf("show: exit code %d\n%s%s", code, stdout, stderr)
	}
	names := map[string]int{}
	for _, n := range nodes(t, dir, r.Database, "--all") {
		names[n.Name]++
	}
	if names["worker-1"] == 0 || names["worker-2"] == 0 || names["worker-1"]+names["worker-2"] != 2+r.Crashes || len(names) != 2 {
		t.Errorf("after %d crashes the nodes are %v; want one for each start of either worker", r.Crashes, names)
	}
	stdout, stderr, code = run(t, dir, "nodes", "--db", r.Database)
	if code != 0 || !strings.Contains(stdout, "No node serves this database") {
		t.Errorf("nodes: exit code %d\n%s%s", code, stdout, stderr)
	}
	stdout, stderr, code = run(t, dir, args...)
	if again := check(t, stdout, 40, 4); code != 0 || !strings.Contains(stderr, "finished already") || again.Service.Requests != r.Service.Requests {
		t.Errorf("a finished demo: exit code %d\n%s", code, stderr)
	}
	_, stderr, code = run(t, dir, "demo", "--orders", "40", "--dir", "d")
	if code != 1 || !strings.Contains(stderr, "was begun in the database") {
		t.Errorf("the same demo in a file: exit code %d\n%s", code, stderr)
	}

	// A fresh one leaves the runs of the old one alone, and nothing is anywhere else.
	stdout, stderr, code = run(t, dir, "demo", "--orders", "8", "--dir", "d", "--db", url, "--kills", "0", "--fresh", "-o", "json")
	if fresh := report(t, stdout); code != 0 || !fresh.True() || fresh.Database == r.Database || !strings.Contains(stderr, "stays there. To remove it") {
		t.Errorf("a fresh demo: exit code %d, in %s\n%s", code, fresh.Database, stderr)
	}
	stdout, _, _ = run(t, dir, "list", "--db", r.Database, "-o", "jsonl")
	if got := strings.Count(stdout, "\n"); got != 40 {
		t.Errorf("--fresh left %d of 40 runs of the earlier demo", got)
	}
	_, stderr, code = run(t, dir, "list", "--db", url)
	if code != 1 || !strings.Contains(stderr, `it has no schema "perdure"`) {
		t.Errorf("outside of its schemas: exit code %d\n%s", code, stderr)
	}
}

// nodes are the nodes that perdure nodes lists.
func nodes(t *testing.T, dir, db string, flags ...string) []view.Node {
	t.Helper()
	stdout, stderr, code := run(t, dir, append([]string{"nodes", "--db", db, "-o", "json"}, flags...)...)
	if code != 0 && strings.Contains(stderr, "No engine has used") {
		return nil
	}
	var list []view.Node
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || code != 0 {
		t.Fatalf("exit code %d: %v\n%s", code, err, stderr)
	}
	return list
}

func TestDemoOnAServerGoesOnAfterAnInterrupt(t *testing.T) {
	t.Parallel()
	dir, url := t.TempDir(), pgtest.Database(t)
	args := []string{"demo", "--orders", "24", "--db", url, "--workers", "3"}
	interrupt(t, command(t, dir, args...))
	_, stderr, code := run(t, dir, "demo", "--orders", "24", "--db", pgtest.Database(t))
	if code != 1 || !strings.Contains(stderr, "was begun in the database") {
		t.Errorf("on another server: exit code %d\n%s", code, stderr)
	}
	args = append(args, "-o", "json")
	stdout, stderr, code := run(t, dir, args...)
	if code != 0 || !strings.Contains(stderr, "continues where it was stopped") {
		t.Errorf("the second start: exit code %d\n%s", code, stderr)
	}
	r := check(t, stdout, 24, 2)

	// Who removes its runs is not told that they were lost.
	schema := regexp.MustCompile(`perdure_demo_[0-9a-f]+`).FindString(r.Database)
	execute(t, url, "DROP SCHEMA "+schema+" CASCADE")
	_, stderr, code = run(t, dir, args...)
	if code != 1 || !strings.Contains(stderr, "no longer there") || !strings.Contains(stderr, "--fresh") {
		t.Errorf("without its schema: exit code %d\n%s", code, stderr)
	}
	_, stderr, _ = run(t, dir, "list", "--db", r.Database)
	if !strings.Contains(stderr, "it has no schema") {
		t.Errorf("the schema is there again: %s", stderr)
	}
}

func execute(t *testing.T, url, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}
