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

// due is a time at which to look at a call. It is void if the call's due time has changed
// since.
type due struct {
	at   int64
	call *Call
}

// Before implements heap.Element. Of several calls at one time the first has the lowest number.
func (d due) Before(o due) bool { return d.at < o.at || d.at == o.at && d.call.Number < o.call.Number }

// Stands implements heap.Element.
func (due) Stands(int) {}

// watch schedules a look at a call that has a due time.
func (t *callTable) watch(c *Call) {
	if c.due > 0 {
		t.dues.Push(due{at: t.lookAt(c), call: c})
	}
}

// nextDue returns when to look at the first call, or Never.
func (t *callTable) nextDue() int64 {
	for len(t.dues) > 0 {
		if d := t.dues[0]; d.call.due > 0 && t.lookAt(d.call) == d.at && !d.call.Done {
			return d.at
		}
		t.dues.Pop()
	}
	return Never
}

// lookAt returns when to look at a call that has a due time. The attempt that ends a
// backoff is recorded a little ahead of its time, so that it is durable when its time
// comes. It is recorded even earlier if it needs no slot until then. A call that must not run
// again after a loss is an exception: its attempt is recorded when it begins, not before.
func (t *callTable) lookAt(c *Call) int64 {
	switch {
	case c.state != Backoff || crashLimit(c.Policy) == 1:
		return c.due
	case c.early:
		return c.due - t.journal.config.Early
	}
	return c.due - t.journal.config.Ahead
}

// awaitBackoff watches for the end of a call's backoff.
func (t *callTable) awaitBackoff(c *Call) {
	c.early = t.journal.config.Unslotted != nil && c.MayWaitOnRecord()
	t.watch(c)
}

// mayEndBackoff reports whether the attempt that ends a backoff may be recorded now. Without a
// slot it may not if other calls wait long for slots; it is then looked at again nearer to
// its due time.
func (t *callTable) mayEndBackoff(c *Call) bool {
	c.unslotted = c.early && t.journal.config.Unslotted()
	if c.early && !c.unslotted {
		c.early = false
		t.watch(c)
		return false
	}
	return true
}

// writeTask keeps the queue's row in step with the call. The row exists while the attempt
// is offered, and until a claimed attempt has ended.
func (t *callTable) writeTask(c *Call) {
	want := 0
	if !c.Done && (c.state == Offered || c.state == Remote) {
		want = c.attempt
	}
	if c.Task != 0 && c.Task != want {
		ref := AttemptRef{c.Number, c.Task}
		switch {
		case !c.Claimed:
			t.journal.out.Withdrawn = append(t.journal.out.Withdrawn, ref)
		case c.abandoned:
			t.journal.out.GivenUp = append(t.journal.out.GivenUp, ref)
		default:
			t.journal.out.Over = append(t.journal.out.Over, ref)
		}
		c.Task, c.Claimed, c.abandoned = 0, false, false
		t.offered = slices.DeleteFunc(t.offered, func(o *Call) bool { return o == c }) // else a worker would find it
	}
	if want != 0 && c.Task == 0 {
		c.Task, c.Claimed = want, false
		t.offered = append(t.offered, c)
	}
}

// offerAgain tells the queue of an offered attempt that the end of its time has moved.
func (t *callTable) offerAgain(c *Call) {
	if c.state == Offered && c.Task != 0 && !c.Claimed && !slices.Contains(t.offered, c) {
		t.offered = append(t.offered, c)
	}
}
