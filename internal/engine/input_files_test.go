//go:build !race || databases

package engine_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/sqlite"
)

// TestI13_DatabasesAreRefused: files that are none, belong to somebody else, come
// from the future, or cannot be written.
func TestI13_DatabasesAreRefused(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	open := func(path string) error {
		e, err := perdure.Open(t.Context(), sqlite.File(path))
		if err == nil {
			err = errors.New("it was opened")
			e.Close()
		}
		return err
	}
	text := path("text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("Dear diary, ", 1000)), 0o644); err != nil {
		t.Fatal(err)
	}
	err := open(text)
	contains(t, "a text file", err, "perdure.Open: "+text+": the database is not a perdure database")
	if !errors.Is(err, perdure.ErrForeign) {
		t.Error("it is not ErrForeign")
	}

	foreign := path("foreign.db")
	sqlExec(t, foreign, "CREATE TABLE albums (title TEXT)")
	err = open(foreign)
	sameText(t, err, "perdure.Open: "+foreign+": the database is not a perdure database: it is an SQLite file of another program")

	ours := path("ours.db")
	e, err := perdure.Open(t.Context(), sqlite.File(ours))
	if err != nil {
		t.Fatal(err)
	}
	e.Close()
	sqlExec(t, ours, "PRAGMA user_version = 999")
	err = open(ours)
	contains(t, "a newer file", err, "perdure.Open: "+ours+": the database is newer than this program: its schema is version 999")
	if !errors.Is(err, perdure.ErrNewer) {
		t.Error("it is not ErrNewer")
	}

	err = open(filepath.Join(dir, "missing", "x.db"))
	contains(t, "no directory", err, "cannot be created: its directory does not exist; create that first")
	err = open(dir)
	contains(t, "a directory", err, "is a directory: name a file in it")
	err = open("")
	contains(t, "no path", err, `"" is not a file path: name a file, or use the memory store`)

	for _, file := range []string{text, foreign} {
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_ = open(file)
		if after, _ := os.ReadFile(file); string(after) != string(before) {
			t.Errorf("%s was changed", file)
		}
	}
}

// sqlExec changes a database file with SQL.
func sqlExec(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}
