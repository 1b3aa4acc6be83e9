package memory

import (
	"context"

	"github.com/perdure/perdure/store"
)

// tenure is the record of one ownership.
type tenure struct {
	store.Ownership
	over   int64 // the moment it ended, 0 while it lasts
	proved bool  // its node is known to have been alive after it
}

// free ends the ownership that lasts, if one does.
func (p *partition) free(moment int64) {
	if p.node == "" {
		return
	}
	p.tenures[len(p.tenures)-1].over = moment
	p.node = ""
}

// claim begins an ownership.
func (p *partition) claim(node string, moment, now int64) store.Ownership {
	before := p.node
	p.free(moment)
	if before == node { // a node that claims its own partition is alive
		p.tenures[len(p.tenures)-1].proved = true
	}
	p.tick(now)
	p.epoch++
	p.node = node
	o := store.Ownership{Partition: p.id, Epoch: p.epoch, Node: node, Since: p.clock, Clock: p.clock}
	p.tenures = append(p.tenures, tenure{Ownership: o})
	return o
}

// survived reports whether the node, nil if it is forgotten, lived on after.
func (t *tenure) survived(m *member) bool {
	return t.over > 0 && (t.proved || m != nil && m.alive > t.over)
}

// remember keeps what is known of a node that is about to be forgotten.
func (p *partition) remember(m *member) {
	for i := range p.tenures {
		if t := &p.tenures[i]; t.Node == m.ID {
			t.proved = t.survived(m)
		}
	}
}

func (h *handle) Claim(ctx context.Context, node string, ids []int) ([]store.Ownership, error) {
	if err := h.writePartitions(ctx, ids); err != nil {
		return nil, err
	}
	defer h.done()
	db := h.db
	for _, id := range ids {
		if db.partition(id) == nil {
			return nil, store.NoPartition(id)
		}
	}
	if m := db.member(node); m == nil || m.left != 0 {
		return nil, store.ErrReplaced
	}
	now, moment := db.clock(), db.moment()
	var claimed []store.Ownership
	for _, p := range db.these(ids) {
		owner := db.member(p.node)
		if p.node == node || owner == nil || !owner.live(now) {
			claimed = append(claimed, p.claim(node, moment, now))
		}
	}
	return claimed, nil
}

func (h *handle) Release(ctx context.Context, node string, ids []int) error {
	if err := h.writePartitions(ctx, ids); err != nil {
		return err
	}
	defer h.done()
	db := h.db
	for _, p := range db.these(ids) {
		if p.node == node && node != "" {
			p.free(db.moment())
			p.tenures[len(p.tenures)-1].proved = true
			db.announce(store.NewsNodes)
		}
	}
	return nil
}

// writePartitions is write for a verb that names partitions.
func (h *handle) writePartitions(ctx context.Context, ids []int) error {
	for _, id := range ids {
		if err := h.db.info.Check(id); err != nil {
			return err
		}
	}
	return h.write(ctx)
}

func (h *handle) Owners(ctx context.Context, id int) ([]store.Ownership, error) {
	p, err := h.readPartition(ctx, id)
	if err != nil {
		return nil, err
	}
	defer h.db.mu.RUnlock()
	var owners []store.Ownership
	for i := range p.tenures {
		t := &p.tenures[i]
		o := t.Ownership
		m := h.db.member(t.Node)
		o.Survived = t.survived(m)
		o.Ended = t.over > 0 && m != nil && m.left != 0
		owners = append(owners, o)
	}
	return owners, nil
}
