package request

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
