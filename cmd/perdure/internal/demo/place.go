package demo

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/perdure/perdure/cmd/perdure/internal/database"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
)

// A demo keeps its runs in a file of its directory, or on a PostgreSQL server in a
// schema that no other demo uses: its orders have the same names each time, and
// what belongs to others is not touched.

// schemaPrefix is how the names of such schemas begin.
const schemaPrefix = "perdure_demo_"

// settle chooses where in the database a new demo is kept.
func (s *state) settle(db database.Name) {
	if !db.Shared() {
		return
	}
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	s.Server, s.Schema = db.String(), schemaPrefix+hex.EncodeToString(random[:])
}

// sameDatabase refuses to go on in another database than the demo was begun in.
func (d directory) sameDatabase(s *state, db database.Name) error {
	server := ""
	if db.Shared() {
		server = db.String()
	}
	if s.Server == server {
		return nil
	}
	e := &DirectoryError{
		What: fmt.Sprintf("The demo in %s was begun in an SQLite file there.", d),
		Hint: "Go on with that (without --db), begin anew with --fresh, or name another directory with --dir.",
	}
	if s.Server != "" {
		e.What = fmt.Sprintf("The demo in %s was begun in the database %s.", d, s.Server)
		e.Hint = fmt.Sprintf("Go on with that (--db %s), begin anew with --fresh, or name another directory with --dir.", term.Quote(s.Server))
	}
	return e
}

// place is the database that the demo is kept in.
func (d directory) place(s *state, db database.Name) database.Name {
	if db.Shared() {
		return db.InSchema(s.Schema)
	}
	return database.File(d.database())
}

// stillThere refuses to go on if somebody has removed what was done so far: a new
// database knows nothing of it, and would be blamed for that.
func (d *demo) stillThere(ctx context.Context) error {
	if d.state.Active == 0 {
		return nil
	}
	err := d.database.Find(ctx, "")
	if gone, ok := errors.AsType[*database.Error](err); ok {
		return &DirectoryError{
			What: fmt.Sprintf("What the demo in %s has done so far is not there any more. %s", d.dir, gone.What),
			Hint: "Begin anew with --fresh.",
		}
	}
	return err
}

// dropping is how to remove a schema of a demo.
func dropping(server, schema string) string {
	return fmt.Sprintf("psql %s -c 'DROP SCHEMA %s CASCADE'", term.Quote(server), schema)
}
