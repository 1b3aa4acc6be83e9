package fair

import (
	"cmp"
	"maps"
	"slices"

	"github.com/perdure/perdure/internal/heap"
)

// maxWeight is the greatest weight of a key. The least is 1, and 0 stands for it.
const maxWeight = 1000

// turn is what a service with weight 1 adds to a start tag.
const turn = 1 << 20

// Turns has the keys that are known, with something of each: what waits, what runs. The zero
// value has none. It is not safe for concurrent use.
type Turns[S any] struct {
	keys map[string]*Key[S]
	line heap.Heap[*Key[S]] // those that wait, and those that have waited and whose tag is not reached
	now  int64              // virtual time: the start tag of the key served last
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
			t.line.Fix(k.at)
		}
	case waits:
		k.waits, k.rank, k.tag = true, rank, max(k.tag, t.now)
		t.line.Push(k)
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
		t.line.Pop()
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
	t.line.Fix(k.at)
}

// Charge says that something of a key was served out of turn. Its next turn comes as much later.
func (t *Turns[S]) Charge(k *Key[S]) {
	if k.tag = max(k.tag, t.now) + turn/k.weight; k.at >= 0 {
		t.line.Fix(k.at)
	} else {
		t.line.Push(k) // so that it is remembered until its turn would come
	}
}

// Before implements heap.Element: keys are served by rank, tag and age.
func (k *Key[S]) Before(o *Key[S]) bool {
	return cmp.Or(cmp.Compare(k.rank, o.rank), cmp.Compare(k.tag, o.tag), cmp.Compare(k.number, o.number)) < 0
}

// Stands implements heap.Element.
func (k *Key[S]) Stands(at int) { k.at = at }
