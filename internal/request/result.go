package request

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
)

// Result waits until a run and all runs that follow it in its chain have ended. It returns
// the ID and the final state of the last one. An empty run means the latest run of the
// workflow ID.
func (c *Client) Result(ctx context.Context, workflowID, run string) (last string, s core.State, err error) {
	if err := c.check(ctx, ofWorkflow(workflowID)); err != nil {
		return run, s, err
	}
	w := c.waiters.begin(workflowID, run)
	defer w.end()
	chain := run // the ID of a first run is that of its chain
	for {
		end, err := c.awaitEnd(ctx, w, run)
		chain = cmp.Or(end.chain, chain)
		if errors.Is(err, store.ErrNotFound) {
			if latest := c.latest(ctx, workflowID, chain); latest != "" && latest != end.run {
				run = latest
				continue
			}
		}
		if errors.Is(err, context.DeadlineExceeded) && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = c.stillOpen(ctx, workflowID, end.run, err)
		}
		if err != nil || end.state.Status != core.StatusContinued {
			return end.run, end.state, err
		}
		// If that was long ago, later runs may exist although the next one was deleted.
		if latest := c.latest(ctx, workflowID, end.chain); latest != "" && latest != end.run {
			run = latest
			continue
		}
		d, err := core.DecodeDetail(end.state.Detail)
		if err != nil {
			return end.run, end.state, err
		}
		run = d.Next
	}
}

// latest returns the latest run of a chain, or "" if unknown: no chain is given, the
// workflow ID has been used again since, or the database does not answer.
func (c *Client) latest(ctx context.Context, workflowID, chain string) string {
	if chain == "" {
		return ""
	}
	row, err := c.db.Find(ctx, c.place(workflowID), workflowID, "")
	if err != nil || row.Chain != chain {
		return ""
	}
	return row.ID
}

// whyTime is how long a caller whose time is up waits to learn why the run is open.
const whyTime = time.Second

// stillOpen adds the reason why the run has not ended to the error of a wait.
func (c *Client) stillOpen(ctx context.Context, workflowID, run string, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), whyTime)
	defer cancel()
	why, failed := c.read.Why(ctx, workflowID, run)
	switch {
	case errors.Is(failed, store.ErrNotFound):
		return fmt.Errorf("%w: %w", removed(run, failed), err)
	case failed != nil:
		return fmt.Errorf("the run has not ended in time, for an unknown reason (%v): %w", failed, err)
	case why == "": // it has ended meanwhile
		return err
	}
	return fmt.Errorf("the run has not ended: %s: %w", why, err)
}

// end is how a run ended.
type end struct {
	run   string
	chain string // empty if this process saw the run end
	state core.State
}

// awaitEnd waits for the end of a run, or of the latest run of the workflow ID. It returns
// store.ErrNotFound if there is no such run, or it was deleted.
func (c *Client) awaitEnd(ctx context.Context, w *waiter, run string) (end, error) {
	workflowID := w.workflowID
	partition, found := c.place(workflowID), end{run: run}
	find := func() (closed bool, err error) {
		row, err := c.db.Find(ctx, partition, workflowID, found.run)
		if err == nil && row.WorkflowID != workflowID {
			err = store.ErrNotFound // it is a run of another workflow ID
		}
		if err != nil {
			return false, err
		}
		found = end{row.ID, row.Chain, record.State(row.RunState)}
		if row.Status.Open() {
			return false, c.copied()
		}
		return true, nil
	}
	if run == "" { // the run to wait for is not known yet
		closed := false
		err := c.await(ctx, partition, "", 0, func(ended) (done bool, err error) {
			closed, err = find()
			return err == nil, err
		})
		if err != nil || closed {
			return found, err
		}
	}
	w.move(found.run)
	err := c.await(ctx, partition, found.run, 0, func(told ended) (done bool, err error) {
		if told == nil {
			told = c.lately.get(workflowID, found.run)
		}
		if told != nil {
			found = end{run: found.run, state: *told}
			return true, nil
		}
		served, resident := c.local.Serves(partition, found.run)
		if resident {
			return false, nil
		}
		if !served {
			c.poll(store.RunRef{Partition: partition, Run: found.run})
		}
		return find()
	})
	if errors.Is(err, store.ErrNotFound) {
		err = removed(found.run, err)
	}
	return found, err
}

// poller checks whether runs served by other nodes have ended, for all callers of this
// process. One query covers all runs that are due for a check.
type poller struct {
	mu      sync.Mutex
	runs    map[string]*polled
	working bool
	more    chan struct{} // signals another run
	seal    doubt         // when to check whether the database is still in use
	sealed  error         // that it was copied to another one, as of the last check
}

// polled is a run that a caller waits for.
type polled struct {
	ref   store.RunRef
	pause time.Duration // between two checks
	next  time.Time
	gone  doubt
}

// pollPage is how many runs one query covers. doubtsAtOnce is for how many of them per
// round a separate query asks whether they exist.
const (
	pollPage     = 500
	doubtsAtOnce = 20
)

// doubt is when to check whether an awaited run still exists: a deleted run gives no sign.
type doubt struct{ next time.Time }

// doubtEvery is the time between two such checks. Runs are rarely deleted while callers
// wait for them, and each check costs a query.
const doubtEvery = 15 * time.Second

func newDoubt(now time.Time) doubt { return doubt{now.Add(doubtEvery)} }

// due reports whether it is time to check, and if so schedules the next check.
func (d *doubt) due(now time.Time) bool {
	if d.next.After(now) {
		return false
	}
	d.next = now.Add(doubtEvery)
	return true
}

func newPoller() poller { return poller{runs: map[string]*polled{}, more: make(chan struct{}, 1)} }

// poll begins to check for the end of a run, for as long as callers wait for it and the client
// is open.
func (c *Client) poll(ref store.RunRef) {
	p := &c.poller
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.ctx.Err() != nil {
		return
	}
	if p.runs[ref.Run] == nil {
		now := time.Now()
		p.runs[ref.Run] = &polled{ref: ref, pause: firstPause, next: now.Add(firstPause), gone: newDoubt(now)}
	}
	select {
	case p.more <- struct{}{}:
	default:
	}
	if !p.working {
		p.working = true
		c.working.Go(c.pollLoop)
	}
}

// pollLoop checks until no caller waits.
func (c *Client) pollLoop() {
	for {
		due, doubted, pause, over := c.duePolls(time.Now())
		if over {
			return
		}
		c.checkSeal()
		for page := range slices.Chunk(due, pollPage) {
			ended, err := c.db.Ended(c.ctx, page)
			if err != nil {
				continue // the next look may succeed
			}
			for i := range ended {
				s := record.State(ended[i].RunState)
				c.topics.notify(ended[i].ID, &s)
			}
		}
		for _, ref := range doubted {
			_, err := c.db.Find(c.ctx, ref.Partition, "", ref.Run)
			if errors.Is(err, store.ErrNotFound) {
				c.Notify(ref.Run) // its callers look, and find nothing
			} else if err != nil {
				break // the next question may be answered
			}
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-c.poller.more:
		case <-c.ctx.Done():
		}
		timer.Stop()
	}
}

// checkSeal finds out whether the database was copied to another one. No run ends here then,
// so all callers that wait are to look and learn it.
func (c *Client) checkSeal() {
	p := &c.poller
	if !p.seal.due(time.Now()) { // only pollLoop uses it
		return
	}
	seal, err := c.db.Sealed(c.ctx)
	if err != nil {
		return // the next look may succeed
	}
	var sealed error
	if seal.Closed() {
		sealed = &store.SealedError{Location: c.db.Info().Location, Seal: seal}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sealed = sealed; sealed == nil {
		return
	}
	for run := range p.runs {
		c.Notify(run)
	}
}

// copied returns a *store.SealedError if the database is known to be closed.
func (c *Client) copied() error {
	c.poller.mu.Lock()
	defer c.poller.mu.Unlock()
	return c.poller.sealed
}

// duePolls returns the runs to check now, those of them that may not exist, and the time
// until the next ones are due.
func (c *Client) duePolls(now time.Time) (due, doubted []store.RunRef, pause time.Duration, over bool) {
	p := &c.poller
	p.mu.Lock()
	defer p.mu.Unlock()
	pause = shortPause
	for run, look := range p.runs {
		if !c.topics.has(run) {
			delete(p.runs, run)
			continue
		}
		if !look.next.After(now) {
			due = append(due, look.ref)
			look.pause = min(2*look.pause, shortPause)
			look.next = now.Add(look.pause)
			if len(doubted) < doubtsAtOnce && look.gone.due(now) {
				doubted = append(doubted, look.ref)
			}
		}
		pause = min(pause, look.next.Sub(now))
	}
	if len(p.runs) == 0 || c.ctx.Err() != nil {
		clear(p.runs)
		p.working = false
		return nil, nil, 0, true
	}
	return due, doubted, pause, false
}
