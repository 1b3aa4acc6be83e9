package memory

import (
	"context"
	"slices"

	"github.com/perdure/perdure/store"
)

// ward returns nil if the partition has no ward with this number.
func (p *partition) ward(number int) *place {
	at := slices.IndexFunc(p.wards, func(w *place) bool { return w.id == store.Place(p.id, number) })
	if at < 0 {
		return nil
	}
	return p.wards[at]
}

// holds reports whether the epoch of a turn is that of the owner of its place.
func (p *partition) holds(t *store.Turn) bool {
	if t.Ward == 0 {
		return p.owned(t.Epoch)
	}
	w := p.ward(t.Ward)
	return w != nil && w.owned(t.Epoch)
}

// mail returns the messages for runs at one place.
func (p *partition) mail(all []store.Message, ward int) []store.Message {
	if ward == 0 && len(p.wards) == 0 {
		return all
	}
	var own []store.Message
	for _, m := range all {
		r := p.latest[m.WorkflowID]
		if m.Run != "" {
			r = p.runs[m.Run]
		}
		if r == nil && ward == 0 || r != nil && r.row.Ward == ward {
			m.Partition = store.Place(p.id, ward)
			own = append(own, m)
		}
	}
	return own
}

// readPlaces is readPartitions for a method that may name wards, too. It also returns which
// ward of each partition is meant.
func (h *handle) readPlaces(ctx context.Context, ids []int) (partitions []*partition, wards []int, err error) {
	if err := h.readThese(ctx, ids); err != nil {
		return nil, nil, err
	}
	for _, at := range h.db.places(ids) {
		home, ward := store.SplitPlace(at.id)
		partitions, wards = append(partitions, h.db.partition(home)), append(wards, ward)
	}
	return partitions, wards, nil
}

func (h *handle) Move(ctx context.Context, m store.Move) error {
	if err := h.writeChecked(ctx, m.Validate(h.db.info)); err != nil {
		return err
	}
	defer h.done()
	db := h.db
	p := db.partition(m.Partition)
	if p == nil || !p.holds(&store.Turn{Ward: m.Ward, Epoch: m.Epoch}) {
		return store.ErrFenced
	}
	r := p.runs[m.Run]
	switch {
	case r == nil:
		return store.ErrNotFound
	case !r.row.Status.Open():
		return store.ErrClosed
	}
	to, err := db.host(p, m.To, r.row.Group)
	switch {
	case err != nil:
		return err
	case r.row.Ward == to:
		return nil
	case r.row.Ward != m.Ward:
		return store.ErrElsewhere
	}
	r.row.Ward = to
	if m.Detail != nil {
		r.row.Detail = m.Detail
	}
	p.setWake(m.Run, r.row.Wake, store.Arrived)
	r.row.Wake = store.Arrived
	db.announce(store.NewsNodes | store.NewsMessage)
	return nil
}

// host returns the ward of a node in a partition, and creates it if there is none; 0 if node
// is "".
func (db *Database) host(p *partition, node, group string) (ward int, err error) {
	if node == "" {
		return 0, nil
	}
	now := db.clock()
	m := db.member(node)
	if m == nil || !m.live(now) || m.renewal.Draining || m.Group != group {
		return 0, store.ErrNoPlace
	}
	switch w := p.ward(m.ordinal); {
	case w == nil:
		var last int64
		for _, t := range p.tenures {
			if t.Ownership.Partition == store.Place(p.id, m.ordinal) {
				last = max(last, t.Epoch)
			}
		}
		p.wards = append(p.wards, &place{id: store.Place(p.id, m.ordinal), epoch: store.WardEpoch(m.ordinal, last), node: node})
	case w.node != node:
		return 0, store.ErrNoPlace // the node has given up the ward
	}
	return m.ordinal, nil
}

func (h *handle) Dissolve(ctx context.Context, id int, epoch int64, ward int) (bool, error) {
	if err := h.writeChecked(ctx, h.db.info.Check(id)); err != nil {
		return false, err
	}
	defer h.done()
	db := h.db
	p := db.partition(id)
	if p == nil || !p.owned(epoch) {
		return false, store.ErrFenced
	}
	w := p.ward(ward)
	if w == nil {
		return true, nil
	}
	if m := db.member(w.node); m != nil && m.live(db.clock()) {
		return false, nil
	}
	w.free(db.moment())
	p.wards = slices.DeleteFunc(p.wards, func(other *place) bool { return other == w })
	for _, r := range p.runs {
		if r.row.Ward == ward {
			r.row.Ward = 0
		}
	}
	db.announce(store.NewsMessage)
	return true, nil
}
