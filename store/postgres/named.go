package postgres

import (
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/perdure/perdure/internal/dbname"
	"github.com/perdure/perdure/store"
)

func init() {
	store.Register("postgres", func(name string) (store.Opener, error) {
		a, err := dbname.Server(name)
		if err != nil {
			return nil, err
		}
		// The driver says what else is wrong, about a URL without secrets.
		if _, err := pgxpool.ParseConfig(a.DSN(false)); err != nil {
			_, why, _ := strings.Cut(err.Error(), "`: ")
			return nil, &dbname.Error{Name: a.Text(false), Why: why + ".", Hint: "Use --db postgres://USER@HOST:PORT/DATABASE"}
		}
		options := []Option{Schema(a.Tables())}
		if a.Pooled {
			options = append(options, Pooled())
		}
		return URL(a.DSN(true), options...), nil
	})
}
