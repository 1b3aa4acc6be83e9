package riverqueue

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/perdure/perdure/bench/internal/system"
)

// stepArgs are the arguments of one step of a chain.
type stepArgs struct {
	Run   string `json:"run"`
	Done  int    `json:"done"`
	Steps int    `json:"steps"`
}

func (stepArgs) Kind() string { return "step" }

type stepWorker struct {
	river.WorkerDefaults[stepArgs]
	session *session
	body    func(n int)
}

// Work does a step, and completes its job and inserts the next one together.
func (w *stepWorker) Work(ctx context.Context, job *river.Job[stepArgs]) error {
	w.body(job.Args.Done)
	next := job.Args
	next.Done++
	tx, err := w.session.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx) // does nothing after a commit
	if next.Done < next.Steps {
		if _, err := w.session.client.InsertTx(ctx, tx, next, nil); err != nil {
			return err
		}
	}
	if err := complete(ctx, tx, job); err != nil {
		return err
	}
	if next.Done == next.Steps {
		w.session.ended(next.Run, next.Done)
	}
	return nil
}

// tryArgs are the arguments of the step of Flaky.
type tryArgs struct {
	Run string `json:"run"`
}

func (tryArgs) Kind() string { return "try" }

func (tryArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{MaxAttempts: system.Failures + 1}
}

type tryWorker struct {
	river.WorkerDefaults[tryArgs]
	session *session
	body    func(run string, attempt int) error
}

func (w *tryWorker) Work(ctx context.Context, job *river.Job[tryArgs]) error {
	if err := w.body(job.Args.Run, job.Attempt); err != nil {
		return err
	}
	tx, err := w.session.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	if err := complete(ctx, tx, job); err != nil {
		return err
	}
	w.session.ended(job.Args.Run, job.Attempt)
	return nil
}

// complete commits a transaction that also completes the job.
func complete[T river.JobArgs](ctx context.Context, tx pgx.Tx, job *river.Job[T]) error {
	if _, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job); err != nil {
		return err
	}
	return tx.Commit(ctx)
}
