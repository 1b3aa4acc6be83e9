package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/perdure/perdure/store"
)

// tenure is the record of one ownership. Its epoch may be past.
type tenure struct {
	store.Ownership
	over   int64 // the moment it ended; 0 if it is current
	proved bool  // the node is known to have been alive after the end
}

// place is a partition or a ward, with its owner.
type place struct {
	id    int // as store.Place returns it
	epoch int64
	node  string  // the owner; "" if there is none
	last  *tenure // the latest tenure; nil if there was none
}

// owned reports whether epoch is that of the current owner.
func (p *place) owned(epoch int64) bool { return p.node != "" && p.epoch == epoch }

// free ends the current ownership, if there is one.
func (p *place) free(moment int64) {
	if p.node != "" && p.last != nil { // else it is a ward that its node has not claimed yet
		p.last.over = moment
	}
	p.node = ""
}

// claim begins an ownership of the partition or of one of its wards.
func (p *partition) claim(at *place, node string, moment, now int64) store.Ownership {
	before := at.node
	at.free(moment)
	if before == node && at.last != nil { // a node that claims its own partition is alive
		at.last.proved = true
	}
	p.tick(now)
	at.epoch++
	at.node = node
	o := store.Ownership{Partition: at.id, Epoch: at.epoch, Node: node, Since: p.clock, Clock: p.clock}
	at.last = &tenure{Ownership: o}
	p.tenures = append(p.tenures, at.last)
	return o
}

// survived reports whether the node outlived the tenure. m is nil if the node is forgotten.
func (t *tenure) survived(m *member) bool {
	return t.over > 0 && (t.proved || m != nil && m.alive > t.over)
}

// remember records what is known of a node that is about to be forgotten.
func (p *partition) remember(m *member) {
	for i := range p.tenures {
		if t := p.tenures[i]; t.Node == m.ID {
			t.proved = t.survived(m)
		}
	}
}

func (h *handle) Claim(ctx context.Context, node string, ids []int) ([]store.Ownership, error) {
	if err := h.writeChecked(ctx, h.check(ids)); err != nil {
		return nil, err
	}
	defer h.done()
	db := h.db
	for _, id := range ids {
		if home, ward := store.SplitPlace(id); ward == 0 && db.partition(home) == nil {
			return nil, store.NoPartition(id)
		}
	}
	if m := db.member(node); m == nil || m.left != 0 {
		return nil, store.ErrReplaced
	}
	now, moment := db.clock(), db.moment()
	var claimed []store.Ownership
	for _, at := range db.places(ids) {
		owner := db.member(at.node)
		if at.node == node || owner == nil || !owner.live(now) {
			home, _ := store.SplitPlace(at.id)
			claimed = append(claimed, db.partition(home).claim(at, node, moment, now))
		}
	}
	return claimed, nil
}

func (h *handle) Release(ctx context.Context, node string, ids []int) error {
	if err := h.writeChecked(ctx, h.check(ids)); err != nil {
		return err
	}
	defer h.done()
	db := h.db
	for _, at := range db.places(ids) {
		if at.node == node && node != "" {
			at.free(db.moment())
			if at.last != nil {
				at.last.proved = true
			}
			db.announce(store.NewsNodes)
		}
	}
	return nil
}

func (h *handle) Owners(ctx context.Context, id int) ([]store.Ownership, error) {
	p, err := h.readPartition(ctx, id)
	if err != nil {
		return nil, err
	}
	defer h.db.mu.RUnlock()
	var owners []store.Ownership
	for i := range p.tenures {
		t := p.tenures[i]
		o := t.Ownership
		m := h.db.member(t.Node)
		o.Over = t.over > 0
		o.Survived = t.survived(m)
		o.Ended = t.over > 0 && m != nil && m.left != 0
		o.Partition = p.id
		owners = append(owners, o)
	}
	slices.SortFunc(owners, func(a, b store.Ownership) int { return cmp.Compare(a.Epoch, b.Epoch) })
	return owners, nil
}
