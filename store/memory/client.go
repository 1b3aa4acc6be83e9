package memory

import (
	"context"
	"slices"

	"github.com/perdure/perdure/store"
)

func (h *handle) Secret(ctx context.Context) ([]byte, error) {
	if err := h.read(ctx); err != nil {
		return nil, err
	}
	defer h.db.mu.RUnlock()
	return slices.Clone(h.db.secret), nil
}

func (h *handle) Create(ctx context.Context, run store.Run) error {
	if err := h.writeChecked(ctx, run.Validate(h.db.info)); err != nil {
		return err
	}
	defer h.done()
	db := h.db
	p := db.partition(run.Partition)
	if p == nil {
		return store.NoPartition(run.Partition)
	}
	exists, err := p.placeable(&run, "", nil)
	if exists || err != nil {
		return err
	}
	if !db.hasPast(run.Base) {
		return store.ErrNotFound
	}
	p.tick(db.clock())
	db.insert(p, run)
	if !store.IsInLine(run.Wake) {
		db.deliver(p, run.CreatedMessage())
	}
	db.announce(store.NewsMessage)
	return nil
}

func (h *handle) Post(ctx context.Context, m store.Message) error {
	if err := h.writeChecked(ctx, m.Validate(h.db.info)); err != nil {
		return err
	}
	defer h.done()
	db := h.db
	p := db.partition(m.Partition)
	if p == nil {
		return store.ErrNotFound
	}
	reader := p.latest[m.WorkflowID]
	if m.Run != "" {
		reader = p.runs[m.Run]
	}
	switch {
	case m.ForOwner:
		m.ForOwner = false
	case reader == nil || reader.row.WorkflowID != m.WorkflowID:
		return store.ErrNotFound
	case !reader.row.Status.Open():
		return store.ErrClosed
	case m.IfRoom && reader.row.Full:
		return store.ErrFull
	}
	p.tick(db.clock())
	db.deliver(p, m)
	db.announce(store.NewsMessage)
	return nil
}

func (h *handle) Take(ctx context.Context, partition int, workflowID string) ([]store.Message, error) {
	if err := h.write(ctx); err != nil {
		return nil, err
	}
	defer h.done()
	p := h.db.partition(partition)
	if p == nil {
		return nil, nil
	}
	taken := p.posted(workflowID)
	for _, m := range taken {
		p.consume(m.Sequence)
	}
	return taken, nil
}

func (h *handle) Posted(ctx context.Context, partition int, workflowID string) ([]store.Message, error) {
	p, err := h.readPartition(ctx, partition)
	if err != nil {
		return nil, err
	}
	defer h.db.mu.RUnlock()
	return ownBytes(p.posted(workflowID), dataOfMessage), nil
}

// posted returns the messages that wait for a workflow ID.
func (p *partition) posted(workflowID string) (all []store.Message) {
	for _, m := range p.inbox {
		if m.WorkflowID == workflowID {
			all = append(all, m)
		}
	}
	return all
}
