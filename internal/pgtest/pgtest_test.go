package pgtest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func query(t *testing.T, dsn, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var answer string
	if err := conn.QueryRow(t.Context(), sql).Scan(&answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestEveryDatabaseIsFresh(t *testing.T) {
	for range 2 {
		dsn := Database(t)
		if had := query(t, dsn, "SELECT coalesce(to_regclass('mine')::text, 'nothing')"); had != "nothing" {
			t.Fatalf("a new database has the table %q", had)
		}
		query(t, dsn, "WITH x AS (SELECT 1) SELECT count(*)::text FROM x")
		conn, err := pgx.Connect(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), "CREATE TABLE mine (id int)"); err != nil {
			t.Fatal(err)
		}
		conn.Close(t.Context())
	}
}

func TestACrashedServerKeepsWhatWasCommitted(t *testing.T) {
	c := Start(t, Durable(), Set("work_mem", "7MB"))
	dsn := c.Database(t)
	if got := query(t, dsn, "SELECT current_setting('fsync') || current_setting('work_mem')"); got != "on7MB" {
		t.Fatalf("the settings are %s", got)
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "CREATE TABLE kept AS SELECT 42 AS answer"); err != nil {
		t.Fatal(err)
	}
	c.Crash(t)
	if _, err := conn.Exec(t.Context(), "SELECT 1"); err == nil {
		t.Fatal("the connection survived the crash")
	}
	c.Restart(t)
	if got := query(t, dsn, "SELECT answer::text FROM kept"); got != "42" {
		t.Fatalf("after the crash the table holds %s", got)
	}
}

// TestNothingIsLeftWhenTheProcessDies runs this test binary again and kills it
// while its server runs.
func TestNothingIsLeftWhenTheProcessDies(t *testing.T) {
	if os.Getenv("PERDURE_PGTEST_VICTIM") != "" {
		os.Stdout.WriteString("server in " + Start(t).dir + "\n")
		select {}
	}
	victim := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	victim.Env = append(os.Environ(), "PERDURE_PGTEST_VICTIM=1")
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 4096)
	n, err := out.Read(said)
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(said[:n])), "server in ")
	if !ok {
		t.Fatalf("the child said %q: %v", said[:n], err)
	}
	if _, err := os.Stat(dir + "/data/postmaster.pid"); err != nil {
		t.Fatal(err)
	}
	victim.Process.Kill()
	victim.Wait()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s is still there", dir)
		}
	}
}
