package postgres

import (
	"context"
	"embed"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/internal/migration"
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/store"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations holds the scripts in order; a database of version n has run the first n. A
// released script never changes; new ones are appended.
var migrations = migration.Read(migrationFiles)

// identity describes a database.
type identity struct {
	schema     bool // the schema exists
	version    int  // version of perdure's tables, 0 if there are none
	partitions int

	distributed bool // see distributed.go
}

// identify reads whose schema it is. It returns an error for a foreign schema.
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
	var program, version, partitions, spread string
	_, err = c.one(ctx, `SELECT coalesce(max(value) FILTER (WHERE key = 'program'), ''), coalesce(max(value) FILTER (WHERE key = 'version'), ''),
		coalesce(max(value) FILTER (WHERE key = 'partitions'), ''), coalesce(max(value) FILTER (WHERE key = 'distributed'), '') FROM perdure.meta`,
		nil, &program, &version, &partitions, &spread)
	if code(err) == undefinedColumn || err == nil && program != "perdure" {
		return id, alien
	}
	if err != nil {
		return id, err
	}
	if spread != "" && spread != byCitus {
		return id, fmt.Errorf("%s: %w: its tables are distributed by %q, which this program does not know; use a later program", h.info.Location, store.ErrNewer, spread)
	}
	id.distributed = spread == byCitus
	if id.version, err = strconv.Atoi(version); err == nil {
		id.partitions, err = strconv.Atoi(partitions)
	}
	if err != nil {
		return id, fmt.Errorf("%s: the table %s.meta is damaged; restore it from a backup: %w", h.info.Location, h.schema, err)
	}
	if id.version > len(h.scripts) {
		return id, fmt.Errorf("%s: %w: its schema is version %d and this program knows versions up to %d; use a later program %s",
			h.info.Location, store.ErrNewer, id.version, len(h.scripts), see.Schema)
	}
	return id, nil
}

// steps returns the statements that lead from the database's state to this program's version, in order.
// They have no parameters, so that the printed statements are those that run; the server
// generates the secret of a new database.
func (h *handle) steps(id identity, partitions int) []store.Script {
	var all []store.Script
	add := func(name, sql string) { all = append(all, store.Script{Name: name, SQL: h.sql(sql)}) }
	if !id.schema {
		add("schema", `CREATE SCHEMA `+pgx.Identifier{h.schema}.Sanitize()+`;`)
	}
	if id.version == 0 {
		add("meta", `CREATE TABLE perdure.meta (key text COLLATE "C" PRIMARY KEY, value text COLLATE "C" NOT NULL);
COMMENT ON TABLE perdure.meta IS 'Facts about this database, for people and for later versions.';`)
	} else {
		// Of several concurrent migrations one runs first; the others find its version.
		add("lock", `LOCK TABLE perdure.meta IN ACCESS EXCLUSIVE MODE;`)
	}
	for _, m := range h.scripts[id.version:] {
		add(m.Name, m.SQL)
	}
	if id.version == 0 {
		// Two random UUIDs have 244 random bits from the server's strong generator.
		add("facts", fmt.Sprintf(`INSERT INTO perdure.meta (key, value) VALUES ('program', 'perdure'), ('partitions', '%d'),
    ('secret', replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')),
    ('created', to_char(current_timestamp AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'));
INSERT INTO perdure.node_groups (name, first) VALUES ('', 0);
INSERT INTO perdure.partitions (id) SELECT generate_series(0, %d);`, partitions, partitions-1))
	}
	if h.distribute || id.distributed {
		add("distribute", distribution(id))
	}
	add("version", fmt.Sprintf(`INSERT INTO perdure.meta (key, value) VALUES ('version', '%d') ON CONFLICT (key) DO UPDATE SET value = excluded.value;`, len(h.scripts)))
	return all
}

// isDone reports whether the schema needs no change.
func (h *handle) isDone(id identity) bool {
	return id.version == len(h.scripts) && (id.distributed || !h.distribute)
}

// migrate brings the schema up to date in the caller's transaction. Of several concurrent
// migrations, all but one wait at the first statement that concerns the same object. They
// then either find the work done, or fail because of what exists now and start over.
func (c *conn) migrate(ctx context.Context, partitions int) error {
	id, err := c.identify(ctx)
	if err != nil {
		return err
	}
	if id.version > 0 {
		if err := c.script(ctx, `LOCK TABLE perdure.meta IN ACCESS EXCLUSIVE MODE`); err != nil {
			return err
		}
		if id, err = c.identify(ctx); err != nil || c.h.isDone(id) { // another one may have been faster
			return err
		}
	}
	return c.take(ctx, c.h.steps(id, partitions))
}

// take runs scripts statement by statement, because Citus forwards the complete text of a
// statement that changes a table.
func (c *conn) take(ctx context.Context, scripts []store.Script) error {
	for _, s := range scripts {
		for _, statement := range migration.Statements(s.SQL) {
			if err := c.script(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w", s.Name, err)
			}
		}
	}
	return nil
}

// Grants returns the statements that allow a role to run engines on a schema, but not to
// change tables. They also cover the tables of later migrations, if the same role runs
// these. The user who runs the statements must own the schema.
func Grants(schema, role string) store.Script {
	in, to := ` IN SCHEMA `+pgx.Identifier{schema}.Sanitize(), ` TO `+pgx.Identifier{role}.Sanitize()+`;`
	sql := `GRANT USAGE ON SCHEMA ` + pgx.Identifier{schema}.Sanitize() + to
	for _, g := range []struct{ rights, on string }{{`SELECT, INSERT, UPDATE, DELETE`, `TABLES`}, {`USAGE, SELECT`, `SEQUENCES`}, {`EXECUTE`, `FUNCTIONS`}} {
		sql += "\nGRANT " + g.rights + ` ON ALL ` + g.on + in + to
		sql += "\nALTER DEFAULT PRIVILEGES" + in + ` GRANT ` + g.rights + ` ON ` + g.on + to
	}
	return store.Script{Name: "grants", SQL: sql}
}
