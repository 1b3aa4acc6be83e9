package postgres

import (
	"context"
	"embed"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/internal/migration"
	"github.com/perdure/perdure/store"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations holds the scripts in order; a database of version n has run the
// first n. They are never changed once released, only added to.
var migrations = migration.Read(migrationFiles)

// identity is what a database says of itself.
type identity struct {
	schema     bool // the schema exists
	version    int  // of our tables, 0 if there are none
	partitions int
}

// identify reads whose schema it is. It returns an error for one that we must
// not touch.
func (c *conn) identify(ctx context.Context) (identity, error) {
	h := c.h
	var id identity
	var meta bool
	var tables int
	_, err := c.one(ctx, `SELECT n.oid IS NOT NULL, c.oid IS NOT NULL, (SELECT count(*) FROM pg_class WHERE relnamespace = n.oid)
		FROM (SELECT $1::text AS name) s LEFT JOIN pg_namespace n ON n.nspname = s.name
		LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = 'meta' AND c.relkind IN ('r', 'p')`, []any{h.schema}, &id.schema, &meta, &tables)
	if err != nil || tables == 0 {
		return id, err
	}
	alien := fmt.Errorf("%s: %w: the schema %q belongs to another program; give perdure one of its own (postgres.Schema)", h.info.Location, store.ErrForeign, h.schema)
	if !meta {
		return id, alien
	}
	var program, version, partitions string
	_, err = c.one(ctx, `SELECT coalesce(max(value) FILTER (WHERE key = 'program'), ''), coalesce(max(value) FILTER (WHERE key = 'version'), ''),
		coalesce(max(value) FILTER (WHERE key = 'partitions'), '') FROM perdure.meta`, nil, &program, &version, &partitions)
	if code(err) == undefinedColumn || err == nil && program != "perdure" {
		return id, alien
	}
	if err != nil {
		return id, err
	}
	if id.version, err = strconv.Atoi(version); err == nil {
		id.partitions, err = strconv.Atoi(partitions)
	}
	if err != nil {
		return id, fmt.Errorf("%s: the table %s.meta is damaged; restore it from a backup: %w", h.info.Location, h.schema, err)
	}
	if id.version > len(migrations) {
		return id, fmt.Errorf("%s: %w: its schema is version %d and this program knows versions up to %d; use a later program",
			h.info.Location, store.ErrNewer, id.version, len(migrations))
	}
	return id, nil
}

// migrate brings the schema up to date, in the transaction it is called in. Of
// several that do so at a time, all but one wait at the first statement that
// concerns the same object, and then either find the work done or fail because
// of what exists now, and begin again.
func (c *conn) migrate(ctx context.Context, partitions int) error {
	id, err := c.identify(ctx)
	if err != nil {
		return err
	}
	switch {
	case id.version > 0:
		if err = c.script(ctx, `LOCK TABLE perdure.meta IN ACCESS EXCLUSIVE MODE`); err == nil {
			id, err = c.identify(ctx) // somebody may have been faster
		}
	case !id.schema:
		err = c.script(ctx, `CREATE SCHEMA `+pgx.Identifier{c.h.schema}.Sanitize())
	}
	if err != nil {
		return err
	}
	if id.version == 0 {
		err := c.script(ctx, `CREATE TABLE perdure.meta (key text COLLATE "C" PRIMARY KEY, value text COLLATE "C" NOT NULL);
			COMMENT ON TABLE perdure.meta IS 'Facts about this database, for people and for later versions.'`)
		if err != nil {
			return err
		}
	}
	for _, m := range migrations[id.version:] {
		if err := c.script(ctx, m.SQL); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	if id.version == 0 {
		if err := c.populate(ctx, partitions); err != nil {
			return err
		}
	}
	_, err = c.exec(ctx, `INSERT INTO perdure.meta (key, value) VALUES ('version', $1)
		ON CONFLICT (key) DO UPDATE SET value = excluded.value`, strconv.Itoa(len(migrations)))
	return err
}

// populate writes what a new database holds: who made it, what its tokens are
// signed with, and the group "".
func (c *conn) populate(ctx context.Context, partitions int) error {
	_, err := c.exec(ctx, `INSERT INTO perdure.meta (key, value) VALUES ('program', 'perdure'), ('partitions', $1), ('secret', $2),
		('created', to_char(current_timestamp AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))`, strconv.Itoa(partitions), migration.NewSecret())
	if err == nil {
		_, err = c.addGroup(ctx, "", partitions)
	}
	return err
}
