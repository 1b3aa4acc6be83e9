package request

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
)

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
