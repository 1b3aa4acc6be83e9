package fair

import (
	"cmp"
	"container/heap"
	"maps"
	"slices"
)

// maxWeight is the greatest weight of a key. The least is 1, and 0 stands for it.
const maxWeight = 1000

// turn is what a service with weight 1 adds to a start tag.
const turn = 1 << 20

// Turns has the keys that are known, with something of each: what waits, what runs. The zero
// value has none. It is not safe for concurrent use.
type Turns[S any] struct {
	keys map[string]*Key[S]
	line keyHeap[S] // those that wait, and those that have waited and whose tag is not reached
	now  int64      // virtual time: the start tag of the key served last
	came int64
}

// Key is one key.
type Key[S any] struct {
	Name string
	// State is what the user keeps with the key.
	State S

	weight int64
	rank   int64
	tag    int64 // of its next service
	number int64 // orders keys with equal tags
	waits  bool  // it has something to be served
	used   bool  // it is kept although nothing waits
	at     int   // its index in line, -1 if it is not there
}

// Key returns a key, which it creates if there is none. The latest weight holds.
func (t *Turns[S]) Key(name string, weight int) *Key[S] {
	k := t.keys[name]
	if k == nil {
		if t.keys == nil {
			t.keys = map[string]*Key[S]{}
		}
		t.came++
		k = &Key[S]{Name: name, at: -1, number: t.came}
		t.keys[name] = k
	}
	k.weight = int64(min(max(weight, 1), maxWeight))
	return k
}

// Find returns a key, or nil.
func (t *Turns[S]) Find(name string) *Key[S] { return t.keys[name] }

// Len returns how many keys are known.
func (t *Turns[S]) Len() int { return len(t.keys) }

// All returns the keys by age.
func (t *Turns[S]) All() []*Key[S] {
	return slices.SortedFunc(maps.Values(t.keys), func(a, b *Key[S]) int { return cmp.Compare(a.number, b.number) })
}

// Wait says whether a key has something to be served now, and at which rank: lower ranks are
// served first, whatever the turns. A key that waits for nothing is forgotten in time, unless it
// is used.
func (t *Turns[S]) Wait(k *Key[S], waits, used bool, rank int64) {
	k.used = used
	switch {
	case k.at >= 0:
		if k.waits != waits || k.rank != rank {
			k.waits, k.rank = waits, rank
			heap.Fix(&t.line, k.at)
		}
	case waits:
		k.waits, k.rank, k.tag = true, rank, max(k.tag, t.now)
		heap.Push(&t.line, k)
	case !used:
		delete(t.keys, k.Name)
	}
}

// Next returns the key whose turn it is, or nil if none waits.
func (t *Turns[S]) Next() *Key[S] {
	for len(t.line) > 0 {
		k := t.line[0]
		if k.waits {
			return k
		}
		// Everybody else is served later than the key would be if it came back now: so it has no
		// advantage over them if it does.
		t.now = max(t.now, k.tag)
		heap.Pop(&t.line)
		if !k.used {
			delete(t.keys, k.Name)
		}
	}
	return nil
}

// Served says that something of a key that waits was served. Wait says whether it still does.
func (t *Turns[S]) Served(k *Key[S]) {
	t.now = max(t.now, k.tag)
	k.tag += turn / k.weight
	heap.Fix(&t.line, k.at)
}

// Charge says that something of a key was served out of turn. Its next turn comes as much later.
func (t *Turns[S]) Charge(k *Key[S]) {
	if k.tag = max(k.tag, t.now) + turn/k.weight; k.at >= 0 {
		heap.Fix(&t.line, k.at)
	} else {
		heap.Push(&t.line, k) // so that it is remembered until its turn would come
	}
}

// keyHeap orders keys by rank, tag and age.
type keyHeap[S any] []*Key[S]

func (h keyHeap[S]) Len() int { return len(h) }

func (h keyHeap[S]) Less(i, j int) bool {
	a, b := h[i], h[j]
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.tag, b.tag), cmp.Compare(a.number, b.number)) < 0
}

func (h keyHeap[S]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

func (h *keyHeap[S]) Push(x any) {
	k := x.(*Key[S])
	k.at = len(*h)
	*h = append(*h, k)
}

func (h *keyHeap[S]) Pop() any {
	old := *h
	last := len(old) - 1
	k := old[last]
	k.at, old[last] = -1, nil
	*h = old[:last]
	return k
}
