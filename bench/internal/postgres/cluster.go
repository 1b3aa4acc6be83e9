package postgres

import (
	"context"
	"errors"
	"syscall"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/internal/pgtest"
)

// Settings are what differs from PostgreSQL's defaults. None of them weakens
// durability: there is room for the connections of all systems, and checkpoints
// come by size of the log at such a distance that their moment decides little.
var Settings = []string{
	"max_connections=400",
	"shared_buffers=512MB",
	"max_wal_size=8GB",
}

// Cluster is a running server.
type Cluster struct {
	server *pgtest.Cluster
	admin  *pgxpool.Pool // on the database postgres
}

// Start initialises a cluster in a new directory below dir and starts it. The
// server dies with this process, however that ends.
func Start(ctx context.Context, dir string) (*Cluster, error) {
	server, err := pgtest.New(pgtest.In(dir), pgtest.Only(Settings...))
	if err != nil {
		return nil, err
	}
	syscall.Sync() // nobody who is measured waits for the files of the server to be on the disk
	admin, err := pgxpool.New(ctx, server.DSN("postgres"))
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return &Cluster{server, admin}, nil
}

// URL names a database of the cluster.
func (c *Cluster) URL(database string) string { return c.server.DSN(database) }

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

// Stop ends the server and deletes its files.
func (c *Cluster) Stop() error {
	c.admin.Close()
	return c.server.Close()
}
