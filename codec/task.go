package codec

import (
	"context"
	"slices"

	"github.com/perdure/perdure/internal/envelope"
	"github.com/perdure/perdure/store"
)

// taskAt is the place of what a worker needs to know of an attempt: that of its call.
func taskAt(t *store.Task) Place { return callAt(t.Run, t.Number) }

// offered returns the tasks of a turn with their documents encoded.
func (c chain) offered(ctx context.Context, t *store.Turn) error {
	t.Offered = slices.Clone(t.Offered)
	for i := range t.Offered {
		at := callAt(t.Run, t.Offered[i].Number)
		if err := c.encodeAll(ctx, doc{at, &t.Offered[i].Data}); err != nil {
			return err
		}
	}
	return nil
}

// decodeTasks decodes the documents of tasks. One that cannot be had for the moment says so
// where it would stand: its claim is durable, and has to be given back.
func (c chain) decodeTasks(ctx context.Context, tasks []store.Task) error {
	for i := range tasks {
		t := &tasks[i]
		err := c.decodeAll(ctx, doc{taskAt(t), &t.Data})
		if err == nil {
			continue
		}
		e, malformed := envelope.Parse(t.Data)
		if ctx.Err() != nil || malformed != nil {
			return err
		}
		t.Data = without(e, err)
	}
	return nil
}

// Attend implements store.Queues. What a worker says of itself is no user's data.
func (s *coded) Attend(ctx context.Context, worker store.Worker) (*store.Attendance, error) {
	return s.db.Attend(ctx, worker)
}

// ClaimTasks implements store.Queues.
func (s *coded) ClaimTasks(ctx context.Context, claim store.TaskClaim) ([]store.Task, error) {
	tasks, err := s.db.ClaimTasks(ctx, claim)
	if err != nil {
		return nil, err
	}
	return tasks, s.decodeTasks(ctx, tasks)
}

// SettleTasks implements store.Queues.
func (s *coded) SettleTasks(ctx context.Context, worker string, settled []store.SettledTask) ([]error, error) {
	settled = slices.Clone(settled)
	for i := range settled {
		m, err := s.message(ctx, settled[i].Message)
		if err != nil {
			return nil, err
		}
		settled[i].Message = m
	}
	return s.db.SettleTasks(ctx, worker, settled)
}

// Tasks implements store.Reader.
func (s *coded) Tasks(ctx context.Context, filter store.TaskFilter) ([]store.Task, error) {
	tasks, err := s.db.Tasks(ctx, filter)
	if err != nil {
		return nil, err
	}
	return tasks, s.decodeTasks(ctx, tasks)
}

// Backlogs implements store.Reader.
func (s *coded) Backlogs(ctx context.Context, partitions []int) ([]store.Backlog, error) {
	return s.db.Backlogs(ctx, partitions)
}

// Workers implements store.Reader.
func (s *coded) Workers(ctx context.Context) ([]store.WorkerState, error) { return s.db.Workers(ctx) }
