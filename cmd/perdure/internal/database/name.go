package database

import (
	"regexp"
	"strings"

	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/postgres"
	"github.com/perdure/perdure/store/sqlite"
)

// Name names a database.
type Name struct {
	file string
	url  *address // nil for an SQLite file
}

// NameError says that a text names no database.
type NameError struct {
	Name string // without a password
	Why  string
	Hint string // what to do
}

func (e *NameError) Error() string { return e.Name + ": " + e.Why }

// scheme is how a database begins that names its kind. One letter is the drive of
// a path on Windows.
var scheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]+):`)

// Parse reads a name: FILE, sqlite:FILE, or postgres://USER@HOST:PORT/DATABASE, to
// which ?schema=NAME may be added. Its error is a *NameError.
func Parse(text string) (Name, error) {
	kind, rest := "", text
	if m := scheme.FindStringSubmatch(text); m != nil {
		kind, rest = m[1], text[len(m[0]):]
	}
	switch strings.ToLower(kind) {
	case "":
		return File(text), nil
	case "sqlite":
		return parseFile(text, rest)
	case "postgres", "postgresql":
		return parseURL(kind, rest)
	}
	return Name{}, &NameError{
		Name: withoutUser(text), Why: `"` + kind + `" is not a kind of database that perdure knows.`,
		Hint: "Use --db sqlite:FILE or --db postgres://USER@HOST/DATABASE; or ./" + withoutUser(text) + " if that is the name of a file.",
	}
}

func parseFile(text, path string) (Name, error) {
	switch {
	case path == "":
		return Name{}, &NameError{
			Name: `"` + text + `"`, Why: "the name of the file is missing.",
			Hint: "Use --db sqlite:FILE, for instance --db sqlite:perdure.db",
		}
	case strings.HasPrefix(path, "//"):
		return Name{}, &NameError{
			Name: text, Why: "a file is not named by a URL.",
			Hint: "Write sqlite: and the path as it is, for instance sqlite:perdure.db or sqlite:/var/lib/perdure.db",
		}
	}
	return File(path), nil
}

// withoutUser hides the user, and with it the password, in what is no URL of ours.
func withoutUser(s string) string {
	return regexp.MustCompile(`://[^@]*@`).ReplaceAllString(s, "://...@")
}

// File is the name of an SQLite file.
func File(path string) Name { return Name{file: path} }

// Shared reports whether several engines can serve the database at a time.
func (n Name) Shared() bool { return n.url != nil }

// String is the name as one would write it for --db, without the password.
func (n Name) String() string {
	if n.Shared() {
		return n.url.text(false)
	}
	return n.file
}

// Secret is the name with the password, for another process of ours.
func (n Name) Secret() string {
	if n.Shared() {
		return n.url.text(true)
	}
	return "sqlite:" + n.file
}

// HidesPassword reports whether String leaves a password out.
func (n Name) HidesPassword() bool { return n.Shared() && n.String() != n.Secret() }

// Schema is the schema that a URL names, empty for the usual one.
func (n Name) Schema() string {
	if n.Shared() {
		return n.url.schema
	}
	return ""
}

// InSchema is the database in another schema of the same PostgreSQL database.
func (n Name) InSchema(schema string) Name {
	a := *n.url
	a.schema = schema
	return Name{url: &a}
}

// Opener opens the database, and creates it if need be.
func (n Name) Opener() store.Opener {
	if !n.Shared() {
		return sqlite.File(n.file)
	}
	return postgres.URL(n.url.dsn(true), postgres.Schema(n.url.tables()))
}
