package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"regexp"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/demo"
	"github.com/perdure/perdure/store/sqlite"
)

const (
	defaultDatabase = "perdure.db"
	databaseVar     = "PERDURE_DB"
)

// scheme is how a database begins that names its kind. One letter is the drive of
// a path on Windows.
var scheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]+):`)

// databasePath finds the file that the flag or the environment names.
func (a *app) databasePath() (string, error) {
	name, from := a.db, "--db"
	if name == "" {
		name, from = a.env.Getenv(databaseVar), databaseVar
	}
	if name == "" {
		return defaultDatabase, nil
	}
	path, isSQLite := strings.CutPrefix(name, "sqlite:")
	if kind := scheme.FindStringSubmatch(name); kind != nil && !isSQLite {
		switch strings.ToLower(kind[1]) {
		case "postgres", "postgresql":
			return "", usage("Use a file: --db sqlite:FILE", "%s is %s: this version of perdure cannot use PostgreSQL, only SQLite files.", from, withoutPassword(name))
		}
		return "", usage("Use --db sqlite:FILE, or ./"+name+" if that is the name of a file.", "%s is %s: %q is no kind of database that perdure knows.", from, withoutPassword(name), kind[1])
	}
	if path == "" {
		return "", usage("Use --db sqlite:FILE, for instance --db sqlite:perdure.db", "%s is %q: the name of the file is missing.", from, name)
	}
	if strings.HasPrefix(path, "//") {
		return "", usage("Write sqlite: and the path as it is, for instance sqlite:perdure.db or sqlite:/var/lib/perdure.db", "%s is %s: a file is not named by a URL.", from, name)
	}
	return path, nil
}

// withoutPassword hides what nobody wants on a screen.
func withoutPassword(s string) string {
	return regexp.MustCompile(`://[^@/]*@`).ReplaceAllString(s, "://...@")
}

// open opens the database as a client. It makes none: a misspelled name must not
// become an empty database.
func (a *app) open(ctx context.Context) (*perdure.Engine, error) {
	path, err := a.databasePath()
	if err != nil {
		return nil, err
	}
	hint := "Name the file of your engine with --db FILE or " + databaseVar + ". To see something now: perdure demo"
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &Error{Code: exitError, What: "There is no database " + path + ".", Hint: hint}
	case err == nil && info.Mode().IsRegular() && info.Size() == 0:
		return nil, &Error{Code: exitError, What: "The file " + path + " is empty: no engine has used it as a database yet.", Hint: hint}
	}
	return perdure.Open(ctx, sqlite.File(path), perdure.Logger(slog.New(slog.DiscardHandler)))
}

// withRun opens the database for a command that is about one workflow.
func (a *app) withRun(ctx context.Context, id string, f func(e *perdure.Engine) error) error {
	return a.withEngine(ctx, func(e *perdure.Engine) error {
		err := f(e)
		switch {
		case errors.Is(err, perdure.ErrNotFound):
			return &Error{
				Code: exitNotFound, What: fmt.Sprintf("There is no workflow %q in %s.", id, e.Location()),
				Hint: "See which ones there are: perdure list",
			}
		case errors.Is(err, perdure.ErrClosed):
			return &Error{
				Code: exitError, What: fmt.Sprintf("Workflow %q has ended, so it takes no more messages.", id),
				Hint: "See how it ended: perdure show " + demo.Quote(id),
			}
		}
		return err
	})
}

// withEngine opens the database for the time of f.
func (a *app) withEngine(ctx context.Context, f func(e *perdure.Engine) error) error {
	e, err := a.open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(f(e), e.Close())
}
