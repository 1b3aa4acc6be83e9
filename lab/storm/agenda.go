package storm

import "time"

// kind says what happens at the moment of an event.
type kind uint8

const (
	eventDue     kind = iota // an attempt is due
	eventTick                // the gate has something to do
	eventLate                // an attempt has waited too long at the gate
	eventTimeout             // an attempt has taken too long
	eventServed              // a server has done the work of a call
	eventAnswer              // a failure reaches its caller
	eventRead                // a client of a contended row reads it
	eventWrite               // ... and writes it
)

// call is one attempt of one task.
type call struct {
	task    int32
	attempt int32
}

// event is something that will happen.
type event struct {
	at    time.Duration
	order uint64 // of the events of one moment, the first planned comes first
	call  call
	kind  kind
	note  uint32 // what the dependency that planned it wants to remember
}

// agenda holds the events to come: a binary heap, so that a million of them
// cost no allocation each.
type agenda struct {
	heap    []event
	planned uint64
}

func (e *event) before(other *event) bool {
	return e.at < other.at || e.at == other.at && e.order < other.order
}

// plan puts an event on the agenda.
func (a *agenda) plan(e event) {
	a.planned++
	e.order = a.planned
	a.heap = append(a.heap, e)
	for i := len(a.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !a.heap[i].before(&a.heap[parent]) {
			return
		}
		a.heap[i], a.heap[parent] = a.heap[parent], a.heap[i]
		i = parent
	}
}

// next takes the first event from the agenda; false if there is none.
func (a *agenda) next() (event, bool) {
	if len(a.heap) == 0 {
		return event{}, false
	}
	first, last := a.heap[0], len(a.heap)-1
	a.heap[0] = a.heap[last]
	a.heap = a.heap[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if a.heap[child].before(&a.heap[least]) {
				least = child
			}
		}
		if least == i {
			return first, true
		}
		a.heap[i], a.heap[least] = a.heap[least], a.heap[i]
		i = least
	}
}
