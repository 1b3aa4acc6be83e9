package engine_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/workflow"
)

// stepTransactions has effects in a table of the user's own: each completed step
// exactly one for each function that it handed over, each failed one none (E27).
var stepTransactions = shape{
	name: "step-transactions",
	flow: func(b *book) workflow.Func[string, string] {
		return func(wf *workflow.Context, in string) (string, error) {
			in, err := workflow.Call(wf, work, in)
			if err != nil {
				return "", err
			}
			if in, err = workflow.Call(wf, more, in); err != nil {
				return "", err
			}
			captured := in
			in, err = workflow.Do(wf, "inline", func(ctx context.Context) (string, error) {
				return kept(b, b.twice)(ctx, captured)
			}, exactly(0, 5))
			if err != nil {
				return "", err
			}
			return workflow.Call(wf, cleanup, in)
		}
	},
	bodies: func(b *book) bodies {
		return bodies{
			"work": func(ctx context.Context, in string) (string, error) {
				return in + "'", activity.OnCommit(ctx, b.effect("work"))
			},
			"more": func(ctx context.Context, in string) (string, error) {
				return in + "'", activity.OnCommit(ctx, b.failsTwice)
			},
			"cleanup": func(ctx context.Context, in string) (string, error) {
				return in + "'", activity.OnCommit(ctx, func(ctx context.Context, tx any) (err error) {
					if err = b.effect("cleanup")(ctx, tx); err == nil {
						b.effects, err = allEffects(ctx, tx)
					}
					return err
				})
			},
		}
	},
}

// twice hands over two functions.
func (b *book) twice(ctx context.Context, in string) (string, error) {
	if err := activity.OnCommit(ctx, b.effect("first")); err != nil {
		return "", err
	}
	return in + "'", activity.OnCommit(ctx, b.effect("second"))
}

// failsTwice is a step transaction that fails when it has done its work, until it
// is on record that it did so twice.
func (b *book) failsTwice(ctx context.Context, tx any) error {
	n := b.failures(ctx)
	if err := b.effect(fmt.Sprint("more after ", n))(ctx, tx); err != nil {
		return err
	}
	switch n {
	case 0:
		b.failedAfterwards(ctx)
		forget(ctx, tx)
		return errRefused
	case 1:
		b.failedAfterwards(ctx)
		forget(ctx, tx)
		panic("not yet")
	}
	return nil
}

// effect is a step transaction that leaves a row.
func (b *book) effect(what string) func(context.Context, any) error {
	return func(ctx context.Context, tx any) (err error) {
		info, _ := activity.FromContext(ctx)
		switch tx := tx.(type) {
		case *sql.Tx:
			if _, err = tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS effects (run TEXT, what TEXT)`); err == nil {
				_, err = tx.ExecContext(ctx, `INSERT INTO effects VALUES (?, ?)`, info.RunID, what)
			}
		case nil:
			inMemoryEffects.Lock()
			defer inMemoryEffects.Unlock()
			inMemoryEffects.of[info.RunID] = append(inMemoryEffects.of[info.RunID], what)
		default:
			err = addEffectOnPostgres(ctx, tx, info.RunID, what)
		}
		return err
	}
}

// inMemoryEffects stand for the table where the database keeps none: by run.
var inMemoryEffects = struct {
	sync.Mutex
	of map[string][]string
}{of: map[string][]string{}}

// forget undoes the last effect where there is no transaction to undo it.
func forget(ctx context.Context, tx any) {
	if tx != nil {
		return
	}
	info, _ := activity.FromContext(ctx)
	inMemoryEffects.Lock()
	defer inMemoryEffects.Unlock()
	all := inMemoryEffects.of[info.RunID]
	inMemoryEffects.of[info.RunID] = all[:len(all)-1]
}

// allEffects reads what the step transactions of a run have left.
func allEffects(ctx context.Context, tx any) (all []string, err error) {
	info, _ := activity.FromContext(ctx)
	switch tx := tx.(type) {
	case *sql.Tx:
		rows, err := tx.QueryContext(ctx, `SELECT what FROM effects WHERE run = ? ORDER BY rowid`, info.RunID)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		for rows.Next() {
			var what string
			if err := rows.Scan(&what); err != nil {
				return nil, err
			}
			all = append(all, what)
		}
		return all, rows.Err()
	case nil:
		inMemoryEffects.Lock()
		defer inMemoryEffects.Unlock()
		return slices.Clone(inMemoryEffects.of[info.RunID]), nil
	}
	return effectsOnPostgres(ctx, tx, info.RunID)
}
