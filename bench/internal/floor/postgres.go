package floor

import (
	"context"

	"github.com/jackc/pgx/v5"
)

const (
	// The server may still be at the last commit of a process that was killed:
	// wait until its session is over, with which this lock ends.
	postgresLock   = `SELECT pg_advisory_lock(1)`
	postgresSchema = `CREATE TABLE IF NOT EXISTS steps (run text NOT NULL, step int NOT NULL, attempt int NOT NULL, at bigint NOT NULL, result text NOT NULL,
		PRIMARY KEY (run, step, attempt))`
	// One statement, and so one transaction and one round trip.
	postgresInsert = `INSERT INTO steps (run, step, attempt, at, result)
		SELECT * FROM unnest($1::text[], $2::int[], $3::int[], $4::bigint[], $5::text[])`
)

// postgresTable is a database on one connection.
type postgresTable struct {
	conn *pgx.Conn

	// The columns of a group, kept for the next one.
	run, result   []string
	step, attempt []int32
	at            []int64
}

func openPostgres(ctx context.Context, url string) (Table, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	for _, statement := range []string{postgresLock, postgresSchema} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			conn.Close(ctx)
			return nil, err
		}
	}
	return &postgresTable{conn: conn}, nil
}

func (t *postgresTable) Insert(ctx context.Context, rows []Row) error {
	t.run, t.result, t.step, t.attempt, t.at = t.run[:0], t.result[:0], t.step[:0], t.attempt[:0], t.at[:0]
	for _, r := range rows {
		t.run, t.result = append(t.run, r.Run), append(t.result, r.Result)
		t.step, t.attempt, t.at = append(t.step, int32(r.Step)), append(t.attempt, int32(r.Attempt)), append(t.at, r.At)
	}
	_, err := t.conn.Exec(ctx, postgresInsert, t.run, t.step, t.attempt, t.at, t.result)
	return err
}

func (t *postgresTable) Done(ctx context.Context) (map[string]int, error) {
	rows, err := t.conn.Query(ctx, SelectDone)
	if err != nil {
		return nil, err
	}
	done := map[string]int{}
	var run string
	var n int
	_, err = pgx.ForEachRow(rows, []any{&run, &n}, func() error {
		done[run] = n
		return nil
	})
	return done, err
}

func (t *postgresTable) Count(ctx context.Context) (rows, runs int, err error) {
	err = t.conn.QueryRow(ctx, SelectCount).Scan(&rows, &runs)
	return rows, runs, err
}

func (t *postgresTable) Close() error { return t.conn.Close(context.Background()) }
