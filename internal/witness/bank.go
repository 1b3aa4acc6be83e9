package witness

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// postings is the table that the bank of this process writes to.
var postings string

// The bank has a table in the engine's own database. Nothing but step transactions keeps it
// from having a posting twice, or half of one.
var (
	post = activity.New("post", func(ctx context.Context, e Effect) (int, error) {
		n, err := perform(ctx, e)
		if err != nil {
			return 0, err
		}
		key := activity.IdempotencyKey(ctx)
		return n, errors.Join(activity.OnCommit(ctx, postingOf(key, "debit")), activity.OnCommit(ctx, postingOf(key, "credit")))
	}, activity.Retry(retry.Policy{MaxAttempts: 100, Backoff: retry.Fixed(time.Millisecond), CrashLimit: 100}))

	// Bank posts n times.
	Bank = workflow.New("bank", func(wf *workflow.Context, n int) (int, error) {
		return inRow(wf, n, post, Effect{Step: "b", Value: n})
	})
)

// postingOf writes a row, takes its time, and now and then fails after all.
func postingOf(key, side string) func(context.Context, *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO `+postings+` VALUES ($1, $2)`, key, side); err != nil {
			return err
		}
		time.Sleep(rand.N(2 * time.Millisecond)) // so that deaths meet transactions
		if rand.IntN(10) == 0 {
			return errors.New("the bank says no")
		}
		return nil
	}
}

// Banking is the job of the bank.
func Banking(ctx context.Context, c *Client, id string, v int) ([]Run, error) {
	return computes(Bank, func(n int) int { return Repeat(n, n) })(ctx, c, id, 1+v%4)
}

// Postings lets the bank of this process, which has the Definitions, write to a table.
func Postings(table string) { postings = table }

// CreatePostings makes the table in the engine's database.
func CreatePostings(ctx context.Context, e *perdure.Engine, table string) error {
	return perdure.Transact(ctx, e, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `CREATE TABLE `+table+` (key TEXT, side TEXT)`)
		return err
	})
}

// posting is a row, and how often it is there.
type posting struct {
	key, side string
	times     int
}

// Rows reads the rows of a statement, in the engine's database, each into the places that are
// made of its value.
func Rows[T any](ctx context.Context, e *perdure.Engine, statement string, into func(*T) []any) (all []T, err error) {
	err = Patiently(ctx, func() error {
		return perdure.Transact(ctx, e, func(ctx context.Context, tx *sql.Tx) error {
			all = nil
			rows, err := tx.QueryContext(ctx, statement)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				var row T
				if err := rows.Scan(into(&row)...); err != nil {
					return err
				}
				all = append(all, row)
			}
			return rows.Err()
		})
	})
	return all, err
}

// posted notes a call of the bank that is on record as completed.
func (j *judge) posted(r Run, e view.Event) {
	if e.Kind != "CallCompleted" || e.Name != post.Name() {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.tally.Steps++
	j.bank[callKey(r, e)] = 0
}

// judgeBank makes sure that each completed call of the bank has posted once on each side, and
// that nothing else has.
func (j *judge) judgeBank() {
	if j.Postings == "" {
		return
	}
	statement := `SELECT key, side, count(*) FROM ` + j.Postings + ` GROUP BY key, side`
	all, err := Rows(j.ctx, j.Engine, statement, func(p *posting) []any { return []any{&p.key, &p.side, &p.times} })
	if err != nil {
		j.find(Wrong, "%v", err)
		return
	}
	for _, p := range all {
		if _, known := j.bank[p.key]; !known || p.times > 1 {
			j.find(Doubled, "call %s posted its %s %d times, and is on record as completed: %t", p.key, p.side, p.times, known)
		}
		j.bank[p.key]++
	}
	for key, sides := range j.bank {
		if sides < 2 {
			j.find(Lost, "call %s is on record as completed, and has %d of 2 postings", key, sides)
		}
	}
}
