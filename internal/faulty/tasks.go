package faulty

import (
	"context"

	"github.com/perdure/perdure/store"
)

func (s *faultyStore) Attend(ctx context.Context, worker store.Worker) (*store.Attendance, error) {
	return change(ctx, s, renewals, "Attend", func() (*store.Attendance, error) { return s.inner.Attend(ctx, worker) })
}

func (s *faultyStore) ClaimTasks(ctx context.Context, claim store.TaskClaim) ([]store.Task, error) {
	return change(ctx, s, writes, "ClaimTasks", func() ([]store.Task, error) { return s.inner.ClaimTasks(ctx, claim) })
}

func (s *faultyStore) SettleTasks(ctx context.Context, worker string, settled []store.SettledTask) ([]error, error) {
	return change(ctx, s, writes, "SettleTasks", func() ([]error, error) { return s.inner.SettleTasks(ctx, worker, settled) })
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
