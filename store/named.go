package store

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/perdure/perdure/internal/dbname"
)

var kinds struct {
	sync.Mutex
	open map[string]func(name string) (Opener, error)
}

// Register registers a kind of databases for Named: those whose names begin with the kind
// and a colon. open gets the whole name. Packages of stores call it in init; a program
// imports store/sqlite or store/postgres for that effect.
func Register(kind string, open func(name string) (Opener, error)) {
	kinds.Lock()
	defer kinds.Unlock()
	if kinds.open == nil {
		kinds.open = map[string]func(string) (Opener, error){}
	}
	kinds.open[kind] = open
}

// Named returns the Opener of a database by its name: the path of an SQLite file, optionally
// preceded by "sqlite:"; the URL of a PostgreSQL database, optionally with ?schema=NAME; or
// PostgreSQL's keywords, as in "host=db dbname=shop". The program must import the store
// package of the kind. Errors do not contain passwords.
func Named(name string) (Opener, error) {
	kind, _ := dbname.Kind(name)
	kinds.Lock()
	open := kinds.open[kind]
	kinds.Unlock()
	switch {
	case open != nil:
		return open(name)
	case kind == "sqlite", kind == "postgres":
		return nil, fmt.Errorf("the program has no store for %s: import _ \"github.com/perdure/perdure/store/%[1]s\"", kind)
	}
	return nil, dbname.Unknown(name)
}

// Advice returns what to do about an error of Named, in a sentence; "" if the error says it.
func Advice(err error) string {
	wrong, ok := errors.AsType[*dbname.Error](err)
	if !ok {
		return ""
	}
	return strings.ReplaceAll(wrong.Hint, "--db ", "")
}
