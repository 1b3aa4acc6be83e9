package engine

import (
	"maps"
	"slices"

	"github.com/perdure/perdure/store"
)

// A message is a row of the database's inbox until a durable turn consumes it. In memory it
// waits in one of two places and moves from one to the other:
//
//   - in the mailbox of a resident, which steps because of it;
//   - among the deferred mail of its partition, under the cause of the wait, where it
//     causes no step.
//
// One place is not enough. Deferred mail in a mailbox would load its run again and again
// although the run cannot take it, and a message for a run that has not begun has no mailbox.
// Mail that a run can take, on the other hand, waits for no cause but the run itself. A
// message waits in only one place and is delivered once because of inbox.known: routing
// claims the sequence number there, and it is forgotten only when the message has left both
// places.

// inbox is what the owner of a partition knows of its messages. It is guarded by the engine's
// mu.
type inbox struct {
	// heard is the engine time at which the last look began that has read it to its end, 0 for
	// none since the partition was taken.
	heard int64
	// known has the sequence numbers of messages that wait in memory (false) or are consumed
	// (true). Consumed ones stay until no look at the inbox can show them any more.
	known map[int64]bool
	// gone are the known messages that were consumed before the current look began.
	gone []int64
	// deferred is mail that waits for a cause to end.
	deferred map[cause][]mail
	// starts are the runs whose start messages wait, by workflow ID.
	starts map[string]map[string]bool
	// unread are the messages with ends of attempts that cannot be read here.
	unread map[store.TaskRef]int64
}

func newInbox() inbox {
	return inbox{known: map[int64]bool{}, deferred: map[cause][]mail{}, starts: map[string]map[string]bool{}, unread: map[store.TaskRef]int64{}}
}

// cause is why mail is deferred.
type cause struct {
	reason reason
	of     string
}

type reason int

const (
	reasonUntaken reason = iota
	reasonUnstarted
)

// untaken is the cause of mail that a run cannot take in its present state; see
// core.Run.Takes. When that changes, the run gets the mail again.
func untaken(run string) cause { return cause{reasonUntaken, run} }

// unstarted is the cause of messages that may be for a run whose start message waits, and of a
// start message itself if another run is about to get the workflow ID. They are routed again
// when a start of the ID is decided.
func unstarted(workflowID string) cause { return cause{reasonUnstarted, workflowID} }

// put defers mail.
func (in *inbox) put(c cause, m mail) { in.deferred[c] = append(in.deferred[c], m) }

// take ends a cause and returns the mail that waited for it.
func (in *inbox) take(c cause) []mail {
	all := in.deferred[c]
	delete(in.deferred, c)
	return all
}

// forget lets the next look at the inbox deliver messages again.
func (in *inbox) forget(sequences ...int64) {
	for _, s := range sequences {
		delete(in.known, s)
	}
}

// routeAgain lets the next look at the inbox route messages again, soon. The engine's mu is
// held.
func (e *Engine) routeAgain(p *partition, all []mail) {
	if len(all) > 0 {
		p.inbox.forget(sequences(all)...)
		e.kickInbox()
	}
}

// leaveForLater leaves a message in the inbox until the next regular look.
func (e *Engine) leaveForLater(p *partition, sequences ...int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p.inbox.forget(sequences...)
}

// claim records that a message is about to be delivered. It returns nil if that has happened
// before, or if the message is not for this node.
func (e *Engine) claim(m store.Message, l *look) *partition {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.partitions[m.Partition]
	if p == nil || !l.may(p) || e.isKnown(p, m.Sequence) {
		return nil
	}
	p.inbox.known[m.Sequence] = false
	return p
}

// isKnown reports whether a message is known at a place, or at another one of its partition: the
// run for which it is may have moved between two looks. The engine's mu is held.
func (e *Engine) isKnown(p *partition, sequence int64) bool {
	if _, known := p.inbox.known[sequence]; known || !e.nodes.HasWards(p.home) {
		return known
	}
	for _, other := range e.partitions {
		if _, known := other.inbox.known[sequence]; known && other.home == p.home {
			return true
		}
	}
	return false
}

// passOn lets a message that was read as one for a run at a place be known where that is in
// memory. The engine's mu is held.
func (p *partition) passOn(to *partition, sequence int64) {
	if _, known := p.inbox.known[sequence]; !known || p == to {
		return
	}
	delete(p.inbox.known, sequence)
	to.inbox.known[sequence] = false
	for ref, s := range p.inbox.unread {
		if s == sequence {
			delete(p.inbox.unread, ref)
			to.inbox.unread[ref] = s
		}
	}
}

// consumed records that a durable turn has consumed messages. The engine's mu is held.
func (in *inbox) consumed(sequences []int64) {
	for _, s := range sequences {
		in.known[s] = true
	}
	if len(in.unread) > 0 {
		maps.DeleteFunc(in.unread, func(_ store.TaskRef, s int64) bool { return slices.Contains(sequences, s) })
	}
}

// awaitStart records that the start message of a run waits in the inbox: this version cannot
// read it, or another run is about to get the workflow ID, or the row of the run could not be
// written. The next owner of the partition routes it again, or this one when the reason is
// gone. Messages for the run wait with it.
func (in *inbox) awaitStart(workflowID, run string) {
	if in.starts[workflowID] == nil {
		in.starts[workflowID] = map[string]bool{}
	}
	in.starts[workflowID][run] = true
}

// awaitsStart reports whether the start message of a run waits, or of any run of the workflow
// ID if run is "".
func (in *inbox) awaitsStart(workflowID, run string) bool {
	runs := in.starts[workflowID]
	return len(runs) > 0 && (run == "" || runs[run])
}

// started records that the start message of a run no longer waits. The engine's mu is held.
func (e *Engine) started(p *partition, workflowID, run string) {
	if runs := p.inbox.starts[workflowID]; runs[run] {
		if delete(runs, run); len(runs) == 0 {
			delete(p.inbox.starts, workflowID)
		}
		e.routeAgain(p, p.inbox.take(unstarted(workflowID)))
	}
}

// deferUntilStart defers a message for a run whose start message waits. If run is "", the
// message is for the latest run of its workflow ID.
func (e *Engine) deferUntilStart(p *partition, m store.Message, run string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !p.inbox.awaitsStart(m.WorkflowID, run) {
		return false
	}
	p.inbox.put(unstarted(m.WorkflowID), mail{sequence: m.Sequence})
	return true
}
