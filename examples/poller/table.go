package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	_ "modernc.org/sqlite"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry/httpretry"
)

// createTable makes the table in the file in which the engine keeps its own.
func createTable(ctx context.Context, file string) error {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS entries (number INTEGER, title TEXT)")
	return errors.Join(err, db.Close())
}

// fetch is the body of Fetch, with the feed at this URL. The entries and the record
// of how far the poller has come are one transaction: none is missed, none is there
// twice.
func fetch(feed string) activity.Func[int, int] {
	client := httpretry.New(nil)
	return func(ctx context.Context, after int) (int, error) {
		resp, err := client.Get(ctx, fmt.Sprintf("%s/?after=%d", feed, after))
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		var entries []Entry
		if err := json.NewDecoder(resp.Body).Decode(&entries); err != nil || len(entries) == 0 {
			return after, err
		}
		return entries[len(entries)-1].Number, activity.OnCommit(ctx, func(ctx context.Context, tx *sql.Tx) error {
			for _, e := range entries {
				if _, err := tx.ExecContext(ctx, "INSERT INTO entries VALUES (?, ?)", e.Number, e.Title); err != nil {
					return err
				}
			}
			return nil
		})
	}
}
