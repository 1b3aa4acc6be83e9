package engine

import (
	"sync"
	"time"
)

// clock is engine time: the database's clock as its answers report it, advanced
// in between by the monotonic clock of this process. It never goes back. If it is
// ahead of the database's, because that was set back a little or because this
// machine's quartz is the faster one, it goes a little slower until it is not. If the
// database's clock was set back by much, engine time stays ahead of it: what waits
// would else be late for months.
type clock struct {
	mu    sync.Mutex
	base  int64     // engine time at at, ns
	at    time.Time // with its monotonic reading
	ahead int64     // of the database's clock then, ns; 0 if it does not matter
	last  int64
}

const (
	// tolerated is how far engine time may be ahead of an answer, which is as old
	// as it took to arrive.
	tolerated = int64(time.Second)
	// caughtUp is how far ahead it may be to be slowed down.
	caughtUp = int64(10 * time.Minute)
	// slower is the share of time, one in so many, by which engine time falls
	// back: much more than clocks differ, and less than anybody notices.
	slower = 100
)

func newClock(base int64) *clock {
	return &clock{base: base, at: time.Now(), last: base}
}

// now returns engine time in ns since 1970.
func (c *clock) now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read()
}

func (c *clock) read() int64 {
	passed := int64(time.Since(c.at))
	c.last = max(c.last, c.base+passed-min(passed/slower, c.ahead))
	return c.last
}

// begin sets engine time to the database's clock, before anything has come of it:
// what a client knows is the clock of its machine.
func (c *clock) begin(database int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(database, 0)
	c.last = database
}

// atLeast takes into account that it was this late already, some time ago.
func (c *clock) atLeast(past int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if past > c.read() {
		c.set(past, 0)
	}
}

// observe takes the database's clock into account, as it was just now.
func (c *clock) observe(database int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch now := c.read(); {
	case database > now:
		c.set(database, 0)
	case now-database > tolerated && now-database < caughtUp:
		c.set(now, now-database)
	case c.ahead > 0:
		c.set(now, 0)
	}
}

func (c *clock) set(now, ahead int64) { c.base, c.at, c.ahead = now, time.Now(), ahead }

// until is how long it is, from now, to an engine time.
func (c *clock) until(t int64) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := t - c.read()
	if c.ahead > 0 && d > 0 {
		left := c.ahead - min(int64(time.Since(c.at))/slower, c.ahead)
		d += min(d/(slower-1)+1, left)
	}
	return time.Duration(d)
}
