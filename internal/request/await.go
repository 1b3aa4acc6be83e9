package request

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// Pauses between two looks at the database. They double from firstPause on: up to
// shortPause for what comes soon, and up to longPause for what may take long.
const (
	firstPause = 2 * time.Millisecond
	shortPause = 50 * time.Millisecond
	longPause  = 500 * time.Millisecond
)

// ended is the outcome of a run in a notification, nil if the notification only says that
// it is time to look.
type ended = *core.State

// await calls look until it is done or returns a permanent error. Between two looks it
// waits for a notification under name, but no longer than a pause that grows up to longest.
// If longest is 0 it waits for the notification alone.
func (c *Client) await(ctx context.Context, partition int, name string, longest time.Duration, look func(ended) (done bool, err error)) error {
	var told ended
	for pause := min(firstPause, longest); ; pause = min(2*pause, longest) {
		t := c.topics.subscribe(partition, name) // before the look, which may be too early
		done, err := look(told)
		switch {
		case done || err != nil && !store.Unavailable(err) && ctx.Err() == nil:
		case ctx.Err() != nil:
			err = ctx.Err()
		case err != nil && longest == 0:
			told, err = c.wait(ctx, t, shortPause)
		default:
			told, err = c.wait(ctx, t, pause)
		}
		c.topics.unsubscribe(t)
		if done || err != nil {
			return err
		}
	}
}

// wait waits for a notification, for at most d unless d is 0.
func (c *Client) wait(ctx context.Context, t *topic, d time.Duration) (ended, error) {
	var timeout <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-t.notified:
		return t.ended, nil
	case <-timeout:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.ctx.Done():
		return nil, ErrStopped
	}
}

// topics are what callers in this process wait for, by name: a run ID, or the workflow ID
// under which an answer will arrive. A notification ends a topic; the next caller creates
// another one of that name.
type topics struct {
	mu     sync.Mutex
	byName map[string]*topic
}

type topic struct {
	partition int
	name      string
	notified  chan struct{} // closed by a notification
	ended     ended         // the run's outcome in the notification; set before notified is closed
	callers   int
}

// subscribe returns a topic. The caller must unsubscribe.
func (ts *topics) subscribe(partition int, name string) *topic {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.byName[name]
	if t == nil {
		t = &topic{partition: partition, name: name, notified: make(chan struct{})}
		ts.byName[name] = t
	}
	t.callers++
	return t
}

func (ts *topics) unsubscribe(t *topic) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t.callers--; t.callers == 0 && ts.byName[t.name] == t {
		delete(ts.byName, t.name)
	}
}

// has reports whether a caller waits under the name.
func (ts *topics) has(name string) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.byName[name] != nil
}

// notify reports whether a caller waited under the name.
func (ts *topics) notify(name string, e ended) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.byName[name]
	if t != nil {
		ts.end(t, e)
	}
	return t != nil
}

func (ts *topics) end(t *topic, e ended) {
	t.ended = e
	close(t.notified)
	delete(ts.byName, t.name)
}

// Ended tells callers in this process, also those that ask soon, how a run ended.
func (c *Client) Ended(workflowID, run string, s core.State) {
	if !c.topics.notify(run, &s) {
		c.lately.add(workflowID, run, s)
	}
}

// Notify makes callers in this process look again: an answer is durable, in the history of
// the run of this name or under the workflow ID of message.AnswerTo.
func (c *Client) Notify(name string) { c.topics.notify(name, nil) }

// Moved makes callers that wait for something in these partitions look again: this process
// now serves them, or no longer does.
func (c *Client) Moved(partitions map[int]bool) {
	c.topics.mu.Lock()
	defer c.topics.mu.Unlock()
	for _, t := range c.topics.byName {
		if partitions[t.partition] {
			c.topics.end(t, nil)
		}
	}
}

// Waiting returns how many topics callers wait for. It is for tests.
func (c *Client) Waiting() int {
	c.topics.mu.Lock()
	n := len(c.topics.byName)
	c.topics.mu.Unlock()
	c.poller.mu.Lock()
	defer c.poller.mu.Unlock()
	return n + len(c.poller.runs)
}

// place is where in a history to look for an answer.
type place struct {
	workflowID, run string
	after           int64 // the answer is in a turn with a greater number
}

// awaitTurn waits until read is done with a turn of a history. closed is the run if it is
// over and read was done with none of its turns. A later call with the same place
// continues after the turns already read.
func (c *Client) awaitTurn(ctx context.Context, at *place, longest time.Duration, over func(*store.Run) bool, read func(*core.StoredTurn) (done bool, err error)) (closed *store.Run, err error) {
	partition := c.place(at.workflowID)
	err = c.await(ctx, partition, at.run, longest, func(ended) (bool, error) {
		row, err := c.db.Find(ctx, partition, at.workflowID, at.run) // before the turns: a closed run has everything on record
		if err != nil {
			return false, err
		}
		done, err := c.readTurns(ctx, at, read)
		if !done && err == nil && over(row) {
			closed = row
		}
		return done || closed != nil, err
	})
	if errors.Is(err, store.ErrNotFound) {
		err = removed(at.run, err)
	}
	return closed, err
}

// readTurns passes turns not read before to read until it is done.
func (c *Client) readTurns(ctx context.Context, at *place, read func(*core.StoredTurn) (done bool, err error)) (done bool, err error) {
	turns, err := c.read.Turns(ctx, c.place(at.workflowID), at.run, at.after)
	if damage := (*history.DamageError)(nil); err != nil && !errors.As(err, &damage) {
		return false, err // else the answer may come after the damage
	}
	for i := range turns {
		at.after = turns[i].Number
		if done, err = read(&turns[i]); done || err != nil {
			return true, err
		}
	}
	return false, nil
}
