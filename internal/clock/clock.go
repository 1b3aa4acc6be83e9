package clock

import (
	"sync"
	"sync/atomic"
	"time"
)

// Clock tells engine time. It is safe for concurrent use.
type Clock struct {
	mu    sync.Mutex // held to adjust it
	state atomic.Pointer[adjustment]
}

// adjustment is how engine time runs since it was last adjusted. Each step of each run reads the
// clock, so that needs no lock.
type adjustment struct {
	base  int64         // engine time at the instant at, ns
	at    time.Time     // with its monotonic reading
	ahead int64         // lead over the database's clock at that instant, ns; 0 if it does not matter
	lag   int64         // lag behind it at that instant, ns, if it is caught up slowly
	last  *atomic.Int64 // what was read last; a new one from Begin on
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
	c := &Clock{}
	c.begin(base)
	return c
}

// Now returns engine time in ns since 1970.
func (c *Clock) Now() int64 { return c.state.Load().read() }

func (a *adjustment) read() int64 {
	passed := int64(time.Since(a.at))
	now := a.base + passed - min(passed/slower, a.ahead) + min(passed/faster, a.lag)
	for {
		last := a.last.Load()
		if now <= last {
			return last
		}
		if a.last.CompareAndSwap(last, now) {
			return now
		}
	}
}

// Begin sets engine time to the database's clock, even backwards. It must come before
// anything depends on engine time: until then a client goes by its machine's clock.
func (c *Clock) Begin(database int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin(database)
}

func (c *Clock) begin(base int64) {
	a := &adjustment{base: base, at: time.Now(), last: &atomic.Int64{}}
	a.last.Store(base)
	c.state.Store(a)
}

// AtLeast moves engine time forward to past, a time that has been reached before.
func (c *Clock) AtLeast(past int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if past > c.state.Load().read() {
		c.set(past, 0, 0)
	}
}

// Observe adjusts engine time to what the database's clock showed just now.
func (c *Clock) Observe(database int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.state.Load()
	switch now := a.read(); {
	case database-now >= leap:
		c.set(database, 0, 0)
	case database > now:
		passed := int64(time.Since(a.at))
		c.set(now, 0, max(database-now, a.lag-min(passed/faster, a.lag)))
	case now-database > tolerated && now-database < caughtUp:
		c.set(now, now-database, 0)
	case a.ahead > 0:
		c.set(now, 0, 0)
	}
}

// set makes engine time go on from now.
func (c *Clock) set(now, ahead, lag int64) {
	c.state.Store(&adjustment{base: now, at: time.Now(), ahead: ahead, lag: lag, last: c.state.Load().last})
}

// Until returns how long it is until engine time t; it is negative for the past.
func (c *Clock) Until(t int64) time.Duration {
	a := c.state.Load()
	d := t - a.read()
	if a.ahead > 0 && d > 0 {
		left := a.ahead - min(int64(time.Since(a.at))/slower, a.ahead)
		d += min(d/(slower-1)+1, left)
	}
	if a.lag > 0 && d > 0 {
		left := a.lag - min(int64(time.Since(a.at))/faster, a.lag)
		d -= min(d/(faster+1), left)
	}
	return time.Duration(d)
}
