package dbosgo

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"github.com/perdure/perdure/bench/internal/system"
)

// session is DBOS at work.
type session struct {
	dbos.Context
	config system.Config
	db     *sql.DB // to look at
	file   *sql.DB // the handle that DBOS has, nil if it has its own
}

// chain runs steps one after the other.
func (s *session) chain(ctx dbos.Context, steps int) (done int, err error) {
	for done < steps && err == nil {
		n := done
		done, err = dbos.RunAsStep(ctx, func(context.Context) (int, error) {
			s.config.Step(n)
			return n + 1, nil
		})
	}
	return done, err
}

// fan runs steps that are all open at once.
func (s *session) fan(ctx dbos.Context, width int) (done int, err error) {
	all := make([]<-chan dbos.StepOutcome[int], width)
	for n := range all {
		all[n], err = dbos.Go(ctx, func(context.Context) (int, error) {
			s.config.Step(n)
			return 1, nil
		})
		if err != nil {
			return 0, err
		}
	}
	for _, one := range all {
		outcome := <-one
		if outcome.Err != nil {
			return done, outcome.Err
		}
		done += outcome.Result
	}
	return done, nil
}

func (s *session) Chain(ctx context.Context, id string, steps int) (int, error) {
	wait, err := s.Start(ctx, id, steps)
	if err != nil {
		return 0, err
	}
	return wait(ctx)
}

func (s *session) Fan(_ context.Context, id string, width int) (int, error) {
	return ended(dbos.RunWorkflow(s.Context, s.fan, width, dbos.WithWorkflowID(id)))
}

func (s *session) Start(_ context.Context, id string, steps int) (func(context.Context) (int, error), error) {
	handle, err := dbos.RunWorkflow(s.Context, s.chain, steps, dbos.WithWorkflowID(id))
	return func(context.Context) (int, error) { return ended(handle, err) }, err
}

// ended waits for the end of a workflow, which is durable then.
func ended(handle dbos.WorkflowHandle[int], err error) (int, error) {
	if err != nil {
		return 0, err
	}
	return handle.GetResult()
}

// Verify looks at the tables. Attempts of a step that failed are not on record.
func (s *session) Verify(ctx context.Context, want system.Tally) error {
	prefix := "dbos."
	if s.file != nil {
		prefix = ""
	}
	var completed, others int
	err := s.db.QueryRowContext(ctx, `SELECT count(*) FILTER (WHERE status = 'SUCCESS'), count(*) FILTER (WHERE status <> 'SUCCESS') FROM `+prefix+`workflow_status`).Scan(&completed, &others)
	if err == nil && (completed != want.Runs || others > 0) {
		err = fmt.Errorf("%d workflows are completed and %d are not, want %d and 0", completed, others, want.Runs)
	}
	return err
}

// Commits are the server's to count.
func (s *session) Commits() (int64, bool) { return 0, false }

func (s *session) Close(context.Context) error {
	err := dbos.Shutdown(s.Context, time.Minute)
	if closing := s.db.Close(); err == nil {
		err = closing
	}
	return err
}
