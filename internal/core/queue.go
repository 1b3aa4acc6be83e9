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
func (r *execution) offer(c *Call) {
	r.setState(c, Offered)
	c.due = c.queueDue()
	r.watch(c)
	r.touch(c)
}

// writeTask keeps the queue's row in step with the call. The row exists while the attempt
// is offered, and until a claimed attempt has ended.
func (r *callTable) writeTask(c *Call) {
	want := 0
	if !c.Done && (c.state == Offered || c.state == Remote) {
		want = c.attempt
	}
	if c.Task != 0 && c.Task != want {
		ref := AttemptRef{c.Number, c.Task}
		switch {
		case !c.Claimed:
			r.out.Withdrawn = append(r.out.Withdrawn, ref)
		case c.givenUp:
			r.out.GivenUp = append(r.out.GivenUp, ref)
		default:
			r.out.Over = append(r.out.Over, ref)
		}
		c.Task, c.Claimed, c.givenUp = 0, false, false
		r.offered = slices.DeleteFunc(r.offered, func(o *Call) bool { return o == c }) // else a worker would find it
	}
	if want != 0 && c.Task == 0 {
		c.Task, c.Claimed = want, false
		r.offered = append(r.offered, c)
	}
}

// offerAgain tells the queue of an offered attempt that the end of its time has moved.
func (r *callTable) offerAgain(c *Call) {
	if c.state == Offered && c.Task != 0 && !c.Claimed && !slices.Contains(r.offered, c) {
		r.offered = append(r.offered, c)
	}
}

// handOut describes the newly queued attempts for the workers.
func (r *execution) handOut() {
	for _, c := range r.offered {
		r.out.Offered = append(r.out.Offered, r.dispatchOf(c))
	}
	r.offered = r.offered[:0]
}

// claimed starts an attempt that runs on a worker. A message about another attempt is too
// late.
func (r *execution) claimed(in Claimed) {
	c := r.calls[in.Call]
	if c == nil || c.state != Offered || c.attempt != in.Attempt {
		r.out.Dropped++
		return
	}
	c.Claimed = true
	c.Returned = 0
	c.StartedAt, c.Node = max(in.At, c.QueuedAt), in.Worker
	if c.OnProbation {
		c.Group = 1 // a worker runs one suspect at a time
	}
	r.setState(c, Remote)
	r.waitOutside(c)
}

// unclaimed reports whether an attempt ended before the message that a worker claimed it
// has arrived. That message is on its way: it was posted first, but of messages posted at
// about the same time the later one may be seen first.
func (r *callTable) unclaimed(in AttemptEnded) bool {
	c := r.calls[in.Call]
	return c != nil && c.state == Offered && c.attempt == in.Attempt
}

// workerGone loses an attempt whose worker is gone.
func (r *execution) workerGone(in WorkerGone) {
	c := r.calls[in.Call]
	if c == nil || c.state != Remote || c.attempt != in.Attempt || c.Node != in.Worker {
		r.out.Dropped++
		return
	}
	over := TakenOver{Survivors: in.Survivors}
	if in.Survived {
		over.Survivors = append(over.Survivors, in.Worker)
	} else {
		over.Unheard = []string{in.Worker}
	}
	c.givenUp = true
	r.lost(c, over)
}
