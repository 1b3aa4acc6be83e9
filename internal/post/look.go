package post

import (
	"maps"
	"slices"

	"github.com/perdure/perdure/store"
)

// A look reads the inbox of locations once, in pages. Regular looks follow the news; they read
// all locations that this node looks after, and stop early when so many turns are in progress
// that more messages have to wait. A look that runs wait for reads to the end of their
// locations or, of a long inbox while the node is crowded, only the messages for them; and one
// look serves all that began to wait before it began.

// Look is a look at the inbox in progress.
type Look struct {
	// Whole says that it reached the end, and passed over nothing but what PassOver says;
	// Through that it did so with what runs wait for.
	Whole, Through bool

	office *Office
	boxes  []*Box
	began  int64 // engine time
	asked  Asked // nil for a regular look
	passed map[*Box]bool
	leaves bool // what nobody waits for
}

// Asked are the workflow IDs whose runs wait for a look, by box. The ID "" stands for all of the
// box. A location that is being handed over is only looked at if it is asked for.
type Asked map[*Box]map[string]bool

func (a Asked) add(b *Box, workflowID string) {
	if a[b] == nil {
		a[b] = map[string]bool{}
	}
	a[b][workflowID] = true
}

// Ask makes the next look that runs wait for read the messages for the runs of a workflow ID.
func (b *Box) Ask(workflowID string) {
	o := b.office
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.asked == nil {
		o.asked = Asked{}
	}
	o.asked.add(b, workflowID)
}

// HeardSince reports whether a look that began at a time or later has read the box to its end. A
// time of 0 asks for any since the location was taken.
func (b *Box) HeardSince(at int64) bool {
	b.office.mu.Lock()
	defer b.office.mu.Unlock()
	return b.heard >= max(at, 1)
}

// Heard is HeardSince for who has asked: it takes back what it asked for if it was heard.
func (b *Box) Heard(at int64, workflowID string) bool {
	o := b.office
	o.mu.Lock()
	defer o.mu.Unlock()
	heard := max(b.heard, b.answered[workflowID])
	if delete(b.answered, workflowID); heard < max(at, 1) {
		return false
	}
	if delete(o.asked[b], workflowID); len(o.asked[b]) == 0 {
		delete(o.asked, b)
	}
	return true
}

// Begin begins a look at boxes. Messages consumed before Begin cannot appear in it.
func (o *Office) Begin(now int64, boxes []*Box) *Look { return o.begin(now, boxes, nil) }

// BeginAsked begins the look at those of the served boxes for which runs have asked, and for the
// workflow ID at b: an earlier look may have taken what it asked for, and passed messages over.
func (b *Box) BeginAsked(now int64, workflowID string, served []*Box) *Look {
	o := b.office
	o.mu.Lock()
	asked := o.asked
	if o.asked = nil; asked == nil {
		asked = Asked{}
	}
	asked.add(b, workflowID)
	o.mu.Unlock()
	served = slices.DeleteFunc(served, func(box *Box) bool { return asked[box] == nil })
	return o.begin(now, served, asked)
}

func (o *Office) begin(now int64, boxes []*Box, asked Asked) *Look {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, b := range boxes {
		for _, s := range b.consumed {
			if b.known[s] { // else it was forgotten, and may be delivered again
				b.gone = append(b.gone, s)
			}
		}
		b.consumed = b.consumed[:0]
	}
	return &Look{office: o, boxes: boxes, began: now, asked: asked}
}

// Locations returns what the look reads, sorted. It is never nil, because to the store nil means all.
func (l *Look) Locations() []int {
	list := make([]int, len(l.boxes))
	for i, b := range l.boxes {
		list[i] = b.location
	}
	slices.Sort(list)
	return list
}

// Awaited reports whether runs wait for the look.
func (l *Look) Awaited() bool { return l.asked != nil }

// Awaits returns the workflow IDs whose runs wait for the look, nil if some wait for all of a box.
func (l *Look) Awaits() (workflowIDs []string) {
	for _, of := range l.asked {
		if of[""] {
			return nil
		}
		workflowIDs = slices.AppendSeq(workflowIDs, maps.Keys(of))
	}
	slices.Sort(workflowIDs)
	return slices.Compact(workflowIDs)
}

// Asks reports whether runs of a location wait for the look. There is none for messages that no
// run waits for: then l is nil.
func (l *Look) Asks(b *Box) bool { return l != nil && l.asked[b] != nil }

// PassOver notes that the look leaves a message of a location in the inbox, so that who waits for
// what it has reads it again. A message that no look has brought has a nil look.
func (l *Look) PassOver(b *Box) {
	if l == nil {
		return
	}
	if l.passed == nil {
		l.passed = map[*Box]bool{}
	}
	l.passed[b] = true
}

// Leaves reports whether the look leaves the messages of a page in the inbox for which no run waits,
// because the page is one of many and the node is crowded. Once it does it goes on to: of the
// messages for one run it must not deliver a later one before an earlier one.
func (l *Look) Leaves(crowded bool) bool {
	l.leaves = l.leaves || crowded && l.Awaited()
	return l.leaves
}

// Wants reports whether runs wait for a message.
func (l *Look) Wants(b *Box, m *store.Message) bool {
	ids := l.asked[b]
	return ids[""] || ids[m.WorkflowID]
}

// End ends the look, and forgets what only it needed.
func (l *Look) End() {
	o := l.office
	o.mu.Lock()
	defer o.mu.Unlock()
	read := map[*Box]bool{}
	for _, b := range l.boxes {
		read[b] = true
		switch {
		case l.passed[b]:
		case l.Whole:
			b.heard = max(b.heard, l.began)
			b.answered = nil
		case l.Through && l.asked[b][""]: // all of this box
			b.heard = max(b.heard, l.began)
		case l.Through:
			if b.answered == nil {
				b.answered = map[string]int64{}
			}
			for workflowID := range l.asked[b] {
				b.answered[workflowID] = l.began
			}
		}
		b.forget(b.gone...)
		b.gone = b.gone[:0]
	}
	maps.DeleteFunc(o.routes, func(_ string, to Route) bool { return to.Stage == Continued && read[to.Box] })
}
