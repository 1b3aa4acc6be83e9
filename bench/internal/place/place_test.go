package place

import (
	"context"
	"database/sql"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func fresh(t *testing.T, kind Kind) Database {
	t.Helper()
	p, err := New(os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(p.Dir()); !os.IsNotExist(err) {
			t.Errorf("%s is left behind (%v)", p.Dir(), err)
		}
	})
	db, err := p.Fresh(t.Context(), kind)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// rows is how many rows the tests write, of a kilobyte each.
const rows = 2000

// What a database costs is read where it arises, so that it can be neither
// forgotten nor counted twice: work of known size shows up in all figures.
func TestCostOfPostgres(t *testing.T) {
	ctx := t.Context()
	db := fresh(t, Postgres)
	before, err := db.Cost(ctx)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(ctx, db.Location())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(ctx, `CREATE TABLE big (n int PRIMARY KEY, text text)`); err != nil {
		t.Fatal(err)
	}
	for n := range rows {
		if _, err := conn.Exec(ctx, `INSERT INTO big SELECT $1, string_agg(md5(random()::text), '') FROM generate_series(1, 32)`, n); err != nil {
			t.Fatal(err)
		}
	}
	conn.Close(ctx)
	commits, known, err := db.Commits(ctx)
	if err != nil || !known || commits < rows+1 || commits > rows+20 {
		t.Errorf("%d commits (%v, %v), want about %d", commits, known, err, rows+1)
	}
	after, err := db.Cost(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if written := after.Written - before.Written; written < rows*1024 || written > 4*rows*1024 {
		t.Errorf("%d bytes of log, want something above %d", written, rows*1024)
	}
	// The backend that spent it is gone; its time counts nevertheless.
	if cpu := after.Server - before.Server; cpu <= 0 || cpu > time.Minute {
		t.Errorf("%s of CPU", cpu)
	}
	checkTables(ctx, t, db)
}

func TestCostOfSQLite(t *testing.T) {
	ctx := t.Context()
	db := fresh(t, SQLite)
	before, err := db.Cost(ctx)
	if err != nil {
		t.Fatal(err)
	}
	file, err := sql.Open("sqlite", db.Location())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	file.SetMaxOpenConns(1)
	for _, statement := range []string{
		`PRAGMA journal_mode = wal`, `PRAGMA synchronous = full`, `CREATE TABLE big (n INTEGER PRIMARY KEY, text TEXT)`,
		`WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 2000) INSERT INTO big SELECT n, hex(randomblob(512)) FROM c`,
	} {
		if _, err := file.ExecContext(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	after, err := db.Cost(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if written := after.Written - before.Written; written < rows*1024 || written > 4*rows*1024 {
		t.Errorf("%d bytes written, want something above %d", written, rows*1024)
	}
	checkTables(ctx, t, db)
}

func checkTables(ctx context.Context, t *testing.T, db Database) {
	t.Helper()
	size, err := db.Size(ctx)
	if err != nil || size < rows*1024 || size > 4*rows*1024 {
		t.Errorf("size %d (%v), want something above %d", size, err, rows*1024)
	}
	tables, err := db.Tables(ctx)
	if err != nil || len(tables) == 0 || tables[0].Name != "big" || tables[0].Bytes < rows*1024 || tables[0].Bytes > size {
		t.Errorf("tables %v (%v), want one called big", tables, err)
	}
	if err := db.Drop(ctx); err != nil {
		t.Error(err)
	}
}

func TestMemoryIsNoDisk(t *testing.T) {
	if p, err := New("/dev/shm"); err == nil {
		p.Close()
		t.Error("a directory in memory is accepted")
	}
}
