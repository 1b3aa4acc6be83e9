package cli

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/store/postgres"
)

// TestPostgresScripts runs scripts as TestScripts does, in real time and with
// PostgreSQL. There is an empty database for each, which scripts call DATABASE, on
// a server whose socket is in a directory that they call SOCKET. One more command
// is
//
//	$ sql STATEMENT
func TestPostgresScripts(t *testing.T) {
	scripts(t, filepath.Join("testdata", "postgres", "*.txt"), func(t *testing.T, dir, script string) string {
		url := pgtest.Database(t)
		socket := filepath.Dir(pgtest.Shared(t).Socket())
		return (&player{
			t: t, dir: dir, db: postgres.URL(url),
			sql:   func(statement string) { execute(t, url, statement) },
			names: strings.NewReplacer("DATABASE", nameOf(t, url), "SOCKET", socket),
			back:  strings.NewReplacer(nameOf(t, url), "DATABASE", socket, "SOCKET"),
		}).play(script)
	})
}

// connect makes a connection for the time of the test.
func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func nameOf(t *testing.T, url string) string { return connect(t, url).Config().Database }

func execute(t *testing.T, url, statement string) {
	t.Helper()
	if _, err := connect(t, url).Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}
