package workflow

import (
	"errors"
	"slices"

	"github.com/perdure/perdure/internal/coro"
)

// ErrChannelClosed is returned by Receive for a closed, empty channel.
var ErrChannelClosed = errors.New("the channel is closed")

// Channel carries values between coroutines of one run. It is not stored; replay rebuilds
// it. Make one with NewChannel.
type Channel[T any] struct {
	capacity  int
	values    []sent[T]
	taken     int // how many were received so far
	closed    bool
	closedAt  int64 // place in the order of the run
	senders   []*coro.Coroutine
	receivers []*coro.Coroutine
}

// sent is a value that no coroutine has received, and the place at which it came.
type sent[T any] struct {
	value T
	since int64
}

// NewChannel makes a channel that buffers up to capacity values. With capacity 0, Send
// returns when its value has been received.
func NewChannel[T any](wf *Context, capacity int) *Channel[T] {
	wf.enter()
	return &Channel[T]{capacity: max(capacity, 0)}
}

// Send sends a value. It waits while the channel is full. The error is that the scope was
// canceled meanwhile. Sending to a closed channel panics.
func (c *Channel[T]) Send(wf *Context, v T) error {
	wf.enter()
	for !c.closed && len(c.values) >= max(c.capacity, 1) {
		if err := wf.wait(&c.senders); err != nil {
			return err
		}
	}
	if c.closed {
		panic("workflow: send on a closed channel")
	}
	if wf.over() {
		return wf.scope.aborted("send")
	}
	c.values = append(c.values, sent[T]{v, wf.instance.run.Place()})
	number := c.taken + len(c.values)
	wakeAll(&c.receivers)
	for c.capacity == 0 && c.taken < number {
		err := wf.wait(&c.senders)
		if c.taken >= number {
			return nil
		}
		if err != nil {
			c.values = nil // an unbuffered channel holds no other value
			return err
		}
	}
	return nil
}

// Receive waits for the next value and returns it. The error is ErrChannelClosed, or that
// the scope was canceled.
func (c *Channel[T]) Receive(wf *Context) (T, error) {
	wf.enter()
	var zero T
	for len(c.values) == 0 {
		if c.closed {
			return zero, ErrChannelClosed
		}
		if err := wf.wait(&c.receivers); err != nil {
			return zero, err
		}
	}
	v := c.values[0]
	c.values = c.values[1:]
	c.taken++
	wakeAll(&c.senders)
	return v.value, nil
}

// Close closes the channel: no more values can be sent. Closing it twice panics.
func (c *Channel[T]) Close(wf *Context) {
	wf.enter()
	if c.closed {
		panic("workflow: close of a closed channel")
	}
	c.closed, c.closedAt = true, wf.instance.run.Place()
	wakeAll(&c.receivers)
	wakeAll(&c.senders)
}

// Receivable is ready when Receive would return immediately: for Select and WaitAny.
func (c *Channel[T]) Receivable() Waitable { return (*receivable[T])(c) }

type receivable[T any] Channel[T]

func (c *receivable[T]) ready() bool { return len(c.values) > 0 || c.closed }
func (c *receivable[T]) since() int64 {
	if len(c.values) > 0 {
		return c.values[0].since
	}
	return c.closedAt
}
func (c *receivable[T]) subscribe(co *coro.Coroutine) {
	if !slices.Contains(c.receivers, co) {
		c.receivers = append(c.receivers, co)
	}
}
func (c *receivable[T]) unsubscribe(co *coro.Coroutine) {
	c.receivers = slices.DeleteFunc(c.receivers, func(w *coro.Coroutine) bool { return w == co })
}
func (c *receivable[T]) ending() bool { return false }
func (c *receivable[T]) abandon()     {}

// wait parks the coroutine among others until it is woken or its scope is
// canceled.
func (wf *Context) wait(among *[]*coro.Coroutine) error {
	s := wf.scope
	if wf.over() {
		return s.aborted("channel")
	}
	*among = append(*among, wf.co)
	s.parked = append(s.parked, wf.co)
	wf.park()
	leave := func(w *coro.Coroutine) bool { return w == wf.co }
	*among = slices.DeleteFunc(*among, leave)
	s.parked = slices.DeleteFunc(s.parked, leave)
	if s.err != nil {
		return s.aborted("channel")
	}
	return nil
}

func wakeAll(among *[]*coro.Coroutine) {
	for _, co := range *among {
		co.Wake()
	}
	*among = nil
}
