package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/see"
)

// ErrOlder means that the schema of a database is missing or older than this program
// needs, and that it may not be migrated here. See SchemaError.
var ErrOlder = errors.New("the schema of the database is not up to date")

// Migrator is an Opener of a database whose schema has versions. sqlite.File,
// postgres.URL and postgres.Pool return one. Its Open brings the schema up to date.
type Migrator interface {
	Opener

	// Schema compares the schema of the database with the one that this program uses. It
	// changes and creates nothing. It returns ErrForeign for a database of another program and
	// ErrNewer for one of a newer version, as Open does.
	Schema(ctx context.Context) (Schema, error)

	// AsIs returns an Opener of the same database that does not change its schema. Where this
	// Opener would, the Open of that one returns a *SchemaError.
	AsIs() Opener
}

// Schema compares the schema of a database with the one that a program uses.
type Schema struct {
	Location string // file path or host and database, without credentials
	Version  int    // of the database; 0 if it has no schema of perdure
	Wanted   int    // by this program
	// Due is what Open would run, in order and in one transaction; empty if the schema is up to
	// date.
	Due []Script
}

// Script is the SQL text of one step of a schema.
type Script struct {
	Name string // such as migrations/0002_ledger.sql
	SQL  string // statements that end with semicolons, without parameters
}

// AsIs returns an Opener of the same database that changes no schema. It returns o itself if o
// is no Migrator, because then there is no schema to change.
func AsIs(o Opener) Opener {
	if m, ok := o.(Migrator); ok {
		return m.AsIs()
	}
	return o
}

// SchemaError reports that a database does not have the schema version that this program
// needs, and that the program may not change it: it was told not to (see AsIs), or lacks the
// right. errors.Is finds ErrOlder.
type SchemaError struct {
	Location string
	Version  int   // of the database; 0 if it has no schema of perdure
	Wanted   int   // by this program
	Err      error `json:"-"` // of the database when it refused the change; nil if none was attempted
}

func (e *SchemaError) Error() string {
	return e.Text() + "; let a user who may change it run perdure migrate, or what perdure migrate --print prints " + see.Schema
}

// Text returns the error without the advice.
func (e *SchemaError) Text() string {
	text := fmt.Sprintf("%s: its schema is version %d and this program needs version %d", e.Location, e.Version, e.Wanted)
	if e.Version == 0 {
		text = e.Location + ": it has no schema of perdure yet"
	}
	if e.Err != nil {
		text += ", and this user lacks the right to change it: " + e.Err.Error()
	}
	return text
}

// Unwrap returns ErrOlder, and the error of the database if there is one.
func (e *SchemaError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrOlder}
	}
	return []error{ErrOlder, e.Err}
}
