package faulty

import (
	"context"

	"github.com/perdure/perdure/store"
)

func (s *faultyStore) Attend(ctx context.Context, worker store.Worker) (*store.Attendance, error) {
	var answer *store.Attendance
	err := s.perform(ctx, renewals, "Attend", func() (err error) {
		answer, err = s.inner.Attend(ctx, worker)
		return err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

func (s *faultyStore) ClaimTasks(ctx context.Context, claim store.TaskClaim) ([]store.Task, error) {
	var claimed []store.Task
	err := s.write(ctx, "ClaimTasks", func() (err error) {
		claimed, err = s.inner.ClaimTasks(ctx, claim)
		return err
	})
	if err != nil {
		return nil, err
	}
	return claimed, nil
}

func (s *faultyStore) SettleTasks(ctx context.Context, worker string, settled []store.SettledTask) ([]error, error) {
	var errs []error
	err := s.write(ctx, "SettleTasks", func() (err error) {
		errs, err = s.inner.SettleTasks(ctx, worker, settled)
		return err
	})
	if err != nil {
		return nil, err
	}
	return errs, nil
}

func (s *faultyStore) Tasks(ctx context.Context, filter store.TaskFilter) ([]store.Task, error) {
	return read(s, "Tasks", func() ([]store.Task, error) { return s.inner.Tasks(ctx, filter) })
}

func (s *faultyStore) Backlogs(ctx context.Context, partitions []int) ([]store.Backlog, error) {
	return read(s, "Backlogs", func() ([]store.Backlog, error) { return s.inner.Backlogs(ctx, partitions) })
}

func (s *faultyStore) Workers(ctx context.Context) ([]store.WorkerState, error) {
	return read(s, "Workers", func() ([]store.WorkerState, error) { return s.inner.Workers(ctx) })
}
