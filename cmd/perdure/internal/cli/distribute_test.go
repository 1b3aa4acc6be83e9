package cli

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestF46_Distribute distributes a database that holds a run, on the server that
// $PERDURE_TEST_URL names if that is a Citus cluster's coordinator.
func TestF46_Distribute(t *testing.T) {
	url := os.Getenv("PERDURE_TEST_URL")
	if url == "" {
		t.Skip("PERDURE_TEST_URL names no server.")
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	var citus bool
	if err := conn.QueryRow(t.Context(), `SELECT count(*) > 0 FROM pg_extension WHERE extname = 'citus'`).Scan(&citus); err != nil || !citus {
		t.Skip("The server that PERDURE_TEST_URL names has no Citus.", err)
	}
	drop := func() {
		if _, err := conn.Exec(context.Background(), `DROP SCHEMA IF EXISTS moved CASCADE`); err != nil {
			t.Error(err)
		}
	}
	drop()
	t.Cleanup(drop)
	db := url + "&schema=moved"
	types(t, db, "migrate --partitions 4", 0, "Created the schema")
	types(t, db, "start order order-1", 0)
	types(t, db, "migrate --distribute --check", 7, "not distributed", "perdure migrate --distribute")
	script := types(t, db, "migrate --distribute --print", 0, "create_distributed_table", "BEGIN;", "COMMIT;")
	types(t, db, "migrate --distribute --check", 7)
	if strings.Contains(script, "perdure.runs") {
		t.Errorf("the script is for another schema:\n%s", script)
	}
	types(t, db, "migrate --distribute", 0, "Distributed the tables")
	types(t, db, "migrate --distribute", 0, "up to date")
	types(t, db, "migrate --distribute --check", 0, "up to date")
	types(t, db, "migrate --check", 0, "up to date")
	types(t, db, "list", 0, "order-1")
	types(t, db, "doctor", 0)
	var shards int
	if err := conn.QueryRow(t.Context(), `SELECT count(DISTINCT nodename || nodeport) FROM citus_shards WHERE table_name = 'moved.runs'::regclass`).Scan(&shards); err != nil || shards < 2 {
		t.Errorf("the runs are on %d workers: %v", shards, err)
	}
}
