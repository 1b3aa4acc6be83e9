package sqlite

import (
	"embed"
	"fmt"

	"github.com/perdure/perdure/internal/migration"
	"github.com/perdure/perdure/store"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations holds the scripts in order; a database of version n has run the first n. A
// released script never changes; new ones are appended.
var migrations = migration.Read(migrationFiles)

// steps returns the statements that lead from a version to that of this program, in order.
// They have no parameters, so that the printed statements are those that run.
func steps(version int64) []store.Script {
	var all []store.Script
	add := func(name, sql string) { all = append(all, store.Script{Name: name, SQL: sql}) }
	if version == 0 {
		add("program", fmt.Sprintf("PRAGMA application_id = %d;", applicationID))
	}
	for n, m := range migrations[version:] {
		add(m.Name, m.SQL)
		add("version", fmt.Sprintf("PRAGMA user_version = %d;", int(version)+n+1))
	}
	if version == 0 {
		add("secret", `INSERT INTO meta (key, value) VALUES ('secret', lower(hex(randomblob(32))));`)
	}
	return all
}

// migrate brings the schema up to date. It runs in the caller's transaction, so that of two
// processes that open a new file only one migrates it.
func migrate(c *conn) error {
	version, _, err := identify(c, "the database")
	if err != nil || version == int64(len(migrations)) {
		return err
	}
	for _, s := range steps(version) {
		if err := c.script(s.SQL); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return nil
}
