package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// patience is how long a server may take to start: a slow machine is not a bug.
const patience = time.Minute

// Cluster is a server with its files.
type Cluster struct {
	bin      string
	dir      string // of the socket, the log and the data
	settings []string
	parent   string // of dir, empty for the usual one

	server    *exec.Cmd
	ended     chan struct{} // closed when the server is gone
	dismiss   func() error  // lets the undertaker go
	databases atomic.Int64
}

// New makes the files of a server and starts it, for who closes it; tests have Start.
func New(options ...Option) (*Cluster, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	c := &Cluster{bin: bin, settings: quick()}
	for _, option := range options {
		option(c)
	}
	if err := c.settle(); err != nil {
		return nil, err
	}
	if err = c.initialize(); err == nil {
		err = c.start()
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// settle makes the directory of a server, which the undertaker removes.
func (c *Cluster) settle() (err error) {
	if c.dir, err = place(c.parent); err != nil {
		return err
	}
	if c.dismiss, err = undertaker(c.dir); err != nil {
		os.RemoveAll(c.dir)
	}
	return err
}

// place makes a directory that the server's user can enter. Where nobody says where, its name
// is short enough for a Unix socket, of which systems allow about a hundred bytes.
func place(parent string) (string, error) {
	if parent == "" {
		if parent = os.TempDir(); len(parent) > 60 {
			parent = "/tmp"
		}
	}
	dir, err := os.MkdirTemp(parent, "perdure-pg-")
	if err == nil {
		err = errors.Join(os.Chmod(dir, 0o755), give(dir))
	}
	return dir, err
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }
func (c *Cluster) log() string  { return filepath.Join(c.dir, "log") }

// start starts the server on the files there are and waits until it answers.
func (c *Cluster) start() error {
	log, err := os.OpenFile(c.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{"-D", c.data(), "-k", c.dir, "-c", "listen_addresses="}
	for _, setting := range c.settings {
		args = append(args, "-c", setting)
	}
	server := exec.Command(filepath.Join(c.bin, "postgres"), args...)
	server.Stdout, server.Stderr = log, log
	ended, err := launch(server)
	if err != nil {
		return err
	}
	c.server, c.ended = server, ended
	return c.await()
}

// launch starts a command that ends with us, and tells when it has ended.
func launch(cmd *exec.Cmd) (ended chan struct{}, err error) {
	if err := prepare(cmd); err != nil {
		return nil, err
	}
	begun, ended := make(chan error), make(chan struct{})
	go func() {
		// The kernel's signal comes when the thread dies that started the command, so
		// that thread is kept for as long as the command runs. Any other goroutine may
		// end with its thread.
		runtime.LockOSThread()
		err := cmd.Start()
		begun <- err
		if err == nil {
			_ = cmd.Wait() // the state of the process tells
		}
		close(ended)
	}()
	return ended, <-begun
}

// await waits until the server answers.
func (c *Cluster) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, c.DSN("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server does not answer: %w\n%s", err, lastWords(c.log()))
		case <-c.ended:
			return fmt.Errorf("the server ended: %w\n%s", err, lastWords(c.log()))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// lastWords is the end of a log.
func lastWords(log string) string {
	text, err := os.ReadFile(log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-40):], "\n")
}

// stop ends the server with a signal and waits until it is gone: SIGQUIT is what
// "pg_ctl stop -m immediate" sends, a crash; SIGINT lets it end in order.
func (c *Cluster) stop(signal syscall.Signal) error {
	if c.server == nil {
		return nil
	}
	if err := c.server.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-c.ended:
		c.server = nil
		return nil
	case <-time.After(patience):
		return fmt.Errorf("the server did not end after %s\n%s", signal, lastWords(c.log()))
	}
}

// undertaker starts a shell that waits until it is dismissed, or this process is gone,
// however it went. It ends the servers whose data are in a directory, if they still run, and
// removes that.
func undertaker(dir string) (dismiss func() error, err error) {
	shell := exec.Command("/bin/sh", "-c", `read -r _
		for pid in "$1"/data*/postmaster.pid; do
			while server=$(head -n 1 "$pid" 2>/dev/null) && kill -QUIT "$server" 2>/dev/null; do sleep 0.1; done
		done
		rm -rf "$1"`, "undertaker of "+dir, dir)
	vigil, err := shell.StdinPipe()
	if err == nil {
		err = shell.Start()
	}
	return func() error {
		err := vigil.Close()
		_ = shell.Wait() // what it could not remove stays
		return err
	}, err
}

// Close ends the server and removes its files.
func (c *Cluster) Close() error {
	err := c.stop(syscall.SIGQUIT)
	return errors.Join(err, os.RemoveAll(c.dir), c.dismiss())
}

// DSN is how to connect to a database of the server.
func (c *Cluster) DSN(database string) string {
	return fmt.Sprintf("postgres:///%s?host=%s&user=postgres&sslmode=disable", database, c.dir)
}

// PID is the number of the server's process.
func (c *Cluster) PID() int { return c.server.Process.Pid }

// Socket is the path of the server's Unix socket, for those who put something
// between it and its clients.
func (c *Cluster) Socket() string { return filepath.Join(c.dir, ".s.PGSQL.5432") }

// follow makes a standby of a server, and makes that wait for it.
func (c *Cluster) follow() (*Cluster, error) {
	s := &Cluster{bin: c.bin, settings: c.settings}
	if err := s.settle(); err != nil {
		return nil, err
	}
	_, err := c.run(nil, "pg_basebackup", "--dbname", c.DSN("postgres"), "--pgdata", s.data(), "--write-recovery-conf", "--wal-method", "stream",
		"--checkpoint", "fast", "--no-sync", "--create-slot", "--slot", "standby")
	if err == nil {
		err = s.start()
	}
	for _, sql := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()", "DO $$ BEGIN " +
		"WHILE NOT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync') LOOP PERFORM pg_sleep(0.01); PERFORM pg_stat_clear_snapshot(); END LOOP; END $$"} {
		if err == nil {
			err = c.exec(sql)
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// run runs a program of the server's, as the server's user, and returns what it prints.
func (c *Cluster) run(stdin []byte, program string, args ...string) ([]byte, error) {
	cmd := exec.Command(filepath.Join(c.bin, program), args...)
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &out, &said
	ended, err := launch(cmd)
	if err != nil {
		return nil, err
	}
	if <-ended; !cmd.ProcessState.Success() {
		return nil, fmt.Errorf("%s: %s\n%s", program, cmd.ProcessState, &said)
	}
	return out.Bytes(), nil
}
