package commit

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
)

// blocked are turns that wait for a transaction of another client, for an unknown time, or of
// which the database refuses a statement. They are retried apart from all other turns, which do
// not wait for them.
type blocked struct {
	kick  clock.Bell // a turn was added
	mu    sync.Mutex
	turns []*pending
}

// The pauses between retries. They start again at the first when another turn is blocked,
// because most transactions are short.
const (
	firstBlockedPause = 10 * time.Millisecond
	lastBlockedPause  = 500 * time.Millisecond
)

// longBlocked is how long a turn may be blocked before a warning is logged.
const longBlocked = 5 * time.Second

// block adds a turn that the database could not take now although it took others.
func (c *lane) block(p *pending) {
	now, fresh := time.Now(), p.since.IsZero()
	switch {
	case fresh:
		p.since = now
	case !p.warned && !p.refused && now.Sub(p.since) > longBlocked:
		p.warned = true
		c.Log.CommitBlocked(p.turn.Run, now.Sub(p.since))
	}
	c.blocked.mu.Lock()
	c.blocked.turns = append(c.blocked.turns, p)
	c.blocked.mu.Unlock()
	if !fresh {
		return
	}
	c.blocked.kick.Ring()
}

// retryBlocked retries blocked turns until the committer ends.
func (c *lane) retryBlocked() {
	pauses := retry.Exponential(firstBlockedPause, 2, lastBlockedPause)
	for {
		select {
		case <-c.blocked.kick:
		case <-c.ctx.Done():
			return
		}
		for k := 1; clock.Pause(c.ctx, pauses.Delay(k)); k++ {
			if !c.retryOnce() {
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

// retryOnce retries each blocked turn once, and reports whether there was one.
func (c *lane) retryOnce() bool {
	c.blocked.mu.Lock()
	turns := c.blocked.turns
	c.blocked.turns = nil
	c.blocked.mu.Unlock()
	plain, hooked := byHook(turns)
	if len(plain) > 0 {
		c.commitGroup(plain)
	}
	for _, p := range hooked { // each has a transaction of its own
		c.submit(p)
	}
	return len(turns) > 0
}

// hooksShare is how long the hooks of one group may take together before the remaining ones
// are postponed to the next group. All turns of a group wait for its hooks.
const hooksShare = 250 * time.Millisecond

// errPostponed is the error of a hook that is postponed to the next group.
var errPostponed = errors.New("its group has had its time")

// slowHooks is how long hooks may take while turns without a hook still share their
// transaction, which saves a transaction.
const slowHooks = 20 * time.Millisecond

// postponing wraps the hooks of turns so that they observe hooksShare. It returns how long
// they took, which is known after the commit. If the store restarts its transaction, a hook
// that ran runs again and a postponed one stays postponed.
func postponing(turns []store.Turn) *time.Duration {
	spent := new(time.Duration)
	for i := range turns {
		hook := turns[i].Hook
		if hook == nil {
			continue
		}
		ran, postponed := false, false
		turns[i].Hook = func(tx any) error {
			if postponed = postponed || !ran && *spent > hooksShare; postponed {
				return errPostponed
			}
			ran = true
			began := time.Now()
			defer func() { *spent += time.Since(began) }()
			return hook(tx)
		}
	}
	return spent
}

// apart splits a group if recent hooks were slow. Turns without a hook come first and get
// their results earlier.
func (c *lane) apart(group []*pending) [][]*pending {
	if !c.slow {
		return [][]*pending{group}
	}
	plain, hooked := byHook(group)
	return slices.DeleteFunc([][]*pending{plain, hooked}, func(part []*pending) bool { return len(part) == 0 })
}

// byHook divides turns into those without a hook and those with one.
func byHook(group []*pending) (plain, hooked []*pending) {
	for _, p := range group {
		if p.turn.Hook == nil {
			plain = append(plain, p)
		} else {
			hooked = append(hooked, p)
		}
	}
	return plain, hooked
}
