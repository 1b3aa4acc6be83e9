package request

import (
	"context"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/store"
)

// Pauses between two looks at the database: they double from firstPause on. What comes
// soon is awaited up to shortPause, what may take long up to longPause.
const (
	firstPause = 2 * time.Millisecond
	shortPause = 50 * time.Millisecond
	longPause  = 500 * time.Millisecond
)

// ended is how a run ended, as a notification says it; nil if the notification says only
// that there is something to look at.
type ended = *core.State

// await repeats look until it is done or fails with an error that would come again.
// Between two looks it waits for a notification under the name, but no longer than a
// pause that grows up to longest; if longest is 0 it trusts the notification.
func (c *Client) await(ctx context.Context, partition int, name string, longest time.Duration, look func(ended) (done bool, err error)) error {
	var told ended
	for pause := min(firstPause, longest); ; pause = min(2*pause, longest) {
		t := c.topics.subscribe(partition, name) // before the look, which may come too early
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

// wait waits for a notification, for at most d if d is not 0.
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

// topics are what callers in this process wait for, by name: a run ID, or the workflow
// ID under which an answer will wait. A notification ends a topic; the next caller makes
// another one of that name.
type topics struct {
	mu     sync.Mutex
	byName map[string]*topic
}

type topic struct {
	partition int
	name      string
	notified  chan struct{} // closed by a notification
	ended     ended         // what the notification said of the run; set before
	callers   int
}

// subscribe returns a topic, which the caller must unsubscribe from.
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

// has reports whether anyone waits for something of the name.
func (ts *topics) has(name string) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.byName[name] != nil
}

func (ts *topics) notify(name string, e ended) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t := ts.byName[name]; t != nil {
		ts.end(t, e)
	}
}

func (ts *topics) end(t *topic, e ended) {
	t.ended = e
	close(t.notified)
	delete(ts.byName, t.name)
}

// Ended tells callers in this process how a run ended.
func (c *Client) Ended(run string, s core.State) { c.topics.notify(run, &s) }

// Notify lets callers in this process look again: an answer is durable, in the history
// of the run of this name or under the workflow ID of message.AnswerTo.
func (c *Client) Notify(name string) { c.topics.notify(name, nil) }

// Moved lets callers that wait for something in partitions look again: this process has
// begun to serve them or does so no more.
func (c *Client) Moved(partitions map[int]bool) {
	c.topics.mu.Lock()
	defer c.topics.mu.Unlock()
	for _, t := range c.topics.byName {
		if partitions[t.partition] {
			c.topics.end(t, nil)
		}
	}
}

// Waiting returns how many things callers wait for, for tests.
func (c *Client) Waiting() int {
	c.topics.mu.Lock()
	n := len(c.topics.byName)
	c.topics.mu.Unlock()
	c.poller.mu.Lock()
	defer c.poller.mu.Unlock()
	return n + len(c.poller.runs)
}
