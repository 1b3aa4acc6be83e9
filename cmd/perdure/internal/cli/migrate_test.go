package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/postgres"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/workflow"
)

// ran runs a command in real time, and returns what it says and its exit code.
func ran(t *testing.T, db string, words ...string) (out, complaint string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = Run(t.Context(), Env{
		Args: append(words, "--db", db), Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		Getenv: func(string) string { return "" }, Now: time.Now,
	})
	return stdout.String(), stderr.String(), code
}

// types demands an exit code and words in what the command says.
func types(t *testing.T, db, words string, code int, says ...string) string {
	t.Helper()
	out, complaint, got := ran(t, db, strings.Fields(words)...)
	if got != code {
		t.Fatalf("perdure %s: exit code %d, want %d\n%s%s", words, got, code, out, complaint)
	}
	for _, text := range says {
		if !strings.Contains(out+complaint, text) {
			t.Errorf("perdure %s does not say %q:\n%s%s", words, text, out, complaint)
		}
	}
	return out
}

var once = activity.New("once", func(ctx context.Context, n int) (int, error) { return n + 1, nil })

var twice = workflow.New("twice", func(wf *workflow.Context, n int) (int, error) {
	n, err := workflow.Call(wf, once, n)
	if err != nil {
		return 0, err
	}
	if err := workflow.Sleep(wf, 10*time.Millisecond); err != nil {
		return 0, err
	}
	return workflow.Call(wf, once, n)
})

// TestE124_ARoleWithoutDDLRightsRunsWorkflows: the owner migrates and grants, by command
// or by the printed script; an engine whose role can change no table does all its work, and a group of
// its own besides.
func TestE124_ARoleWithoutDDLRightsRunsWorkflows(t *testing.T) {
	for i, way := range []string{"command", "script"} {
		t.Run(way, func(t *testing.T) {
			owner := pgtest.Database(t)
			role := fmt.Sprintf("app_%d_%s", i, nameOf(t, owner))
			execute(t, owner, "CREATE ROLE "+role+" LOGIN")
			execute(t, owner, "REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA pg_catalog FROM "+role) // only what is granted counts
			app := strings.Replace(owner, "user=postgres", "user="+role, 1)
			types(t, app, "migrate --check", 7, "no schema")
			types(t, app, "migrate", 1, "lacks the right", "Let a user who may change it run: perdure migrate")
			types(t, owner, "migrate --partitions 0", 2, "--partitions is 0")
			if way == "command" {
				types(t, owner, "migrate --partitions 8 --grant "+role, 0, "Created the schema", "can run engines")
			} else {
				script := types(t, owner, "migrate --print --partitions 8 --grant "+role, 0)
				if _, err := connect(t, owner).PgConn().Exec(t.Context(), script).ReadAll(); err != nil {
					t.Fatalf("%v in\n%s", err, script)
				}
			}
			types(t, app, "migrate --check", 0, "up to date")
			types(t, app, "migrate", 0, "up to date")
			for _, group := range []string{"", "night"} {
				runAs(t, app, group)
			}
			types(t, app, "list", 0, "completed")
			types(t, app, "doctor", 0, "Nothing is wrong")
			types(t, app, "gc --older-than 1ns", 0, "Deleted 1 run")
			for _, ddl := range []string{"CREATE TABLE perdure.mine (id int)", "ALTER TABLE perdure.runs ADD COLUMN mine int", "DROP TABLE perdure.runs", "TRUNCATE perdure.runs"} {
				if _, err := connect(t, app).Exec(t.Context(), ddl); err == nil {
					t.Errorf("the role may %s", ddl)
				}
			}
		})
	}
}

// runAs runs a workflow with an engine that may not migrate.
func runAs(t *testing.T, url, group string) {
	t.Helper()
	e, err := perdure.Open(t.Context(), postgres.URL(url), perdure.NoMigrate(), perdure.Group(group), perdure.Register(once, twice),
		perdure.Logger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := perdure.Run(t.Context(), e, twice, "run of "+group, 40); err != nil || n != 42 {
		t.Errorf("the workflow returned %d, %v", n, err)
	}
}

// TestE124_NoMigrateLeavesTheSchemaAsItIs on both stores.
func TestE124_NoMigrateLeavesTheSchemaAsItIs(t *testing.T) {
	for name, db := range map[string]store.Opener{
		"sqlite":   sqlite.File(filepath.Join(t.TempDir(), "new.db")),
		"postgres": postgres.URL(pgtest.Database(t)),
	} {
		_, err := perdure.Open(t.Context(), db, perdure.NoMigrate())
		if outdated, ok := errors.AsType[*store.SchemaError](err); !ok || !errors.Is(err, perdure.ErrOlder) || outdated.Version != 0 || !strings.Contains(err.Error(), "perdure migrate") {
			t.Errorf("%s: %v", name, err)
		}
		if s, err := db.(store.Migrator).Schema(t.Context()); err != nil || s.Version != 0 {
			t.Errorf("%s: afterwards the version is %d, %v", name, s.Version, err)
		}
	}
}

// TestE125_TenantsOfOneDatabaseAreIsolated: two schemas of one database have the same
// workflow IDs, nodes, gates and groups, and know nothing of each other; the role of one
// cannot read the other; one is dropped while the other works.
func TestE125_TenantsOfOneDatabaseAreIsolated(t *testing.T) {
	owner := pgtest.Database(t)
	urls := map[string]string{}
	engines := map[string]*perdure.Engine{}
	for i, tenant := range []string{"tenant_a", "tenant_b"} {
		role := tenant + "_" + nameOf(t, owner)
		execute(t, owner, "CREATE ROLE "+role+" LOGIN")
		types(t, owner+"&schema="+tenant, "migrate --grant "+role, 0, "schema "+tenant)
		urls[tenant] = strings.Replace(owner, "user=postgres", "user="+role, 1) + "&schema=" + tenant
		e, err := perdure.OpenURL(t.Context(), urls[tenant], perdure.NoMigrate(), perdure.NodeName("worker"), perdure.Register(once, twice),
			perdure.Logger(slog.New(slog.NewTextHandler(io.Discard, nil))))
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		engines[tenant] = e
		if n, err := perdure.Run(t.Context(), e, twice, "order-17", 10*i); err != nil || n != 10*i+2 {
			t.Errorf("%s: the workflow returned %d, %v", tenant, n, err)
		}
	}
	// Each run had to be heard of by its own engine alone.
	for tenant, url := range urls {
		out := types(t, url, "list -o json", 0)
		var runs []struct{ ID string }
		if err := json.Unmarshal([]byte(out), &runs); err != nil || len(runs) != 1 {
			t.Errorf("%s has the runs %s, %v", tenant, out, err)
		}
		types(t, url, "doctor", 0, "Nothing is wrong")
		other := "tenant_a"
		if tenant == other {
			other = "tenant_b"
		}
		types(t, strings.Replace(url, "schema="+tenant, "schema="+other, 1), "list", 1, "may not read the schema", other)
	}
	if err := engines["tenant_a"].Close(); err != nil {
		t.Fatal(err)
	}
	execute(t, owner, "DROP SCHEMA tenant_a CASCADE")
	if n, err := perdure.Run(t.Context(), engines["tenant_b"], twice, "order-18", 1); err != nil || n != 3 {
		t.Errorf("beside the schema that is gone the workflow returned %d, %v", n, err)
	}
}
