package engine

import (
	"github.com/perdure/perdure/internal/placement"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/internal/suspicion"
)

// location is a location with its mail and its runs. Its fields below suspicion are guarded by the
// engine's mu.
type location struct {
	placement.Location
	engine    *Engine
	box       *post.Box
	suspicion *suspicion.Place

	missed bool // runs have arrived while it was closed and were not woken
	active int  // residents with a turn in progress, and running attempts
}

// locations are those that this node owns. They change with the engine's mu held.
type locations struct {
	placement.Locations[*location]
	engine *Engine
}

// owns returns the location if this node serves it and is not handing it over.
func (l *locations) owns(number int) *location {
	if l.engine.life.phase != running && l.engine.life.phase != draining {
		return nil
	}
	p := l.At(number)
	if p == nil || p.Closed() {
		return nil
	}
	return p
}

// learnLineage reads the owners of a partition, once, and again when runs have arrived from
// other places.
func (p *location) learnLineage() error {
	e := p.engine
	return p.Lineage.Learn(e.life.ctx, e.db.Store, e.db.reads, p.Partition)
}

// servesOf reports whether this node serves a partition or a ward of it.
func (l *locations) servesOf(partition int) bool {
	return l.At(partition) != nil || l.engine.nodes.HasWards(partition) && l.ServesAny(partition)
}

// boxOf returns the box of a location, nil if this node does not serve it.
func (l *locations) boxOf(number int) *post.Box {
	if p := l.At(number); p != nil {
		return p.box
	}
	return nil
}

// boxes returns the boxes of the locations that this node looks after, or of all that it serves.
func (l *locations) boxes(all bool) (boxes []*post.Box) {
	for _, p := range l.Served() {
		if all || !p.Closed() {
			boxes = append(boxes, p.box)
		}
	}
	return boxes
}
