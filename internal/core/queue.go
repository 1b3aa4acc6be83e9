package core

import "slices"

// Claimed says that a worker has claimed an offered attempt and runs it.
type Claimed struct {
	AttemptRef
	Worker string // the worker's ID, which the ledger records
	At     int64
}

// WorkerGone says that the worker that ran an attempt is gone.
type WorkerGone struct {
	AttemptRef
	Worker string
	// Survived says that the worker's process lives or ended by itself. Survivors are such
	// workers: their losses no longer count against the call.
	Survived  bool
	Survivors []string
}

func (Claimed) input()    {}
func (WorkerGone) input() {}

// offer puts a ready attempt into its queue. It needs no slot here: the workers decide when
// to run it. The row in the queue says until when it may be claimed, so that none begins it
// later, even if no process serves the run then.
func (a *attempts) offer(c *Call) {
	a.calls.setState(c, Offered)
	c.due = c.queueDue()
	a.calls.watch(c)
	a.calls.touch(c)
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
		case c.givenUp:
			t.journal.out.GivenUp = append(t.journal.out.GivenUp, ref)
		default:
			t.journal.out.Over = append(t.journal.out.Over, ref)
		}
		c.Task, c.Claimed, c.givenUp = 0, false, false
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

// handOut describes the newly queued attempts for the workers.
func (a *attempts) handOut() {
	for _, c := range a.calls.offered {
		a.journal.out.Offered = append(a.journal.out.Offered, a.dispatchOf(c))
	}
	a.calls.offered = a.calls.offered[:0]
}

// claimed starts an attempt that runs on a worker. A message about another attempt is too
// late.
func (a *attempts) claimed(in Claimed) {
	c := a.calls.byNumber[in.Call]
	if c == nil || c.state != Offered || c.attempt != in.Attempt {
		a.journal.out.Dropped++
		return
	}
	c.Claimed = true
	c.Returned = 0
	c.StartedAt, c.Node = max(in.At, c.QueuedAt), in.Worker
	if c.OnProbation {
		c.Group = 1 // a worker runs one suspect at a time
	}
	a.calls.setState(c, Remote)
	a.waitOutside(c)
}

// unclaimed reports whether an attempt ended before the message that a worker claimed it
// has arrived. That message is on its way: it was posted first, but of messages posted at
// about the same time the later one may be seen first.
func (t *callTable) unclaimed(in AttemptEnded) bool {
	c := t.byNumber[in.Call]
	return c != nil && c.state == Offered && c.attempt == in.Attempt
}

// workerGone loses an attempt whose worker is gone.
func (a *attempts) workerGone(in WorkerGone) {
	c := a.calls.byNumber[in.Call]
	if c == nil || c.state != Remote || c.attempt != in.Attempt || c.Node != in.Worker {
		a.journal.out.Dropped++
		return
	}
	over := TakenOver{Survivors: in.Survivors}
	if in.Survived {
		over.Survivors = append(over.Survivors, in.Worker)
	} else {
		over.Unheard = []string{in.Worker}
	}
	c.givenUp = true
	a.lost(c, over)
}
