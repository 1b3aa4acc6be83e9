package engine

import (
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/retry"
)

// blocked are turns that have to wait for a transaction which is not the engine's: one
// that somebody keeps open, and in which a run was started under the workflow ID that
// the turn wants, for instance. Nobody knows for how long. They are tried again and
// again, apart from all others, which do not wait for them.
type blocked struct {
	kick  chan struct{} // there is one more
	mu    sync.Mutex
	turns []*pendingTurn
}

// The pauses between two tries, which begin anew when one more turn has to wait: most
// transactions are short.
const (
	firstBlockedPause = 10 * time.Millisecond
	lastBlockedPause  = 500 * time.Millisecond
)

// longBlocked is how long a turn may have to wait before the engine says so.
const longBlocked = 5 * time.Second

// putAside lets a turn wait that the database could not take now, while it took others.
func (c *committer) putAside(p *pendingTurn) {
	now, fresh := time.Now(), p.since.IsZero()
	switch {
	case fresh:
		p.since = now
	case !p.said && now.Sub(p.since) > longBlocked:
		p.said = true
		c.engine.log.Warn("perdure: a run waits for a transaction that somebody keeps open, in which its workflow ID was taken or sent a message",
			"run", p.turn.Run, "for", now.Sub(p.since))
	}
	c.blocked.mu.Lock()
	c.blocked.turns = append(c.blocked.turns, p)
	c.blocked.mu.Unlock()
	if fresh {
		kick(c.blocked.kick)
	}
}

// blockedLoop tries the turns that wait.
func (c *committer) blockedLoop() {
	pauses := retry.Exponential(firstBlockedPause, 2, lastBlockedPause)
	for {
		select {
		case <-c.blocked.kick:
		case <-c.engine.ctx.Done():
			return
		}
		for k := 1; c.engine.pause(pauses.Delay(k)); k++ {
			if !c.tryBlocked() {
				break
			}
			select {
			case <-c.blocked.kick:
				k = 0
			default:
			}
		}
	}
}

// tryBlocked tries each turn that waits once, and reports whether there was one.
func (c *committer) tryBlocked() bool {
	c.blocked.mu.Lock()
	turns := c.blocked.turns
	c.blocked.turns = nil
	c.blocked.mu.Unlock()
	plain := slices.DeleteFunc(slices.Clone(turns), func(p *pendingTurn) bool { return p.turn.Hook != nil })
	if len(plain) > 0 {
		c.commitGroup(plain)
	}
	for _, p := range turns {
		if p.turn.Hook != nil { // each has a transaction of its own
			c.submit(p)
		}
	}
	return len(turns) > 0
}
