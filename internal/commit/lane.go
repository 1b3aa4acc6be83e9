package commit

import (
	"sync"
	"sync/atomic"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/outage"
	"github.com/perdure/perdure/store"
)

// lane commits the turns that concern the same commit domains. Turns of one server do not wait
// for another server that is unavailable. Turns that write to two domains, which cost the
// store more, are not grouped with those that write to one.
type lane struct {
	*Committer
	queue   chan *pending
	watch   *outage.Watch
	blocked blocked
	written atomic.Int64 // turns

	// Owned by the goroutine of commitQueued:
	postponed []*pending // because hooks took long
	slow      bool       // recent hooks were slow
}

func (c *Committer) newLane(watch *outage.Watch) *lane {
	return &lane{Committer: c, queue: make(chan *pending, 2*maxGroup), watch: watch, blocked: blocked{kick: clock.NewBell()}}
}

// route names the domains that a turn concerns: its own, and the one that it sends messages
// to.
type route struct {
	own, to int
	more    bool // it sends messages to yet other domains
}

func (c *Committer) routeOf(t *store.Turn) route {
	own := c.Info.Domain(t.Partition)
	r := route{own: own, to: own}
	for i := range t.Messages {
		switch d := c.Info.Domain(t.Messages[i].Partition); {
		case d == own || d == r.to:
		case r.to == own:
			r.to = d
		default:
			r.more = true
		}
	}
	return r
}

// lanes are all lanes except the usual one.
type lanes struct {
	mu   sync.Mutex
	all  map[route]*lane
	idle []*lane    // lanes without a goroutine
	kick clock.Bell // a lane was added to idle
}

// laneOf returns the lane of a turn.
func (c *Committer) laneOf(t *store.Turn) *lane {
	r := c.routeOf(t)
	if r == (route{}) {
		return c.usual
	}
	c.lanes.mu.Lock()
	defer c.lanes.mu.Unlock()
	l := c.lanes.all[r]
	if l != nil {
		return l
	}
	l = c.newLane(c.Watch.Part())
	c.lanes.all[r], c.lanes.idle = l, append(c.lanes.idle, l)
	c.lanes.kick.Ring()
	return l
}
