package pgtest

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/internal/extent"
)

// shared is the server of this test binary. It is never stopped: it ends with the
// process.
var shared = sync.OnceValues(func() (*Cluster, error) { return New() })

// Shared returns the server of this test binary, which the first call starts.
// Tests do not stop it. The test is skipped with -short and where
// its programs are missing.
func Shared(tb testing.TB) *Cluster {
	tb.Helper()
	needsServer(tb)
	c, err := shared()
	must(tb, err)
	return c
}

// needsServer skips a test in the short form and where the programs of a server are missing,
// and returns their directory.
func needsServer(tb testing.TB) (bin string) {
	tb.Helper()
	extent.NotInShort(tb, "a PostgreSQL server")
	bin, err := binaries()
	if err != nil {
		extent.Missing(tb, err.Error())
	}
	return bin
}

// Start starts a server for one test, with files of its own, and ends it with
// the test. The test is skipped with -short and where
// its programs are missing.
func Start(tb testing.TB, options ...Option) *Cluster {
	tb.Helper()
	needsServer(tb)
	c, err := New(options...)
	must(tb, err)
	return c.endsWith(tb)
}

// must ends the test if there is an error.
func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// endsWith closes the server with the test.
func (c *Cluster) endsWith(tb testing.TB) *Cluster {
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	return c
}

// Database makes an empty database on the server of this test binary and
// returns how to connect to it. It is dropped with the test.
func Database(tb testing.TB) string {
	tb.Helper()
	return Shared(tb).Database(tb)
}

// Database makes an empty database and returns how to connect to it. It is
// dropped with the test.
func (c *Cluster) Database(tb testing.TB) string {
	tb.Helper()
	name := fmt.Sprintf("test_%d", c.databases.Add(1))
	must(tb, c.exec("CREATE DATABASE "+name+" TEMPLATE template0"))
	tb.Cleanup(func() {
		if c.server == nil {
			return // the test crashed it; its files go as a whole
		}
		if err := c.exec("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			tb.Error(err)
		}
	})
	return c.DSN(name)
}

// exec does not wait for a standby, which may be gone by now.
func (c *Cluster) exec(sql string) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, c.DSN("postgres")+"&synchronous_commit=local")
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}

// Crash stops the server as "pg_ctl stop -m immediate" does: every connection is
// cut, and the next start has to recover.
func (c *Cluster) Crash(tb testing.TB) {
	tb.Helper()
	must(tb, c.stop(syscall.SIGQUIT))
}

// Ended reports whether the server has ended by itself, as it does when its disk is full.
func (c *Cluster) Ended() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// Restart starts a server that was stopped, on the same files, and waits until it
// answers.
func (c *Cluster) Restart(tb testing.TB) {
	tb.Helper()
	must(tb, c.start())
}

// Dump backs a database up as pg_dump does, while it is in use.
func (c *Cluster) Dump(tb testing.TB, dsn string) []byte {
	tb.Helper()
	dump, err := c.run(nil, "pg_dump", "--dbname", dsn)
	must(tb, err)
	return dump
}

// Restore makes a database of a dump and returns how to connect to it.
func (c *Cluster) Restore(tb testing.TB, dump []byte) string {
	tb.Helper()
	dsn := c.Database(tb)
	_, err := c.run(dump, "psql", "--quiet", "--no-psqlrc", "--set", "ON_ERROR_STOP=1", "--dbname", dsn)
	must(tb, err)
	return dsn
}

// Replicating are the options of a server that may have a standby.
func Replicating() []Option {
	return []Option{Set("wal_level", "replica"), Set("max_wal_senders", "4"), Set("max_replication_slots", "4")}
}

// Standby makes a synchronous standby of a server that is Replicating: from then on
// every commit is on both before it is answered. It ends with the test.
func (c *Cluster) Standby(tb testing.TB) *Cluster {
	tb.Helper()
	s, err := c.follow()
	must(tb, err)
	return s.endsWith(tb)
}

// Promote makes a standby a primary and waits until it is.
func (c *Cluster) Promote(tb testing.TB) {
	tb.Helper()
	must(tb, c.exec("SELECT pg_promote()"))
}
