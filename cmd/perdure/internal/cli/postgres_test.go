package cli

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

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
