package placement

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/store"
)

// Location is a partition, or a ward of one, that this node owns. What Own says does not change.
type Location struct {
	Number    int // see store.Place
	Partition int // that holds the rows of its runs
	Ward      int // 0: the partition itself
	Epoch     int64
	Node      string // the node ID under which this process owns it
	Lineage   Lineage

	closed, lost atomic.Bool
}

// Own says what a new location is.
func (l *Location) Own(o store.Ownership, node string) {
	l.Number, l.Partition, l.Ward, l.Epoch, l.Node = o.Partition, Home(o.Partition), Ward(o.Partition), o.Epoch, node
}

// Tenure returns the location as attempts and waiting calls record it.
func (l *Location) Tenure() dispatch.Tenure {
	return dispatch.Tenure{Partition: l.Number, Epoch: l.Epoch}
}

// Lost reports whether this node does not serve the location any more: another node owns it and
// finds what is durable.
func (l *Location) Lost() bool { return l.lost.Load() }

// Closed reports whether the location is being handed over: nothing new starts in it.
func (l *Location) Closed() bool { return l.closed.Load() }

// Close begins to hand the location over, and Reopen keeps it after all.
func (l *Location) Close() { l.closed.Store(true) }

// Reopen is the opposite of Close.
func (l *Location) Reopen() { l.closed.Store(false) }

func (l *Location) at() *Location { return l }

// located is a type that embeds Location.
type located interface {
	comparable
	at() *Location
}

func base[L located](l L) *Location { return l.at() }

// Locations are those that this node serves. They are safe for concurrent use, and reading them
// takes no lock. The zero value has none.
type Locations[L located] struct {
	mu  sync.Mutex // one change at a time
	all atomic.Pointer[map[int]L]
}

func (ls *Locations[L]) now() map[int]L {
	if all := ls.all.Load(); all != nil {
		return *all
	}
	return nil
}

func (ls *Locations[L]) change(by func(all map[int]L)) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	all := maps.Clone(ls.now())
	if all == nil {
		all = map[int]L{}
	}
	by(all)
	ls.all.Store(&all)
}

// Add adds locations.
func (ls *Locations[L]) Add(added []L) {
	ls.change(func(all map[int]L) {
		for _, l := range added {
			if before, is := all[base(l).Number]; is {
				base(before).lost.Store(true)
			}
			all[base(l).Number] = l
		}
	})
}

// Drop forgets locations, which are lost.
func (ls *Locations[L]) Drop(dropped []L) {
	ls.change(func(all map[int]L) {
		for _, l := range dropped {
			base(l).lost.Store(true)
			if all[base(l).Number] == l {
				delete(all, base(l).Number)
			}
		}
	})
}

// At returns the location with a number, the zero value if this node does not serve it.
func (ls *Locations[L]) At(number int) L { return ls.now()[number] }

// Under returns the location that is served under a tenure, the zero value if it is not.
func (ls *Locations[L]) Under(t dispatch.Tenure) (none L) {
	if l, is := ls.now()[t.Partition]; is && base(l).Epoch == t.Epoch {
		return l
	}
	return none
}

// Served returns all locations.
func (ls *Locations[L]) Served() []L { return slices.Collect(maps.Values(ls.now())) }

// Open returns the locations that this node looks after: those that it is not handing over.
func (ls *Locations[L]) Open() []L {
	return slices.DeleteFunc(ls.Served(), func(l L) bool { return base(l).Closed() })
}

// Count returns how many there are.
func (ls *Locations[L]) Count() int { return len(ls.now()) }

// ServesAny reports whether this node serves a partition or a ward of it.
func (ls *Locations[L]) ServesAny(partition int) bool {
	for _, l := range ls.now() {
		if base(l).Partition == partition {
			return true
		}
	}
	return false
}

// Numbers returns the numbers of all locations; see Numbers.
func (ls *Locations[L]) Numbers() []int { return Numbers(ls.Served()) }

// Tenures returns the tenures of the locations that this node looks after.
func (ls *Locations[L]) Tenures() []dispatch.Tenure { return Tenures(ls.Open()) }

// Partitions returns the partitions of the locations that this node looks after; see Partitions.
func (ls *Locations[L]) Partitions() []int { return Partitions(ls.Open()) }

// Numbers returns the numbers of locations as the store names them, sorted. It is never nil,
// because to the store nil means all.
func Numbers[L located](of []L) []int {
	return sorted(of, func(l *Location) int { return l.Number })
}

// Partitions returns the partitions that hold the rows of locations, sorted and without
// duplicates. It is never nil.
func Partitions[L located](of []L) []int {
	return slices.Compact(sorted(of, func(l *Location) int { return l.Partition }))
}

func sorted[L located](of []L, number func(*Location) int) []int {
	list := make([]int, len(of))
	for i, l := range of {
		list[i] = number(base(l))
	}
	slices.Sort(list)
	return list
}

// Tenures returns the tenures of locations.
func Tenures[L located](of []L) []dispatch.Tenure {
	list := make([]dispatch.Tenure, len(of))
	for i, l := range of {
		list[i] = base(l).Tenure()
	}
	return list
}
