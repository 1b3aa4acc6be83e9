package commit

import (
	"sync"

	"github.com/perdure/perdure/internal/outage"
	"github.com/perdure/perdure/store"
)

// lane is the way of turns that concern the same commit domains. Those of one server do not
// wait for another that is away, and a turn that writes to two of them, which costs the
// store more, is in no group with those that write to one.
type lane struct {
	*Committer
	queue   chan *pending
	watch   *outage.Watch
	blocked blocked

	// Of the goroutine of commitQueued:
	postponed []*pending // by hooks that took long
	slow      bool       // recent hooks were slow
}

func (c *Committer) newLane(watch *outage.Watch) *lane {
	return &lane{Committer: c, queue: make(chan *pending, 2*maxGroup), watch: watch, blocked: blocked{kick: make(chan struct{}, 1)}}
}

// route names the domains that a turn concerns: its own, and the one to which it has
// messages.
type route struct {
	own, to int
	more    bool // it has messages to yet others
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

// lanes are those that are not the usual one.
type lanes struct {
	mu   sync.Mutex
	all  map[route]*lane
	idle []*lane       // those without a goroutine
	kick chan struct{} // there is one more of those
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
	select {
	case c.lanes.kick <- struct{}{}:
	default:
	}
	return l
}

// takeIdle returns the lanes without a goroutine, to a caller who serves them from then on.
func (l *lanes) takeIdle() (idle []*lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	idle, l.idle = l.idle, nil
	return idle
}
