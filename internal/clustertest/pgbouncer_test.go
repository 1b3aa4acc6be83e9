package clustertest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/internal/torture"
)

// TestE81_E83_PgBouncer: two nodes work through PgBouncer in transaction mode, with fewer
// sessions at the server than connections of theirs. It is ended and started again, and
// one of the nodes is killed.
func TestE81_E83_PgBouncer(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	c := newCluster(t, server)
	b := newBouncer(t, server)
	through := pooled(b.dsn(c.query(`SELECT current_database()::text`)[0]))
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(*times)*time.Minute+patience)
	defer cancel()
	nodes := []*node{c.start("a", torture.Setup{Database: through, Pooled: true}), c.start("b", torture.Setup{Name: "b", Database: through, Pooled: true})}
	c.awaitShares(nodes...)
	c.setCrew(nodes...)
	load := c.newLoad()
	load.Begin(ctx)
	for n := range *times {
		c.awaitProgress(load, 20)
		b.end()
		time.Sleep(c.moment(lease))
		b.start()
		c.awaitProgress(load, 20)
		nodes[1].Kill()
		nodes[1] = c.start(fmt.Sprint("b", n), torture.Setup{Name: "b", Database: through, Pooled: true})
		c.setCrew(nodes...)
	}
	c.awaitProgress(load, 20)
	c.conclude(load, nodes)
}

// bouncer is a PgBouncer.
type bouncer struct {
	t       *testing.T
	program string
	dir     string
	cmd     *exec.Cmd
}

// newBouncer starts a PgBouncer in front of a server.
func newBouncer(t *testing.T, server *pgtest.Cluster) *bouncer {
	t.Helper()
	b := &bouncer{t: t, program: os.Getenv("PERDURE_PGBOUNCER")}
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		if found, err := exec.LookPath(name); err == nil && b.program == "" {
			b.program = found
		}
	}
	if b.program == "" {
		extent.Missing(t, "There is no PgBouncer: apt-get install pgbouncer, or set PERDURE_PGBOUNCER.")
	}
	b.dir = hostOf(server) // a directory that the server's user may write to
	config := fmt.Sprintf("[databases]\n* = host=%s user=postgres\n[pgbouncer]\nunix_socket_dir = %[1]s\nlisten_port = 6432\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 4\nmax_client_conn = 200\n", b.dir)
	if err := os.WriteFile(filepath.Join(b.dir, "pgbouncer.ini"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	b.start()
	t.Cleanup(b.end)
	return b
}

func (b *bouncer) start() {
	b.t.Helper()
	args := []string{filepath.Join(b.dir, "pgbouncer.ini")}
	if os.Geteuid() == 0 { // which it refuses to be
		args = append([]string{"-u", "postgres"}, args...)
	}
	b.cmd = exec.Command(b.program, args...)
	if err := b.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(glance) {
		c, err := net.Dial("unix", filepath.Join(b.dir, ".s.PGSQL.6432"))
		if err == nil {
			c.Close()
			return
		}
		if time.Now().After(end) {
			b.t.Fatal(err)
		}
	}
}

// end ends it as kill -9 does.
func (b *bouncer) end() {
	if b.cmd == nil {
		return
	}
	_ = b.cmd.Process.Kill()
	_ = b.cmd.Wait()
	b.cmd = nil
	_ = os.Remove(filepath.Join(b.dir, ".s.PGSQL.6432")) // it leaves that
}

func (b *bouncer) dsn(database string) string {
	return fmt.Sprintf("postgres:///%s?host=%s&port=6432&user=postgres&sslmode=disable", database, b.dir)
}
