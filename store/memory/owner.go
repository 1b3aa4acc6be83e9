package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/store"
)

func (h *handle) Join(ctx context.Context, node store.Node) error {
	if node.ID == "" {
		return fmt.Errorf("a node needs an ID to join")
	}
	if err := h.write(ctx); err != nil {
		return err
	}
	defer h.done()
	db := h.db
	if db.engine == h && h.node == node.ID {
		return nil
	}
	if db.engine != nil {
		return &store.InUseError{Location: db.info.Location, Holder: db.holder()}
	}
	db.engine, db.since = h, time.Now()
	h.node = node.ID
	db.nodes[node.ID] = node
	return nil
}

func (h *handle) Leave(ctx context.Context, node string) error {
	if err := h.write(ctx); err != nil {
		return err
	}
	defer h.done()
	h.leave(node)
	return nil
}

func (h *handle) leave(node string) {
	db := h.db
	for _, p := range db.partitions {
		if p.node == node {
			p.node = ""
		}
	}
	delete(db.nodes, node)
	if db.engine != nil && db.engine.node == node {
		db.engine.node = ""
		db.engine = nil
	}
}

func (h *handle) Claim(ctx context.Context, node string, partitions []int) ([]store.Ownership, error) {
	for _, id := range partitions {
		if err := h.db.info.Check(id); err != nil {
			return nil, err
		}
	}
	if err := h.write(ctx); err != nil {
		return nil, err
	}
	defer h.done()
	db := h.db
	if _, joined := db.nodes[node]; !joined {
		return nil, fmt.Errorf("node %q cannot claim partitions: it has not joined", node)
	}
	now := db.clock()
	claimed := make([]store.Ownership, len(partitions))
	for i, id := range partitions {
		p := db.partitions[id]
		p.tick(now)
		p.epoch++
		p.node = node
		claimed[i] = store.Ownership{Partition: id, Epoch: p.epoch, Node: node, Since: p.clock, Clock: p.clock}
		p.owners = append(p.owners, claimed[i])
	}
	return claimed, nil
}

func (h *handle) Due(ctx context.Context, id int, after, until int64, limit int) ([]store.Wake, error) {
	p, err := h.readPartition(ctx, id)
	if err != nil {
		return nil, err
	}
	defer h.db.mu.RUnlock()
	if after >= until || after >= store.Never-1 {
		return nil, nil
	}
	var due []store.Wake
	for w := range p.wakes.ascend(store.Wake{Time: after + 1}) {
		if w.Time > until || limit > 0 && len(due) >= limit && due[len(due)-1].Time != w.Time {
			break
		}
		due = append(due, w)
	}
	return due, nil
}

func (h *handle) Inbox(ctx context.Context, id int, after int64, limit int) ([]store.Message, error) {
	p, err := h.readPartition(ctx, id)
	if err != nil {
		return nil, err
	}
	defer h.db.mu.RUnlock()
	from, _ := slices.BinarySearchFunc(p.inbox, after, func(m store.Message, s int64) int {
		if m.Sequence <= s {
			return -1
		}
		return 1
	})
	messages := slices.Clone(head(p.inbox[from:], limit))
	for i := range messages {
		messages[i].Data = bytes(messages[i].Data)
	}
	return messages, nil
}

func (h *handle) Load(ctx context.Context, id int, run string) (*store.Record, error) {
	p, err := h.readPartition(ctx, id)
	if err != nil {
		return nil, err
	}
	defer h.db.mu.RUnlock()
	r, ok := p.runs[run]
	if !ok {
		return nil, store.ErrNotFound
	}
	return &store.Record{Run: cloneRun(r.row), Turns: cloneTurns(r.turns), Calls: cloneCalls(r.calls)}, nil
}

// head returns the first limit elements, all of them if limit is 0.
func head[T any](list []T, limit int) []T {
	if limit > 0 && len(list) > limit {
		return list[:limit]
	}
	return list
}

func cloneTurns(turns []store.TurnRow) []store.TurnRow {
	turns = slices.Clone(turns)
	for i := range turns {
		turns[i].Events = bytes(turns[i].Events)
	}
	return turns
}

func cloneCalls(calls []store.Call) []store.Call {
	calls = slices.Clone(calls)
	for i := range calls {
		calls[i].Data = bytes(calls[i].Data)
	}
	return calls
}
