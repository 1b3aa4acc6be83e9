package place

import (
	"context"

	"github.com/perdure/perdure/bench/internal/postgres"
)

// PostgresDatabase is a database of the cluster.
type PostgresDatabase struct {
	url     string
	cluster *postgres.Cluster // nil if it is another process's
	name    string
}

func newPostgres(ctx context.Context, c *postgres.Cluster, name string) (*PostgresDatabase, error) {
	if err := c.Create(ctx, name); err != nil {
		return nil, err
	}
	return &PostgresDatabase{c.URL(name), c, name}, nil
}

// Location is the URL of the database.
func (d *PostgresDatabase) Location() string { return d.url }

// Cost tells the CPU time of all processes of the server, and the log it wrote.
func (d *PostgresDatabase) Cost(ctx context.Context) (Cost, error) {
	cpu, err := d.cluster.CPU()
	if err != nil {
		return Cost{}, err
	}
	wal, err := d.cluster.WAL(ctx)
	return Cost{Server: cpu, Written: wal}, err
}

// Commits waits until nobody is connected, because a connection reports its
// transactions at its end, and asks the server's statistics.
func (d *PostgresDatabase) Commits(ctx context.Context) (int64, bool, error) {
	n, err := d.cluster.Commits(ctx, d.name)
	return n, true, err
}

// Size is that of tables and indexes, without the catalogs.
func (d *PostgresDatabase) Size(ctx context.Context) (int64, error) {
	tables, err := d.Tables(ctx)
	var sum int64
	for _, t := range tables {
		sum += t.Bytes
	}
	return sum, err
}

// Tables asks the server's statistics.
func (d *PostgresDatabase) Tables(ctx context.Context) ([]Table, error) {
	return d.cluster.Tables(ctx, d.name)
}

// Drop deletes the database.
func (d *PostgresDatabase) Drop(ctx context.Context) error { return d.cluster.Drop(ctx, d.name) }
