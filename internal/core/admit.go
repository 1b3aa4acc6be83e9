package core

import (
	"cmp"
	"slices"
)

// admitReady starts the ready attempts that have or get a slot and enqueues the rest. If the
// time of the run is over, it enqueues all.
func (a *attempts) admitReady(admit func(*Call) bool, over bool) {
	reserved, ready := a.reserved, a.ready
	a.reserved, a.ready = nil, nil
	for _, c := range reserved {
		switch {
		case c.state == Queued && c.holdsGates() && !over:
			a.dispatch(c)
			continue
		case c.state == Queued: // it waits on
			c.due = c.queueDue()
			a.calls.watch(c)
			ready = append(ready, c)
		}
		a.journal.out.Unused = append(a.journal.out.Unused, c.Number)
	}
	slices.SortStableFunc(ready, func(c, d *Call) int { return cmp.Compare(d.Priority, c.Priority) })
	for _, c := range ready {
		if c.Done || (c.state != "" && c.state != Queued) {
			continue
		}
		if over {
			a.calls.enqueue(c)
			continue
		}
		if a.gating.askNext(c) {
			continue
		}
		if c.Queue != "" && !c.Step() {
			a.offer(c)
			continue
		}
		admitted := admit(c)
		c.unslotted = false
		if admitted {
			a.dispatch(c)
			continue
		}
		a.calls.enqueue(c)
		a.calls.noteLack(c, a.gating.lacks(c))
	}
	if a.ready == nil {
		clear(ready)
		a.ready = ready[:0]
	}
}

// dispatch starts an admitted attempt.
func (a *attempts) dispatch(c *Call) {
	a.calls.setState(c, Dispatched)
	c.due, c.Returned, c.Owing = 0, 0, false
	c.StartedAt = max(a.journal.now, c.QueuedAt)
	c.Node = a.journal.config.Node
	if c.slotGroup > 0 { // perhaps only because of its activity
		c.OnProbation = true
	}
	if c.OnProbation {
		c.Group = c.slotGroup
	}
	a.calls.touch(c)
	a.journal.out.Dispatch = append(a.journal.out.Dispatch, a.dispatchOf(c))
}

// dispatchOf describes the coming attempt for the node or worker that runs it.
func (a *attempts) dispatchOf(c *Call) Dispatch {
	limit, terms := c.Policy.AttemptLimit(), c.terms()
	d := Dispatch{
		Call: c.Number, Attempt: c.attempt, Max: limit, Allowed: a.allowed(c), Final: c.Failures+1 >= limit && (limit == 1 || !c.probes()),
		Step: c.Step(), Probation: c.OnProbation,
		Name: c.Name, Queue: c.Queue, Priority: c.Priority, Trace: c.Trace, Input: c.Input,
		Scheduled: c.First, Queued: c.QueuedAt, Started: c.StartedAt, Latest: c.queueDue(),
		AttemptTimeout: terms.AttemptTimeout, HeartbeatTimeout: terms.HeartbeatTimeout, Details: c.Details,
	}
	d.Leased = c.leased()
	if c.asking() {
		about := *c.Doubt
		d.Doubt, d.VerifyBy, d.Final = &about, c.Verify.By, false
	}
	return d
}

// offer puts a ready attempt into its queue. It needs no slot here: the workers decide when
// to run it. The row in the queue says until when it may be claimed, so that none begins it
// later, even if no process serves the run then.
func (a *attempts) offer(c *Call) {
	a.calls.setState(c, Offered)
	a.calls.await(c, c.queueDue())
}

// describeOffers describes the newly queued attempts for the workers.
func (a *attempts) describeOffers() {
	for _, c := range a.calls.offered {
		a.journal.out.Offered = append(a.journal.out.Offered, a.dispatchOf(c))
	}
	a.calls.offered = a.calls.offered[:0]
}
