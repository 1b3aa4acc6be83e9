package main

import (
	"context"
	"database/sql"
	"time"

	_ "modernc.org/sqlite"

	"github.com/perdure/perdure/activity"
)

// createTables makes the tables in the file in which the engine keeps its own: with
// five subscriptions, and no payments yet.
func createTables(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, `
		CREATE TABLE IF NOT EXISTS subscriptions (id TEXT PRIMARY KEY, cents INTEGER);
		CREATE TABLE IF NOT EXISTS payments (subscription TEXT, period TEXT, payment TEXT);
		INSERT OR IGNORE INTO subscriptions VALUES ('ada', 900), ('bela', 900), ('chen', 2900), ('dora', 900), ('emil', 2900)`)
	return err
}

// subscriptions is the body of Subscriptions.
func subscriptions(db *sql.DB) activity.Func[struct{}, []Subscription] {
	return func(ctx context.Context, _ struct{}) ([]Subscription, error) {
		rows, err := db.QueryContext(ctx, "SELECT id, cents FROM subscriptions ORDER BY id")
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		var all []Subscription
		for rows.Next() {
			var s Subscription
			if err := rows.Scan(&s.ID, &s.Cents); err != nil {
				return nil, err
			}
			all = append(all, s)
		}
		return all, rows.Err()
	}
}

// insertPayment notes a payment.
func insertPayment(ctx context.Context, tx *sql.Tx, i Invoice, payment string) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO payments VALUES (?, ?, ?)", i.ID, i.Period.Format(time.RFC3339), payment)
	return err
}
