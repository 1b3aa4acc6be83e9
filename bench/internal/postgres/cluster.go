package postgres

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Settings are what differs from PostgreSQL's defaults. None of them weakens
// durability: there is room for the connections of all systems, and checkpoints
// come by size of the log at such a distance that their moment decides little.
var Settings = []string{
	"listen_addresses=",
	"max_connections=400",
	"shared_buffers=512MB",
	"max_wal_size=8GB",
}

// Cluster is a running server.
type Cluster struct {
	dir   string
	cmd   *exec.Cmd
	ended chan struct{} // closed when the server has
	admin *pgxpool.Pool // on the database postgres
}

// Start initialises a cluster in a new directory below dir and starts it. The
// server dies with this process, however that ends.
func Start(ctx context.Context, dir string) (*Cluster, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	user, err := serverUser()
	if err != nil {
		return nil, err
	}
	c := &Cluster{ended: make(chan struct{})}
	if c.dir, err = os.MkdirTemp(dir, "postgres-"); err != nil {
		return nil, err
	}
	if err := user.own(c.dir, dir); err != nil {
		return nil, err
	}
	data := filepath.Join(c.dir, "data")
	initdb := user.command(filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-instructions")
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	args := []string{"-D", data, "-k", c.dir}
	for _, s := range Settings {
		args = append(args, "-c", s)
	}
	c.cmd = user.command(filepath.Join(bin, "postgres"), args...)
	log, err := os.Create(c.log())
	if err != nil {
		return nil, err
	}
	defer log.Close()
	c.cmd.Stderr = log
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(c.ended)
		_ = c.cmd.Wait()
	}()
	if err := c.connect(ctx); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) log() string { return filepath.Join(c.dir, "log") }

// connect waits until the server answers.
func (c *Cluster) connect(ctx context.Context) error {
	pool, err := pgxpool.New(ctx, c.URL("postgres"))
	if err != nil {
		return err
	}
	c.admin = pool
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		err := pool.Ping(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-c.ended:
			messages, _ := os.ReadFile(c.log())
			return fmt.Errorf("the PostgreSQL server ended at once:\n%s", messages)
		case <-ctx.Done():
			return fmt.Errorf("the PostgreSQL server did not answer within 30 s: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// URL names a database of the cluster.
func (c *Cluster) URL(database string) string {
	return "postgres://postgres@/" + database + "?" + url.Values{"host": {c.dir}, "sslmode": {"disable"}}.Encode()
}

// Create makes an empty database.
func (c *Cluster) Create(ctx context.Context, name string) error {
	_, err := c.admin.Exec(ctx, `CREATE DATABASE `+name+` TEMPLATE template0`)
	return err
}

// Drop deletes a database and ends whoever is connected to it.
func (c *Cluster) Drop(ctx context.Context, name string) error {
	_, err := c.admin.Exec(ctx, `DROP DATABASE `+name+` WITH (FORCE)`)
	return err
}

// Stop ends the server.
func (c *Cluster) Stop() {
	if c.admin != nil {
		c.admin.Close()
	}
	_ = c.cmd.Process.Signal(syscall.SIGINT) // fast shutdown; if it is dead already, good
	select {
	case <-c.ended:
	case <-time.After(30 * time.Second):
		_ = c.cmd.Process.Signal(syscall.SIGQUIT)
		<-c.ended
	}
}
