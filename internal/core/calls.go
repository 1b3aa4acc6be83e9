package core

import (
	"cmp"
	"maps"
	"slices"

	"github.com/perdure/perdure/internal/history"
)

// sorted returns the open calls by number.
func (t *callTable) sorted() []*Call {
	if len(t.byNumber) == 0 {
		return nil
	}
	return slices.SortedFunc(maps.Values(t.byNumber), func(c, d *Call) int { return cmp.Compare(c.Number, d.Number) })
}

// await says when to look at a call next.
func (t *callTable) await(c *Call, due int64) {
	c.due = due
	t.watch(c)
	t.touch(c)
}

// open adds the call that a command event begins.
func (t *callTable) open(e *history.Event) *Call {
	c := &Call{Number: e.Call, Kind: e.Kind, Name: e.Name, Queue: e.Queue, Trace: e.Trace, Input: e.Input, Shielded: e.Shielded}
	t.lastCall = max(t.lastCall, e.Call)
	t.byNumber[c.Number] = c
	t.opened = c
	return c
}

// forget removes a call from the open ones.
func (t *callTable) forget(c *Call) {
	if c.Child != nil {
		t.childCalls--
	}
	delete(t.byNumber, c.Number)
	t.touch(c)
}

// placeOf returns the place of a call that becomes done. Timers that are due at the same time
// and fire together share one, so that none of them is first.
func (t *callTable) placeOf(c *Call) int64 {
	if c.Kind != history.TimerStarted || c.Failure != nil {
		return t.journal.nextPlace()
	}
	same := timerPlace{t.journal.place, t.journal.currentTurn(), c.due}
	if t.journal.lastTimer != same {
		same.place = t.journal.nextPlace()
		t.journal.lastTimer = same
	}
	return t.journal.place
}

// setState moves a call to another state and updates the counts per state.
func (t *callTable) setState(c *Call, s CallState) {
	t.countState(c.state, -1)
	c.state = s
	t.countState(s, 1)
	t.noteLack(c, "")
}

// noteLack notes why a queued call cannot start here, or with "" that it can or need not.
func (t *callTable) noteLack(c *Call, why string) {
	if c.Unserved == why && c.unserved == (why != "") {
		return // the usual case
	}
	if lack := (Lack{c.Name, c.Unserved}); c.unserved {
		if t.unserved[lack]--; t.unserved[lack] == 0 {
			delete(t.unserved, lack)
		}
	}
	if c.Unserved != why {
		c.Unserved = why
		t.touch(c)
	}
	if c.unserved = why != ""; c.unserved {
		if t.unserved == nil {
			t.unserved = map[Lack]int{}
		}
		t.unserved[Lack{c.Name, why}]++
	}
}

// countState adds n to the counts that include a state.
func (t *callTable) countState(s CallState, n int) {
	switch s {
	case Offered, Remote:
		t.inQueues += n
	case Queued:
		t.queued += n
		t.busy += n
	case Dispatched:
		t.busy += n
	}
}

// touch marks the call's row as possibly changed.
func (t *callTable) touch(c *Call) {
	if !c.isDirty && t.journal.out != nil {
		c.isDirty = true
		t.dirty = append(t.dirty, c)
	}
}

// enqueue queues a ready attempt until it may ask for a slot again.
func (t *callTable) enqueue(c *Call) {
	if c.state == Queued {
		return // the row says so already
	}
	t.setState(c, Queued)
	t.await(c, c.queueDue())
}

// setUntold notes whether the hook for pauses still has to be called.
func (t *callTable) setUntold(c *Call, untold bool) {
	if c.Untold == untold {
		return
	}
	c.Untold = untold
	if untold {
		t.unnotified++
	} else {
		t.unnotified--
	}
	t.touch(c)
}

// notifyWaiting asks the caller to tell an operator that a call waits.
func (t *callTable) notifyWaiting(c *Call) {
	t.journal.out.Waiting = append(t.journal.out.Waiting, Waiting{
		AttemptRef: AttemptRef{c.Number, c.attempt}, Name: c.Name, State: c.state, Reason: c.Pause.Reason,
		Failures: c.Failures, Failure: c.Last, At: c.Pause.At,
	})
}

// markTold notes that an operator was told.
func (t *callTable) markTold(in Told) {
	if c := t.byNumber[in.Call]; c != nil && c.attempt == in.Attempt {
		t.setUntold(c, false)
	}
}

// awaitsClaim reports whether an attempt ended before the message that a worker claimed it
// has arrived. That message is on its way: it was posted first, but of messages posted at
// about the same time the later one may be seen first.
func (t *callTable) awaitsClaim(in AttemptEnded) bool {
	c := t.byNumber[in.Call]
	return c != nil && c.state == Offered && c.attempt == in.Attempt
}

func (t *callTable) startBlock(e *history.Event) {
	b := &Block{call: Call{Number: e.Call, Kind: e.Kind, Name: BlockName, Policy: cmp.Or(e.Policy, &zeroPolicy), Progress: Progress{attempt: 1, First: t.journal.now}}}
	if t.blocks == nil {
		t.blocks = map[int64]*Block{}
	}
	t.blocks[e.Call] = b
}

// noteBackoff notes that a timer is the backoff of a block, which has a row while the timer is
// open.
func (t *callTable) noteBackoff(c *Call, e *history.Event) {
	b := t.blocks[e.Block]
	if b == nil || e.Attempt == 0 {
		return // a deadline
	}
	if b.wait != nil { // a backoff that ended in this turn passes its row on
		c.hasRow, b.wait.hasRow = b.wait.hasRow, false
	}
	c.backoffOf, b.wait = b, c
	b.call.attempt, b.call.Failures, b.call.Last = e.Attempt+1, e.Attempt, e.Failure
	t.touch(c)
}

// dropForeignTries forgets the totals of tries that were made in another run, whose ledger has
// them.
func (t *callTable) dropForeignTries() {
	for _, b := range t.blocks {
		b.call.Totals = Totals{}
	}
}
