package database

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Error says that a database cannot be used, and what to do about it.
type Error struct{ What, Hint string }

func (e *Error) Error() string { return e.What }

const (
	hintFile = "Name the file of your engine with --db FILE or PERDURE_DB. To see a demo: perdure demo"
	hintURL  = "Name the database of your engine with --db or PERDURE_DB, and its schema with ?schema=NAME\nat the end of the URL if it is not \"perdure\". To see a demo: perdure demo"
)

// Find returns an *Error if an engine has never used the database, or, on a PostgreSQL
// server, if it has no such group of nodes. It creates nothing.
func (n Name) Find(ctx context.Context, group string) error {
	if n.Shared() {
		return n.findSchema(ctx, group)
	}
	info, err := os.Stat(n.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Error{"There is no database " + n.file + ".", hintFile}
	case err == nil && !info.Mode().IsRegular() && !info.IsDir():
		return &Error{n.file + " is not a regular file.", hintFile}
	case err == nil && !info.IsDir() && info.Size() == 0:
		return &Error{"The file " + n.file + " is empty: no engine has used it yet.", hintFile}
	}
	return nil // what else may be wrong shows when it is opened
}

func (n Name) findSchema(ctx context.Context, group string) error {
	conn, err := n.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var tables int
	var groups, usable bool
	err = conn.QueryRow(ctx, `SELECT count(c.oid), count(*) FILTER (WHERE c.relname = 'node_groups') > 0, coalesce(bool_and(has_schema_privilege(n.oid, 'USAGE')), true)
		FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid WHERE n.nspname = $1`, n.url.Tables()).Scan(&tables, &groups, &usable)
	switch {
	case err != nil:
		return n.explain(conn.Config(), err)
	case tables == 0:
		return &Error{fmt.Sprintf("No engine has used the database %s at %s yet: it has no schema %q.",
			conn.Config().Database, servers(conn.Config()), n.url.Tables()), hintURL}
	case !usable:
		return n.unreadable(conn.Config())
	case group == "" || !groups: // without such a table it is not ours, which shows when it is opened
		return nil
	}
	return n.findGroup(ctx, conn, group)
}

func (n Name) findGroup(ctx context.Context, conn *pgx.Conn, group string) error {
	rows, err := conn.Query(ctx, `SELECT name FROM `+pgx.Identifier{n.url.Tables(), "node_groups"}.Sanitize()+` ORDER BY name`)
	if err != nil {
		return n.explain(conn.Config(), err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return n.explain(conn.Config(), err)
	}
	var others []string
	for _, name := range names {
		switch name {
		case group:
			return nil
		case "":
		default:
			others = append(others, fmt.Sprintf("%q", name))
		}
	}
	hint := "It has only the group without a name: leave --group and PERDURE_GROUP out."
	if len(others) > 0 {
		hint = "It has the group without a name and " + strings.Join(others, ", ") + "."
	}
	return &Error{fmt.Sprintf("There is no group %q in the database %s.", group, n), hint}
}
