package placement

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/outage"
	"github.com/perdure/perdure/store"
)

// Owners are the owners that a partition and its wards had, and what became of them. The
// methods may be called on nil, of which nothing is known.
type Owners struct {
	All       []store.Ownership // by epoch
	Survivors []string          // nodes that lost it or handed it over, and survived
	Unheard   []string          // nodes of which only the end of their lease is known
	nodes     map[int64]string  // by epoch
}

// Node returns the owner under an epoch, "" if it is not known.
func (o *Owners) Node(epoch int64) string {
	if o == nil {
		return ""
	}
	return o.nodes[epoch]
}

// NewOwners evaluates owners, which are listed by epoch. What became of a node is what became
// of it after its last epoch: attempts that are still in flight belong to that epoch.
func NewOwners(all []store.Ownership) *Owners {
	o := &Owners{All: all, nodes: map[int64]string{}}
	last := map[string]store.Ownership{}
	for _, one := range all {
		o.nodes[one.Epoch] = one.Node
		if one.Over {
			last[one.Node] = one
		}
	}
	for node, one := range last {
		switch {
		case one.Survived:
			o.Survivors = append(o.Survivors, node)
		case !one.Ended:
			o.Unheard = append(o.Unheard, node)
		}
	}
	return o
}

// Lineage keeps the owners of a location: of a partition, or of a ward of one. They are read
// when a run is loaded, and again after runs have arrived from other locations, whose owners
// are owners of these runs as well. It is safe for concurrent use.
type Lineage struct {
	state atomic.Int64 // comings; negative while coming

	mu      sync.Mutex
	owners  *Owners // nil until they are read
	comings int     // how often runs have arrived
	coming  int     // requests in flight that bring runs
	learned int     // the value of comings when owners were read
}

// Owners returns the owners that were read last.
func (l *Lineage) Owners() *Owners {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.owners
}

// AdvancedBy returns the ID of the node that last recorded a command of the code of a run, "" if there
// is none or it is not known.
func (l *Lineage) AdvancedBy(past *core.Past) string {
	for _, t := range slices.Backward(past.Turns) {
		for _, ev := range t.Events {
			if ev.Kind.Command() || ev.Kind == history.CodeAdvanced {
				return l.Owners().Node(t.Epoch)
			}
		}
	}
	return ""
}

// Known reports whether the owners need not be read now, and how often runs have arrived.
func (l *Lineage) Known() (is bool, comings int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.owners != nil && l.learned == l.comings && l.coming == 0, l.comings
}

// Learn reads the owners of a partition, unless they are known.
func (l *Lineage) Learn(ctx context.Context, db store.Reader, watch *outage.Watch, partition int) error {
	known, comings := l.Known()
	if known {
		return nil
	}
	all, err := outage.Read(ctx, watch, "reading the owners of a partition", func(ctx context.Context) ([]store.Ownership, error) {
		return db.Owners(ctx, partition)
	})
	if err != nil {
		return err
	}
	owners := NewOwners(all)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.owners, l.learned = owners, comings
	return nil
}

// Learned returns how often runs had arrived when the owners were read.
func (l *Lineage) Learned() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.learned
}

// Since reports whether runs have arrived, or may arrive just now, since they had so often.
func (l *Lineage) Since(comings int) bool { return l.state.Load() != int64(comings) }

// changed makes a change visible to Since.
func (l *Lineage) changed() {
	if l.coming > 0 {
		l.state.Store(-1)
	} else {
		l.state.Store(int64(l.comings))
	}
}

// Arrived says that a run has arrived.
func (l *Lineage) Arrived() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.comings++
	l.changed()
}

// Bring surrounds a request that brings runs.
func (l *Lineage) Bring(request func()) {
	l.mu.Lock()
	l.coming++
	l.changed()
	l.mu.Unlock()
	request()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.coming--
	l.comings++
	l.changed()
}

// CameFrom makes the owners be read again if the last turn of a run that was loaded here was
// made under an epoch of another location whose owner is not known to be gone.
func (l *Lineage) CameFrom(last int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.owners == nil {
		return
	}
	var latest int64 // the latest known epoch of that location; older ones may have been deleted
	for _, o := range l.owners.All {
		if store.WardOf(o.Epoch) != store.WardOf(last) {
			continue
		}
		if latest = max(latest, o.Epoch); o.Epoch == last && o.Over {
			return
		}
	}
	if last >= latest {
		l.comings++
		l.changed()
	}
}
