package gates

// queue is a binary heap that an entry can leave in amortized constant time: its item stays
// as a stale one until it gets to the top, or until half of the items are stale. Items copy
// the fields that order them, so that a stale item keeps its place whatever happens to its
// entry.
type queue[K comparable] struct {
	items []item[K]
	stale int
}

// item is one stay of an entry in a queue.
type item[K comparable] struct {
	rank, came, number int64 // the order: lower first
	entry              *entry[K]
	stay               int // stale unless equal to that of the entry
}

func (i *item[K]) isStale() bool { return i.stay != i.entry.stay || i.entry.home == nil }

func (i *item[K]) before(j *item[K]) bool {
	if i.rank != j.rank {
		return i.rank < j.rank
	}
	if i.came != j.came {
		return i.came < j.came
	}
	return i.number < j.number
}

// push adds an entry that is in no queue.
func (q *queue[K]) push(e *entry[K], rank, came int64) {
	e.stay++
	e.home = q
	q.items = append(q.items, item[K]{rank: rank, came: came, number: e.Number, entry: e, stay: e.stay})
	q.up(len(q.items) - 1)
}

// top returns the first entry, or nil.
func (q *queue[K]) top() *entry[K] {
	for len(q.items) > 0 && q.items[0].isStale() {
		q.drop()
		q.stale--
	}
	if len(q.items) == 0 {
		return nil
	}
	return q.items[0].entry
}

// pop removes the entry that top returned.
func (q *queue[K]) pop() {
	q.items[0].entry.home = nil
	q.drop()
}

// leave removes an entry from anywhere in the queue.
func (q *queue[K]) leave(e *entry[K]) {
	e.home = nil
	q.stale++
	if q.stale <= len(q.items)/2 {
		return
	}
	kept := q.items[:0]
	for _, i := range q.items {
		if !i.isStale() {
			kept = append(kept, i)
		}
	}
	clear(q.items[len(kept):])
	q.items, q.stale = kept, 0
	for i := len(q.items)/2 - 1; i >= 0; i-- {
		q.down(i)
	}
}

// len returns the number of entries.
func (q *queue[K]) len() int { return len(q.items) - q.stale }

// drop removes the first item.
func (q *queue[K]) drop() {
	last := len(q.items) - 1
	q.items[0] = q.items[last]
	q.items[last] = item[K]{}
	q.items = q.items[:last]
	q.down(0)
}

func (q *queue[K]) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !q.items[i].before(&q.items[parent]) {
			return
		}
		q.items[i], q.items[parent] = q.items[parent], q.items[i]
		i = parent
	}
}

func (q *queue[K]) down(i int) {
	for {
		first := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(q.items); child++ {
			if q.items[child].before(&q.items[first]) {
				first = child
			}
		}
		if first == i {
			return
		}
		q.items[i], q.items[first] = q.items[first], q.items[i]
		i = first
	}
}
