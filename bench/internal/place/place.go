package place

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/perdure/perdure/bench/internal/postgres"
)

// Kind is a kind of database.
type Kind string

// The kinds.
const (
	Memory   Kind = "memory"
	SQLite   Kind = "sqlite"
	Postgres Kind = "postgres"
)

// Kinds lists all kinds.
var Kinds = []Kind{SQLite, Postgres, Memory}

// Database is one database that nobody else uses.
type Database interface {
	// Location is the path or URL; "" if it is in this process.
	Location() string
	// Cost reads what the database has cost so far; of the difference of two
	// readings in between is told.
	Cost(ctx context.Context) (Cost, error)
	// Commits counts transactions so far; false if the database does not know.
	// All sessions must be closed: servers count late.
	Commits(ctx context.Context) (int64, bool, error)
	// Size is what its tables and indexes occupy, in bytes.
	Size(ctx context.Context) (int64, error)
	// Tables describes its tables, the largest first.
	Tables(ctx context.Context) ([]Table, error)
	// Drop deletes it.
	Drop(ctx context.Context) error
}

// Cost is what has been spent on a database outside of the memory and CPU of
// this process.
type Cost struct {
	Server  time.Duration // CPU time of the database's own processes
	Written int64         // bytes: of this process to files, or of the server to its log
}

// Table is a table with its indexes.
type Table = postgres.Table

// Places makes databases below one directory, on a cluster of its own.
type Places struct {
	dir string

	mu      sync.Mutex
	cluster *postgres.Cluster // started when first needed
	made    int
}

// New returns Places in a new directory below dir, which must be on a disk.
func New(dir string) (*Places, error) {
	if err := onDisk(dir); err != nil {
		return nil, err
	}
	own, err := os.MkdirTemp(dir, "perdure-bench-")
	if err == nil {
		err = os.Chmod(own, 0o711) // the user who runs the server in place of root passes through
	}
	return &Places{dir: own}, err
}

// Dir is the directory in which everything is.
func (p *Places) Dir() string { return p.dir }

// Fresh makes an empty database.
func (p *Places) Fresh(ctx context.Context, kind Kind) (Database, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made++
	switch kind {
	case Memory:
		return newMemory(), nil
	case SQLite:
		dir := filepath.Join(p.dir, fmt.Sprintf("sqlite-%d", p.made))
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
		return &SQLiteFile{path: filepath.Join(dir, "bench.db")}, nil
	case Postgres:
		cluster, err := p.server(ctx)
		if err != nil {
			return nil, err
		}
		return newPostgres(ctx, cluster, fmt.Sprintf("bench_%d", p.made))
	}
	return nil, fmt.Errorf("no kind of database is called %q", kind)
}

// At returns a database that another process has made. It cannot tell what the
// database costs.
func At(kind Kind, location string) (Database, error) {
	switch kind {
	case SQLite:
		return &SQLiteFile{path: location}, nil
	case Postgres:
		return &PostgresDatabase{url: location}, nil
	}
	return nil, fmt.Errorf("a database of kind %q belongs to one process", kind)
}

// Server returns the PostgreSQL cluster, started if it was not.
func (p *Places) Server(ctx context.Context) (*postgres.Cluster, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.server(ctx)
}

func (p *Places) server(ctx context.Context) (*postgres.Cluster, error) {
	if p.cluster != nil {
		return p.cluster, nil
	}
	var err error
	p.cluster, err = postgres.Start(ctx, p.dir)
	return p.cluster, err
}

// Close stops the cluster and deletes everything.
func (p *Places) Close() (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cluster != nil {
		err = p.cluster.Stop()
	}
	return errors.Join(err, os.RemoveAll(p.dir))
}
