package engine

import (
	"sync"
	"time"
)

// clock is engine time: the database's clock as its commits report it, advanced
// in between by the monotonic clock of this process. It never goes back: when
// the database's clock does, engine time goes on from the highest mark.
type clock struct {
	mu   sync.Mutex
	base int64     // engine time at since, ns
	at   time.Time // with its monotonic reading
	last int64
}

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
	c.last = max(c.last, c.base+int64(time.Since(c.at)))
	return c.last
}

// begin sets engine time to the database's clock, before anything has come of it:
// what a client knows is the clock of its machine.
func (c *clock) begin(database int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.base, c.at, c.last = database, time.Now(), database
}

// observe takes the database's clock into account.
func (c *clock) observe(database int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if database > c.read() {
		c.base, c.at, c.last = database, time.Now(), database
	}
}

// until is how long it is, from now, to an engine time.
func (c *clock) until(t int64) time.Duration { return time.Duration(t - c.now()) }
