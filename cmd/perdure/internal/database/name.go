package database

import (
	"github.com/perdure/perdure/internal/dbname"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/postgres"
	"github.com/perdure/perdure/store/sqlite"
)

// Name names a database.
type Name struct {
	file string
	url  *dbname.Address // nil for an SQLite file
}

// NameError says that a text names no database.
type NameError = dbname.Error

// Parse reads a name: FILE, sqlite:FILE, postgres://USER@HOST:PORT/DATABASE, to which
// ?schema=NAME and ?pooled=true may be added, or PostgreSQL's keywords. Its error is a *NameError.
func Parse(text string) (Name, error) {
	switch kind, rest := dbname.Kind(text); kind {
	case "sqlite":
		if rest == text {
			return File(text), nil
		}
		path, err := dbname.File(text)
		return File(path), err
	case "postgres":
		a, err := dbname.Server(text)
		if err != nil {
			return Name{}, err
		}
		if _, err := store.Named(a.Text(true)); err != nil { // the driver says what else is wrong
			return Name{}, err
		}
		return Name{url: a}, nil
	}
	return Name{}, dbname.Unknown(text)
}

// File is the name of an SQLite file.
func File(path string) Name { return Name{file: path} }

// Shared reports whether several engines can serve the database at a time.
func (n Name) Shared() bool { return n.url != nil }

// String is the name as one would write it for --db, without the password.
func (n Name) String() string {
	if n.Shared() {
		return n.url.Text(false)
	}
	return n.file
}

// Secret is the name with the password, for another process of ours.
func (n Name) Secret() string {
	if n.Shared() {
		return n.url.Text(true)
	}
	return "sqlite:" + n.file
}

// HidesPassword reports whether String leaves a password out.
func (n Name) HidesPassword() bool { return n.Shared() && n.String() != n.Secret() }

// Schema is the schema that a URL names, empty for the usual one.
func (n Name) Schema() string {
	if n.Shared() {
		return n.url.Schema
	}
	return ""
}

// InSchema is the database in another schema of the same PostgreSQL database.
func (n Name) InSchema(schema string) Name {
	a := *n.url
	a.Schema = schema
	return Name{url: &a}
}

// Opener opens the database, and creates it if need be.
func (n Name) Opener() store.Opener { return n.Migrator(0, false) }

// Migrator is Opener for those who ask for its schema. A new database on a PostgreSQL
// server has so many partitions, the usual number if 0, and may have to be distributed.
func (n Name) Migrator(partitions int, distribute bool) store.Migrator {
	if !n.Shared() {
		return sqlite.File(n.file).(store.Migrator)
	}
	options := []postgres.Option{postgres.Schema(n.url.Tables())}
	if n.url.Pooled {
		options = append(options, postgres.Pooled())
	}
	if partitions != 0 {
		options = append(options, postgres.Partitions(partitions))
	}
	if distribute {
		options = append(options, postgres.Distributed())
	}
	return postgres.URL(n.url.DSN(true), options...).(store.Migrator)
}

// Grants returns the statements that let a role run engines on the schema of a database
// on a PostgreSQL server.
func (n Name) Grants(role string) store.Script { return postgres.Grants(n.url.Tables(), role) }
