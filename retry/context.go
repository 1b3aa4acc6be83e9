package retry

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/attemptkey"
)

// trace is the trace id of a call: the caller's text or, without one, a random
// number that becomes text only when it is read.
type trace struct {
	text   string
	hi, lo uint64
}

// newTrace returns the caller's trace id or a random one.
func newTrace(text string) trace {
	if text != "" {
		return trace{text: text}
	}
	return trace{hi: rand.Uint64(), lo: rand.Uint64()}
}

// ids returns the trace id and the id of the n-th attempt, which share memory.
func (t trace) ids(n int) (traceID, id string) {
	if t.text != "" {
		return t.text, t.text + "." + strconv.Itoa(n)
	}
	var buffer [32 + 1 + 20]byte
	b := appendHex(appendHex(buffer[:0], t.hi), t.lo)
	b = strconv.AppendInt(append(b, '.'), int64(n), 10)
	id = string(b)
	return id[:32], id
}

// appendHex appends the 16 digits of v.
func appendHex(b []byte, v uint64) []byte {
	for shift := 60; shift >= 0; shift -= 4 {
		b = append(b, "0123456789abcdef"[v>>shift&15])
	}
	return b
}

// attemptContext is the context of one attempt: a child of the caller's that
// carries the attempt's info and ends with the attempt or when a timeout of the
// policy is exceeded.
//
// It is one allocation. What a cancelable context costs besides (timers, a
// channel, a place in the parent's list of children) is paid when the body
// first looks at Done or Err; many bodies never do, and the verdict on a
// timeout is found from the clock when they return. All cancellation is that of
// a context of the standard library, so that contexts derived from this one
// behave as usual.
type attemptContext struct {
	context.Context // the parent

	trace  trace
	number int
	max    int

	limits // zero if no timeout applies: then the parent's Done and Err hold

	mu     sync.Mutex
	inner  context.Context // made at the first look
	cancel context.CancelCauseFunc
	timer  *time.Timer // for the heartbeats; only with inner
	ended  bool        // the attempt has returned
}

// limits are the timeouts of an attempt and what is known of them.
type limits struct {
	start    time.Time
	attempt  time.Duration
	silence  time.Duration
	lastBeat time.Time // start if there was none; not moved once it was too late
}

// limited reports whether any timeout applies.
func (l *limits) limited() bool { return l.attempt > 0 || l.silence > 0 }

// exceeded returns the timeout that was exceeded first if one is at now. What
// takes exactly as long as the limit has exceeded it, as a timer sees it.
func (l *limits) exceeded(now time.Time) *TimeoutError {
	ran, silent := l.attempt > 0 && now.Sub(l.start) >= l.attempt, l.silence > 0 && now.Sub(l.lastBeat) >= l.silence
	if ran && silent {
		ran = !l.lastBeat.Add(l.silence).Before(l.start.Add(l.attempt))
	}
	switch {
	case ran:
		return &TimeoutError{Kind: TimeoutAttempt, Limit: l.attempt}
	case silent:
		return &TimeoutError{Kind: TimeoutHeartbeat, Limit: l.silence}
	}
	return nil
}

// RetryAttempt implements carrier.
func (c *attemptContext) RetryAttempt() AttemptInfo {
	traceID, id := c.trace.ids(c.number)
	return AttemptInfo{TraceID: traceID, ID: id, Number: c.number, Max: c.max, Final: c.number >= c.max}
}

// Value returns the attempt for its own key and else what the context that
// cancels has.
func (c *attemptContext) Value(key any) any {
	if key == (attemptkey.Key{}) {
		return c
	}
	if !c.limited() {
		return c.Context.Value(key)
	}
	c.mu.Lock()
	inner := c.inner
	c.mu.Unlock()
	if inner != nil {
		return inner.Value(key)
	}
	return c.Context.Value(key)
}

// Deadline returns the earlier of the parent's deadline and the attempt's.
func (c *attemptContext) Deadline() (time.Time, bool) {
	deadline, ok := c.Context.Deadline()
	if c.attempt > 0 {
		if own := c.start.Add(c.attempt); !ok || own.Before(deadline) {
			return own, true
		}
	}
	return deadline, ok
}

// Done returns a channel that is closed when the attempt must end.
func (c *attemptContext) Done() <-chan struct{} { return c.live().Done() }

// Err returns why the attempt must end, nil as long as it need not.
func (c *attemptContext) Err() error { return c.live().Err() }

// live returns the context that cancels: the parent or, if there are limits, one that is made
// at the first call.
func (c *attemptContext) live() context.Context {
	if !c.limited() {
		return c.Context
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner != nil {
		return c.inner
	}
	parent, release := c.Context, context.CancelFunc(nil)
	if c.attempt > 0 {
		timeout := &TimeoutError{Kind: TimeoutAttempt, Limit: c.attempt}
		parent, release = context.WithDeadlineCause(parent, c.start.Add(c.attempt), timeout)
	}
	inner, cancel := context.WithCancelCause(parent)
	c.inner = inner
	c.cancel = func(cause error) {
		cancel(cause)
		if release != nil {
			release()
		}
	}
	switch {
	case c.ended:
		c.cancel(nil)
	case c.silence > 0:
		c.timer = time.AfterFunc(time.Until(c.lastBeat.Add(c.silence)), c.checkSilence)
	}
	return inner
}

// checkSilence cancels the attempt if it is silent too long, and else looks
// again when it would be: a beat need not touch the timer.
func (c *attemptContext) checkSilence() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	left := time.Until(c.lastBeat.Add(c.silence))
	if left <= 0 {
		c.cancel(&TimeoutError{Kind: TimeoutHeartbeat, Limit: c.silence})
		return
	}
	c.timer.Reset(left)
}

// RetryBeat implements carrier. A sign of life that comes too late changes nothing.
func (c *attemptContext) RetryBeat() {
	if c.silence <= 0 {
		return
	}
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.lastBeat) < c.silence {
		c.lastBeat = now
	}
}

// end cancels the context when the attempt has returned, and stops its timers.
func (c *attemptContext) end() {
	if !c.limited() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.timer != nil {
		c.timer.Stop()
	}
	if c.cancel != nil {
		c.cancel(nil)
	}
}

// timedOut returns the timeout that was exceeded at now, nil if none was.
func (c *attemptContext) timedOut(now time.Time) *TimeoutError {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exceeded(now)
}

// Heartbeat reports that the attempt of ctx is alive, and all attempts around it, and
// restarts their HeartbeatTimeout. It does nothing for an attempt whose policy has none,
// or that was silent for too long already: its context stays canceled. It is safe for
// concurrent use.
//
// It works in activities of the durable engine, too. activity.Heartbeat also records how
// far the attempt has come.
func Heartbeat(ctx context.Context) {
	for {
		c, ok := ctx.Value(attemptkey.Key{}).(carrier)
		if !ok {
			return
		}
		c.RetryBeat()
		own, ok := c.(*attemptContext)
		if !ok {
			return // what is around it is its runner's business
		}
		ctx = own.Context
	}
}
