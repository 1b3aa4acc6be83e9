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

// steps returns the statements that lead from a version to the one after all scripts, in
// order. They have no parameters, so that the printed statements are those that run.
func steps(scripts []migration.Script, version int64) []store.Script {
	var all []store.Script
	add := func(name, sql string) { all = append(all, store.Script{Name: name, SQL: sql}) }
	if version == 0 {
		add("program", fmt.Sprintf("PRAGMA application_id = %d;", applicationID))
	}
	for n, m := range scripts[version:] {
		add(m.Name, m.SQL)
		add("version", fmt.Sprintf("PRAGMA user_version = %d;", int(version)+n+1))
	}
	if version == 0 {
		add("secret", `INSERT INTO meta (key, value) VALUES ('secret', lower(hex(randomblob(32))));`)
	}
	return all
}

// migrate brings the schema to the version after all scripts. It runs in the caller's transaction, so that of two
// processes that open a new file only one migrates it.
func migrate(c *conn, scripts []migration.Script) error {
	version, _, err := identify(c, "the database", len(scripts))
	if err != nil || version == int64(len(scripts)) {
		return err
	}
	for _, s := range steps(scripts, version) {
		if err := c.script(s.SQL); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return nil
}
