package sqlite

import (
	"embed"
	"fmt"

	"github.com/perdure/perdure/internal/migration"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations holds the scripts in order; a database of version n has run the
// first n. They are never changed once released, only added to.
var migrations = migration.Read(migrationFiles)

// migrate brings the schema up to date, in the transaction it is called in, so
// that two processes that open a new file do it once.
func migrate(c *conn) error {
	version, empty, err := identify(c, "the database")
	if err != nil {
		return err
	}
	if empty {
		if err := c.script(fmt.Sprintf("PRAGMA application_id = %d", applicationID)); err != nil {
			return err
		}
	}
	for n, m := range migrations[version:] {
		if err := c.script(m.SQL); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		if err := c.script(fmt.Sprintf("PRAGMA user_version = %d", int(version)+n+1)); err != nil {
			return err
		}
	}
	if version > 0 {
		return nil
	}
	_, err = c.exec(`INSERT INTO meta (key, value) VALUES ('secret', ?)`, migration.NewSecret())
	return err
}
