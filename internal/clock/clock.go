package clock

import (
	"sync"
	"time"
)

// Clock tells engine time. It is safe for concurrent use.
type Clock struct {
	mu    sync.Mutex
	base  int64     // engine time at the instant at, ns
	at    time.Time // with its monotonic reading
	ahead int64     // lead over the database's clock at that instant, ns; 0 if it does not matter
	lag   int64     // lag behind it at that instant, ns, if it is caught up slowly
	last  int64
}

const (
	// tolerated is how far engine time may be ahead of a result of the database, which is as
	// old as it took to arrive.
	tolerated = int64(time.Second)
	// caughtUp is the largest lead that is reduced by slowing down.
	caughtUp = int64(10 * time.Minute)
	// slower is the divisor of the rate at which a lead is reduced: 1/100, much more than
	// clocks differ and less than a person notices.
	slower = 100
	// leap is the smallest lag that is caught up by a leap. A result of the database is the
	// older the longer it took to arrive, so engine time lags by some milliseconds, which a
	// faster result shows. A leap then would shorten all waits in progress.
	leap = int64(100 * time.Millisecond)
	// faster is the divisor of the rate at which a lag is caught up.
	faster = 1000
)

// New returns a clock that shows base, in ns since 1970.
func New(base int64) *Clock {
	return &Clock{base: base, at: time.Now(), last: base}
}

// Now returns engine time in ns since 1970.
func (c *Clock) Now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read()
}

func (c *Clock) read() int64 {
	passed := int64(time.Since(c.at))
	c.last = max(c.last, c.base+passed-min(passed/slower, c.ahead)+min(passed/faster, c.lag))
	return c.last
}

// Begin sets engine time to the database's clock, even backwards. It must come before
// anything depends on engine time: until then a client goes by its machine's clock.
func (c *Clock) Begin(database int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(database, 0)
	c.last = database
}

// AtLeast moves engine time forward to past, a time that has been reached before.
func (c *Clock) AtLeast(past int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if past > c.read() {
		c.set(past, 0)
	}
}

// Observe adjusts engine time to what the database's clock showed just now.
func (c *Clock) Observe(database int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch now := c.read(); {
	case database-now >= leap:
		c.set(database, 0)
	case database > now:
		passed := int64(time.Since(c.at))
		lag := max(database-now, c.lag-min(passed/faster, c.lag))
		c.set(now, 0)
		c.lag = lag
	case now-database > tolerated && now-database < caughtUp:
		c.set(now, now-database)
	case c.ahead > 0:
		c.set(now, 0)
	}
}

func (c *Clock) set(now, ahead int64) { c.base, c.at, c.ahead, c.lag = now, time.Now(), ahead, 0 }

// Until returns how long it is until engine time t; it is negative for the past.
func (c *Clock) Until(t int64) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := t - c.read()
	if c.ahead > 0 && d > 0 {
		left := c.ahead - min(int64(time.Since(c.at))/slower, c.ahead)
		d += min(d/(slower-1)+1, left)
	}
	if c.lag > 0 && d > 0 {
		left := c.lag - min(int64(time.Since(c.at))/faster, c.lag)
		d -= min(d/(faster+1), left)
	}
	return time.Duration(d)
}
