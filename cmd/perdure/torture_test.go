package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/internal/torture"
	"github.com/perdure/perdure/store/sqlite"
)

// tortures runs a torture that must find nothing, and returns its page.
func tortures(t *testing.T, dir string, args ...string) (r torture.Report, stderr string) {
	t.Helper()
	stdout, stderr, code := run(t, dir, append([]string{"torture", "-o", "json"}, args...)...)
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("the page cannot be read: %v\n%s%s", err, stdout, stderr)
	}
	if code != 0 || !r.Clean() || r.Work.Runs == 0 || r.Work.Activities == 0 || r.Hurt.Kills == 0 {
		t.Fatalf("exit code %d, %s", code, stdout)
	}
	return r, stderr
}

// TestP5_TortureOfAFile: processes that serve a file are killed with kill -9, and nothing is
// found. The file is one beside the one that is named, which stays as it is, and is gone at the
// end; or it is the one that is named.
func TestP5_TortureOfAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "shop.db")
	e, err := perdure.Open(t.Context(), sqlite.File(path))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := tortures(t, dir, "--db", "shop.db", "--for", "2s", "--seed", "3")
	if r.Seed != 3 || r.Seconds < 2 || r.Still.Seconds == 0 {
		t.Errorf("the page says %+v", r)
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the database beside the torture has changed: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*torture*"))
	if err != nil || len(left) > 0 {
		t.Errorf("the torture leaves %v, %v", left, err)
	}
}

// TestP5_TortureOnAServer: nodes and workers on a server are killed, and the server is hurt by a
// command of the user. A schema of its own is dropped at the end, and nothing else is touched. If
// the command fails, so does the torture, which leaves nothing all the same.
func TestP5_TortureOnAServer(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no shell for the command")
	}
	dir, url := t.TempDir(), pgtest.Database(t)
	schemas := func() (all []string) {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		rows, err := conn.Query(t.Context(), `SELECT nspname::text || ' ' || (SELECT count(*) FROM pg_class WHERE relnamespace = n.oid) FROM pg_namespace n WHERE nspname NOT LIKE 'pg\_toast%' ORDER BY 1`)
		if err != nil {
			t.Fatal(err)
		}
		if all, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
			t.Fatal(err)
		}
		return all
	}
	before := strings.Join(schemas(), "\n")
	r, _ := tortures(t, dir, "--db", url, "--for", "2s", "--seed", "2", "--trouble", "echo hurt >> hurt")
	if r.Hurt.Restarts == 0 {
		t.Errorf("the page says %+v", r.Hurt)
	}
	if hurt, err := os.ReadFile(filepath.Join(dir, "hurt")); err != nil || strings.Count(string(hurt), "hurt") != r.Hurt.Restarts {
		t.Errorf("the command of the user said %q, %v, and the page %d", hurt, err, r.Hurt.Restarts)
	}
	_, stderr, code := run(t, dir, "torture", "--db", url, "--for", "1s", "--trouble", "echo no such server; false")
	if code != 1 || !strings.Contains(stderr, "no such server") {
		t.Errorf("with a command that fails: exit code %d\n%s", code, stderr)
	}
	if after := strings.Join(schemas(), "\n"); after != before {
		t.Errorf("there was\n%s\nand there is\n%s", before, after)
	}
}
