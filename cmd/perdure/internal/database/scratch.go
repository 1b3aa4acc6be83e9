package database

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store"
)

// Scratch names a database in which nothing is yet, for a use that leaves nothing behind: a
// schema of its own in the PostgreSQL database; a file of its own beside an SQLite database, or
// that file itself if there is none. What else is there stays as it is. It returns an *Error if
// that cannot be.
func (n Name) Scratch(ctx context.Context, purpose string) (Name, error) {
	mark := purpose + "_" + strings.ToLower(rand.Text()[:8])
	if n.Shared() {
		return n.scratchSchema(ctx, "perdure_"+mark)
	}
	return n.scratchFile(ctx, strings.ReplaceAll(mark, "_", "-"))
}

func (n Name) scratchSchema(ctx context.Context, schema string) (Name, error) {
	conn, err := n.connect(ctx)
	if err != nil {
		return n, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var may bool
	var user, database string
	err = conn.QueryRow(ctx, `SELECT has_database_privilege(current_database(), 'CREATE'), current_user::text, current_database()::text`).Scan(&may, &user, &database)
	switch {
	case err != nil:
		return n, n.explain(conn.Config(), err)
	case !may:
		return n, &Error{
			fmt.Sprintf("The user %q may not create a schema in the database %q at %s.", user, database, servers(conn.Config())),
			fmt.Sprintf("Use another user or another database, or let a person who may run:\nGRANT CREATE ON DATABASE %s TO %s", pgx.Identifier{database}.Sanitize(), pgx.Identifier{user}.Sanitize()),
		}
	}
	return n.InSchema(schema), nil
}

func (n Name) scratchFile(ctx context.Context, mark string) (Name, error) {
	switch _, err := os.Stat(n.file); {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(filepath.Dir(n.file)); err != nil {
			return n, &Error{fmt.Sprintf("There is no directory %s.", filepath.Dir(n.file)), "Make it, or name a file elsewhere."}
		}
		return n, nil
	case err != nil:
		return n, err
	}
	if err := n.Find(ctx, ""); err != nil {
		return n, err
	}
	e, err := perdure.Open(ctx, n.Opener(), perdure.NoMigrate(), perdure.Logger(slog.New(slog.DiscardHandler)))
	if err == nil {
		err = e.Close()
	}
	if errors.Is(err, perdure.ErrForeign) {
		return n, &Error{
			fmt.Sprintf("The file %s holds something else than a perdure database.", n.file),
			"Name a perdure database, beside which a file is made, or a path where there is no file.",
		}
	}
	if _, older := errors.AsType[*store.SchemaError](err); err != nil && !older {
		return n, err
	}
	ext := filepath.Ext(n.file)
	return File(strings.TrimSuffix(n.file, ext) + "-" + mark + ext), nil
}

// Remove removes a scratch database with all that is in it.
func (n Name) Remove(ctx context.Context) error {
	if n.Shared() {
		return n.Run(ctx, "DROP SCHEMA IF EXISTS "+pgx.Identifier{n.Schema()}.Sanitize()+" CASCADE")
	}
	var err error
	for _, end := range []string{"", "-wal", "-shm", ".lock"} {
		if failed := os.Remove(n.file + end); failed != nil && !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
		}
	}
	return err
}
