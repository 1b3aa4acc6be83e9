package sqlite

import (
	"crypto/rand"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations holds the scripts in order; a database of version n has run the
// first n. They are never changed once released, only added to.
var migrations = readMigrations()

type migration struct{ name, script string }

func readMigrations() []migration {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		panic(err)
	}
	var list []migration
	for i, name := range names { // Glob sorts
		var number int
		if _, err := fmt.Sscanf(name, "migrations/%04d_", &number); err != nil || number != i+1 {
			panic(fmt.Sprintf("%s is not migration number %d", name, i+1))
		}
		script, err := migrationFiles.ReadFile(name)
		if err != nil {
			panic(err)
		}
		list = append(list, migration{name, string(script)})
	}
	return list
}

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
		if err := c.script(m.script); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		if err := c.script(fmt.Sprintf("PRAGMA user_version = %d", int(version)+n+1)); err != nil {
			return err
		}
	}
	if version > 0 {
		return nil
	}
	_, err = c.exec(`INSERT INTO meta (key, value) VALUES ('secret', ?)`, newSecret())
	return err
}

// newSecret makes what tokens of a new database are signed with.
func newSecret() string {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	return hex.EncodeToString(secret)
}
