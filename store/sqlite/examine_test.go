package sqlite

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/store"
)

// filled writes 300 runs of three turns, every third of which is over, with all that can hang
// on a run.
const filled = `
	WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
	INSERT INTO runs (partition, id, workflow_id, latest, type, node_group, chain, attempt, created, status, wake, closed, start, detail, priority, is_full)
	SELECT 0, 'run-' || i, 'flow-' || i, 1, 'flow', '', 'run-' || i, 1, i, iif(i % 3, 'running', 'completed'), iif(i % 3, 0, NULL), iif(i % 3, 0, 7), '5', x'00ff', i, i % 2 FROM n;
	INSERT INTO turns SELECT seq, n.column1, 70 + n.column1, 1, 17, 'turn ' || n.column1 || ' of ' || id FROM runs CROSS JOIN (VALUES (1), (2), (3)) n;
	INSERT INTO calls SELECT partition, id, 1, 0, 'backoff', 'charge', 'q', 2, 99, NULL FROM runs WHERE status = 'running';
	INSERT INTO attempts SELECT partition, id, 1, 1, 'charge', 'failed', 'E', '', 1, 2, '{}' FROM runs;
	INSERT INTO attributes SELECT partition, 'customer', 'ann', id FROM runs;`

// TestE126_TheFileIsLookedAt: each symptom that is planted is found with its cause and what
// to do, and nothing where all is well.
func TestE126_TheFileIsLookedAt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	now := int64(time.Hour)
	db, err := File(path, Clock(func() int64 { return now })).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c, err := connect(t.Context(), dsn(path, "rw"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if err := c.script(filled); err != nil {
		t.Fatal(err)
	}
	if err := db.Join(t.Context(), store.Node{ID: "n/1", Name: "web-1", Lease: time.Second}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Claim(t.Context(), "n/1", []int{0}); err != nil {
		t.Fatal(err)
	}
	finds := func(want ...string) {
		t.Helper()
		found, err := db.(store.Examiner).Examine(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(found) != len(want) {
			t.Fatalf("found %+v, want %q", found, want)
		}
		for i, s := range found {
			if !strings.HasPrefix(s.Kind+" "+s.Subject+": "+s.Problem, want[i]) || s.Do == "" {
				t.Errorf("found %+v, want %q", s, want[i])
			}
		}
	}
	finds()
	if err := db.Post(t.Context(), store.Message{WorkflowID: "flow-1", Key: "k", Kind: "signal"}); err != nil {
		t.Fatal(err)
	}
	finds()
	now += 2 * stuckAfter
	finds(`stuck message 1: a message of the kind "signal" for flow-1 waits since 1970-01-01 01:00:00Z although node web-1`)
	if err := c.script("DELETE FROM inbox; DELETE FROM runs WHERE id = 'run-4'"); err != nil {
		t.Fatal(err)
	}
	finds("orphan table turns: 3 rows", "orphan table calls: 1 rows", "orphan table attempts: 1 rows", "orphan table attributes: 1 rows")
	for _, s := range []string{"turns WHERE run NOT IN (SELECT seq FROM runs)", "calls WHERE run = 'run-4'", "attempts WHERE run = 'run-4'", "attributes WHERE run = 'run-4'"} {
		if err := c.script("DELETE FROM " + s); err != nil {
			t.Fatal(err)
		}
	}
	finds()
	if err := c.script("UPDATE partitions SET clock = 99999999999999999"); err != nil {
		t.Fatal(err)
	}
	finds("clock clock: the clock of this machine was set back")
	if err := c.script("UPDATE partitions SET clock = 0; PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'completed', 'running') WHERE name = 'runs_status'; PRAGMA writable_schema = RESET"); err != nil {
		t.Fatal(err)
	}
	again, err := File(path, Clock(func() int64 { return now })).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	found, err := again.(store.Examiner).Examine(t.Context())
	if err != nil || len(found) == 0 || found[0].Kind != store.SymptomDamage {
		t.Errorf("in a damaged file: %+v, %v", found, err)
	}
}
