package core

import "container/heap"

// due is a time at which to look at a call. It is void if the call's due time has changed
// since.
type due struct {
	at   int64
	call *Call
}

// dueHeap orders due times, and calls with the same time by number.
type dueHeap []due

func (h dueHeap) Len() int { return len(h) }
func (h dueHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].call.Number < h[j].call.Number
}
func (h dueHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)   { *h = append(*h, x.(due)) }
func (h *dueHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = due{}
	*h = old[:len(old)-1]
	return last
}
func (h *dueHeap) pop() due { return heap.Pop(h).(due) }

// watch schedules a look at a call that has a due time.
func (t *callTable) watch(c *Call) {
	if c.due > 0 {
		heap.Push(&t.dues, due{at: t.lookAt(c), call: c})
	}
}

// nextDue returns when to look at the first call, or Never.
func (t *callTable) nextDue() int64 {
	for len(t.dues) > 0 {
		if d := t.dues[0]; d.call.due > 0 && t.lookAt(d.call) == d.at && !d.call.Done {
			return d.at
		}
		t.dues.pop()
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
