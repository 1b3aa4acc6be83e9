package pgbubble

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Tx is what step transactions get here.
type Tx = pgx.Tx

// makeEffects makes a table of a user, one for all bubbles: what a run did there is
// found by the run's ID.
func makeEffects(ctx context.Context, conn *pgx.Conn) error {
	schemas.Lock() // two at a time do not see each other's
	defer schemas.Unlock()
	_, err := conn.Exec(ctx, `CREATE TABLE IF NOT EXISTS public.effects (at bigserial, run text, what text)`)
	return err
}

// AddEffect adds a row to the user's table.
func AddEffect(ctx context.Context, tx Tx, run, what string) error {
	_, err := tx.Exec(ctx, `INSERT INTO public.effects (run, what) VALUES ($1, $2)`, run, what)
	return err
}

// Effects reads the rows of a run, in the order in which they were added.
func Effects(ctx context.Context, tx Tx, run string) ([]string, error) {
	rows, err := tx.Query(ctx, `SELECT what FROM public.effects WHERE run = $1 ORDER BY at`, run)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
