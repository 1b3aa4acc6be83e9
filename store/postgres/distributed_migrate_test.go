package postgres

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestE149_ADistributedDatabaseIsMigrated: on the Citus cluster that $PERDURE_TEST_URL names,
// a distributed database of each earlier version is brought up to date with the run that it
// holds, its tables stay distributed, and work goes on there.
func TestE149_ADistributedDatabaseIsMigrated(t *testing.T) {
	url, options := anyServer(t)
	if len(options) == 0 {
		t.Skip("The server that PERDURE_TEST_URL names has no Citus.")
	}
	outside := newWorldAt(t, url, append(options, Schema("of_this_version"))...)
	const attributes = 4 // the first version that has all tables which are distributed
	for version := attributes; version < len(migrations); version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			h := &handle{schema: fmt.Sprintf("of_version_%d", version), distribute: true}
			drop := `DROP SCHEMA IF EXISTS ` + h.schema + ` CASCADE`
			outside.exec(drop)
			outside.must(outside.hold(t.Context(), "a test", func(c *conn) error {
				return c.transact(t.Context(), func(pgx.Tx) error { return c.take(t.Context(), h.steps(identity{}, version, 4)) })
			}))
			outside.exec(`INSERT INTO ` + h.schema + `.runs (partition, id, workflow_id, type, node_group, chain, attempt, created, start, status, wake, closed, detail)
				VALUES (1, 'older', 'older', 'test', '', 'older', 1, 5, '', 'running', 0, 0, '')`)
			w := newWorldAt(t, url, Schema(h.schema))
			w.created()
			if runs := w.value(`SELECT count(*)::text FROM perdure.runs`); runs != "2" {
				t.Errorf("there are %s runs, want the older one and a new one", runs)
			}
			for _, table := range distributedTables {
				if n := w.value(`SELECT count(*)::text FROM pg_dist_partition WHERE logicalrelid = $1::text::regclass AND partmethod = 'h'`, h.schema+"."+table); n != "1" {
					t.Errorf("the table %s is not distributed", table)
				}
			}
			outside.exec(drop)
		})
	}
}
