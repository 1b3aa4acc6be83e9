package codec

import (
	"context"
	"slices"

	"github.com/perdure/perdure/internal/envelope"
	"github.com/perdure/perdure/store"
)

// offered returns the tasks of a turn with their documents encoded. What a worker needs to know of an
// attempt has the place of its call.
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

// decodeTask decodes the document of a task. One that cannot be had for the moment says so
// where it would stand: its claim is durable, and has to be given back.
func (c chain) decodeTask(ctx context.Context, t *store.Task) error {
	err := c.decodeAll(ctx, doc{callAt(t.Run, t.Number), &t.Data})
	if err == nil {
		return nil
	}
	e, malformed := envelope.Parse(t.Data)
	if ctx.Err() != nil || malformed != nil {
		return err
	}
	t.Data = without(e, err)
	return nil
}

// ClaimTasks implements store.Queues.
func (s *coded) ClaimTasks(ctx context.Context, claim store.TaskClaim) ([]store.Task, error) {
	tasks, err := s.Store.ClaimTasks(ctx, claim)
	return each(tasks, err, func(t *store.Task) error { return s.decodeTask(ctx, t) })
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
	return s.Store.SettleTasks(ctx, worker, settled)
}

// Tasks implements store.Reader.
func (s *coded) Tasks(ctx context.Context, filter store.TaskFilter) ([]store.Task, error) {
	tasks, err := s.Store.Tasks(ctx, filter)
	return each(tasks, err, func(t *store.Task) error { return s.decodeTask(ctx, t) })
}
