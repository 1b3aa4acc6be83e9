package post

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/perdure/perdure/store"
)

// A message is a row of the database's inbox until a durable turn consumes it. In memory it
// waits in one of two places and moves from one to the other:
//
//   - in the mailbox of a resident, which steps because of it;
//   - among the deferred mail of its location, under the cause of the wait, where it causes no
//     step.
//
// One place is not enough. Deferred mail in a mailbox would load its run again and again
// although the run cannot take it, and a message for a run that has not begun has no mailbox.
// Mail that a run can take, on the other hand, waits for no cause but the run itself. A
// message waits in only one place and is delivered once because of Box.known: routing claims
// the sequence number there, and it is forgotten only when the message has left both places.

// Office knows which message waits where at the locations of this node. It is safe for
// concurrent use. Its locks come after those of its caller, and it calls nobody.
type Office struct {
	mu     sync.Mutex
	boxes  map[int]map[*Box]bool // by partition
	routes map[string]Route      // by workflow ID
	asked  Asked                 // by runs that wait for the next look
}

// NewOffice returns an Office without locations.
func NewOffice() *Office { return &Office{boxes: map[int]map[*Box]bool{}, routes: map[string]Route{}} }

// Box is what the owner of a location knows of its messages.
type Box struct {
	office   *Office
	location int
	home     int         // the partition
	defers   atomic.Bool // some mail is deferred

	// Guarded by the office's mutex:

	// heard is the engine time at which the last look began that has read the box to its end, 0
	// for none since the location was taken; answered is the same for the messages of those
	// workflow IDs for which a look was asked, until who asked hears of it.
	heard    int64
	answered map[string]int64
	// known has the sequence numbers of messages that wait in memory (false) or are consumed
	// (true). Consumed ones stay until no look at the inbox can show them any more.
	known map[int64]bool
	// consumed are the messages that were consumed since the last look began, and gone those that
	// were before the current one.
	consumed, gone []int64
	// deferred is mail that waits for a cause to end.
	deferred map[cause][]Mail
	// starts are the runs whose start messages wait, by workflow ID.
	starts map[string]map[string]bool
	// unread are the messages with ends of attempts that cannot be read here.
	unread map[store.TaskRef]int64
}

// cause is why mail is deferred: its run cannot take it in its present state (see
// core.Run.Takes), or the start message of its run waits, or that of another run of the workflow
// ID.
type cause struct {
	unstarted bool
	of        string // the run, or the workflow ID
}

// Open returns the box of a location that this node has taken.
func (o *Office) Open(location int) *Box {
	home, _ := store.SplitPlace(location)
	b := &Box{
		office: o, location: location, home: home,
		known: map[int64]bool{}, deferred: map[cause][]Mail{}, starts: map[string]map[string]bool{}, unread: map[store.TaskRef]int64{},
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.boxes[home] == nil {
		o.boxes[home] = map[*Box]bool{}
	}
	o.boxes[home][b] = true
	return b
}

// Close forgets the box of a location that this node has lost.
func (b *Box) Close() {
	b.office.mu.Lock()
	defer b.office.mu.Unlock()
	delete(b.office.boxes[b.home], b)
	delete(b.office.asked, b)
}

// Claim records that a message is about to be delivered. It returns false if that has happened
// before, at this location or at another one of its partition: the run for which it is may have
// moved between two looks.
func (b *Box) Claim(sequence int64) bool {
	b.office.mu.Lock()
	defer b.office.mu.Unlock()
	for other := range b.office.boxes[b.home] {
		if _, known := other.known[sequence]; known {
			return false
		}
	}
	b.known[sequence] = false
	return true
}

// PassOn lets a message that was read as one for a run at a location be known where that is in
// memory.
func (b *Box) PassOn(to *Box, sequence int64) {
	if b == to || sequence == 0 {
		return
	}
	b.office.mu.Lock()
	defer b.office.mu.Unlock()
	if _, known := b.known[sequence]; !known {
		return
	}
	delete(b.known, sequence)
	to.known[sequence] = false
	for ref, s := range b.unread {
		if s == sequence {
			delete(b.unread, ref)
			to.unread[ref] = s
		}
	}
}

// Consumed records that a durable turn has consumed messages.
func (b *Box) Consumed(sequences []int64) {
	if len(sequences) == 0 {
		return
	}
	b.office.mu.Lock()
	defer b.office.mu.Unlock()
	for _, s := range sequences {
		b.known[s] = true
	}
	b.consumed = append(b.consumed, sequences...)
	if len(b.unread) > 0 {
		maps.DeleteFunc(b.unread, func(_ store.TaskRef, s int64) bool { return slices.Contains(sequences, s) })
	}
}

// Forget lets the next look at the inbox deliver messages again.
func (b *Box) Forget(sequences ...int64) {
	if len(sequences) == 0 {
		return
	}
	b.office.mu.Lock()
	defer b.office.mu.Unlock()
	b.forget(sequences...)
}

func (b *Box) forget(sequences ...int64) {
	for _, s := range sequences {
		delete(b.known, s)
	}
}

// ForgetAt is Forget for all locations of a partition.
func (o *Office) ForgetAt(home int, sequences []int64) {
	if len(sequences) == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for b := range o.boxes[home] {
		b.forget(sequences...)
	}
}

// Deferred returns the mail that a run could not take so far.
func (b *Box) Deferred(run string) []Mail {
	if !b.defers.Load() {
		return nil // the usual case
	}
	b.office.mu.Lock()
	defer b.office.mu.Unlock()
	return b.deferred[cause{of: run}]
}

// Defer keeps mail that a run cannot take, in place of what it could not take so far.
func (b *Box) Defer(run string, all []Mail) {
	b.office.mu.Lock()
	defer b.office.mu.Unlock()
	if len(all) == 0 {
		b.take(cause{of: run})
		return
	}
	b.deferred[cause{of: run}] = all
	b.defers.Store(true)
}

// TakeDeferred returns the mail that a run could not take so far, which no longer waits.
func (b *Box) TakeDeferred(run string) []Mail {
	b.office.mu.Lock()
	defer b.office.mu.Unlock()
	return b.take(cause{of: run})
}

func (b *Box) take(c cause) []Mail {
	all := b.deferred[c]
	delete(b.deferred, c)
	b.defers.Store(len(b.deferred) > 0)
	return all
}

// AwaitStart records that the start message of a run waits in the inbox: this version cannot
// read it, or another run is about to get the workflow ID, or the row of the run could not be
// written. The next owner of the location routes it again, or this one when the reason is gone.
// The mail for runs of the ID waits with it.
func (b *Box) AwaitStart(workflowID, run string, mail ...Mail) {
	b.office.mu.Lock()
	defer b.office.mu.Unlock()
	b.awaitStart(workflowID, run, mail)
}

func (b *Box) awaitStart(workflowID, run string, mail []Mail) {
	if b.starts[workflowID] == nil {
		b.starts[workflowID] = map[string]bool{}
	}
	b.starts[workflowID][run] = true
	if len(mail) > 0 {
		c := cause{true, workflowID}
		b.deferred[c] = append(b.deferred[c], mail...)
		b.defers.Store(true)
	}
}

// DeferUntilStart defers a message for a run whose start message waits. If run is "", the
// message is for the latest run of its workflow ID.
func (b *Box) DeferUntilStart(sequence int64, workflowID, run string) bool {
	b.office.mu.Lock()
	defer b.office.mu.Unlock()
	if runs := b.starts[workflowID]; len(runs) == 0 || run != "" && !runs[run] {
		return false
	}
	c := cause{true, workflowID}
	b.deferred[c] = append(b.deferred[c], Mail{Sequence: sequence})
	b.defers.Store(true)
	return true
}

// started records that the start message of a run no longer waits. It reports whether messages
// are to be routed again because they waited for that.
func (b *Box) started(workflowID, run string) (again bool) {
	runs := b.starts[workflowID]
	if !runs[run] {
		return false
	}
	if delete(runs, run); len(runs) == 0 {
		delete(b.starts, workflowID)
	}
	return b.routeAgain(workflowID)
}

// routeAgain lets the next look route the mail again that waited for a start.
func (b *Box) routeAgain(workflowID string) bool {
	waited := b.take(cause{true, workflowID})
	b.forget(Sequences(waited)...)
	return len(waited) > 0
}

// NoteUnread says that the end of an attempt cannot be read.
func (b *Box) NoteUnread(ref store.TaskRef, sequence int64) {
	b.office.mu.Lock()
	defer b.office.mu.Unlock()
	b.unread[ref] = sequence
}

// IsUnread reports whether the end of an attempt is in the inbox and cannot be read here.
func (b *Box) IsUnread(ref store.TaskRef) bool {
	b.office.mu.Lock()
	defer b.office.mu.Unlock()
	_, is := b.unread[ref]
	return is
}

// WithUnread adds to the messages that a turn consumes the unreadable ends of attempts that
// are over, which are no longer needed.
func (b *Box) WithUnread(over []store.TaskRef, consumed []int64) []int64 {
	b.office.mu.Lock()
	defer b.office.mu.Unlock()
	for _, ref := range over {
		if s, is := b.unread[ref]; is && !slices.Contains(consumed, s) {
			consumed = append(consumed, s)
		}
	}
	return consumed
}

// Pending returns how many messages wait in memory, and how many of them cannot be read.
func (b *Box) Pending() (waiting, unread int) {
	b.office.mu.Lock()
	defer b.office.mu.Unlock()
	for _, consumed := range b.known {
		if !consumed {
			waiting++
		}
	}
	return waiting, len(b.unread)
}
