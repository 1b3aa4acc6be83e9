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
	if err := run.Validate(h.db.info); err != nil {
		return err
	}
	if err := h.write(ctx); err != nil {
		return err
	}
	defer h.done()
	db := h.db
	p := db.partition(run.Partition)
	if p == nil {
		return unknown(run.Partition)
	}
	exists, err := p.placeable(&run, "", nil)
	if exists || err != nil {
		return err
	}
	p.tick(db.clock())
	db.insert(p, run)
	db.deliver(p, store.Message{
		Partition:  run.Partition,
		WorkflowID: run.WorkflowID,
		Run:        run.ID,
		Key:        store.CreatedKey(run.ID),
		Kind:       store.KindCreated,
	})
	db.announce(store.NewsMessage)
	return nil
}

func (h *handle) Post(ctx context.Context, m store.Message) error {
	if err := m.Validate(h.db.info); err != nil {
		return err
	}
	if err := h.write(ctx); err != nil {
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
	if reader == nil || reader.row.WorkflowID != m.WorkflowID {
		return store.ErrNotFound
	}
	if !reader.row.Status.Open() {
		return store.ErrClosed
	}
	p.tick(db.clock())
	db.deliver(p, m)
	db.announce(store.NewsMessage)
	return nil
}
