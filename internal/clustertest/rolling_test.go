package clustertest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/internal/torture"
)

// later is what the next version adds to the schema.
const later = `ALTER TABLE perdure.tasks ADD COLUMN later bigint NOT NULL DEFAULT 7;
ALTER TABLE perdure.runs ADD COLUMN later bigint NOT NULL DEFAULT 7;
CREATE INDEX runs_later ON perdure.runs (later);
CREATE TABLE perdure.later (partition bigint PRIMARY KEY);
`

// laterProgram builds this test as a program of a later version: with one migration more.
func laterProgram(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	migrations, err := filepath.Abs("../../store/postgres/migrations")
	if err != nil {
		t.Fatal(err)
	}
	known, err := os.ReadDir(migrations)
	if err != nil {
		t.Fatal(err)
	}
	added := filepath.Join(dir, "later.sql")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(migrations, fmt.Sprintf("%04d_later.sql", len(known)+1)): added}})
	if err != nil {
		t.Fatal(err)
	}
	overlay, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "later.test")
	for name, text := range map[string][]byte{added: []byte(later), overlay: replace} {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", program, ".")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(build.Args, " "), err, said)
	}
	return program
}

// TestE83_ARollingRestartBetweenTwoVersions: under load each process leaves in good order and
// is started again as the next version, whose first process migrates the schema while the
// others of the earlier one serve. No attempt is lost or charged for it, and nothing else.
func TestE83_ARollingRestartBetweenTwoVersions(t *testing.T) {
	extent.OnlyAtNight(t, "it compiles another version; by day TestE83_AMigrationWhileNodesServe migrates under load, and nodes leave and join in TestE64_E80_Leaving")
	t.Parallel()
	c := newCluster(t, pgtest.Shared(t))
	program := laterProgram(t)
	const patientLease = 20 * time.Second
	setups := []torture.Setup{{Name: "a", Queue: -1}, {Name: "b", Queue: -1}, {Name: "worker", Worker: true, Queue: 3}}
	all := make([]*node, len(setups))
	for i, s := range setups {
		s.Lease = patientLease
		all[i] = c.start(s.Name+" of the earlier version", s)
	}
	c.awaitShares(all[:2]...)
	c.setCrew(all[:2]...)
	load := c.loaded(4*patience, "queued")
	version := func() string { return c.query(`SELECT value FROM perdure.meta WHERE key = 'version'`)[0] }
	before := version()
	for i, s := range setups {
		c.awaitProgress(load, 20)
		if i < 2 {
			c.setCrew(all[1-i])
		}
		if err := all[i].Leave(patience); err != nil {
			t.Errorf("node %s ended with %v", all[i].Label, err)
		}
		if i < 2 { // without the worker, all runs of the load may come to wait for its queue
			c.awaitProgress(load, 1)
		}
		s.Lease, c.later = patientLease, program
		all[i] = c.start(s.Name+" of the later version", s)
		if now := version(); now == before {
			t.Fatalf("the later version has not migrated the schema, which is %s", now)
		}
		c.awaitShares(all[:2]...)
		c.setCrew(all[:2]...)
	}
	c.awaitProgress(load, 20)
	end := load.End()
	c.awaitShares(all[:2]...)
	c.awaitHealth(all...)
	c.verdict(end)
	c.noneLost(end)
}
