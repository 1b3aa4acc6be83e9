package engine

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
)

// maxGroup is how many turns one transaction takes.
const maxGroup = 512

// committer makes turns durable, all that are ready at a moment in one
// transaction.
type committer struct {
	engine  *Engine
	queue   chan *pendingTurn
	lone    chan struct{} // as many turns with hooks are committed by themselves as it holds
	answers sync.Pool     // of chan error, empty

	// The loop's own:
	postponed []*pendingTurn // by hooks that took long
	slow      bool           // hooks have been, of late

	blocked blocked
}

type pendingTurn struct {
	turn  store.Turn
	done  chan error
	since time.Time // it has to wait for somebody else's transaction, zero if it has not
	said  bool      // that it does, to people
}

func newCommitter(e *Engine) *committer {
	return &committer{
		engine: e, queue: make(chan *pendingTurn, 2*maxGroup), lone: make(chan struct{}, e.db.Info().LoneHooks),
		blocked: blocked{kick: make(chan struct{}, 1)},
	}
}

// commit returns when the turn is durable, refused, or the engine ends.
func (c *committer) commit(t store.Turn) error {
	done, ok := c.answers.Get().(chan error)
	if !ok {
		done = make(chan error, 1)
	}
	p := &pendingTurn{turn: t, done: done}
	if !c.submit(p) {
		return ErrStopped
	}
	select {
	case err := <-p.done:
		c.answers.Put(done)
		return err
	case <-c.engine.ctx.Done():
		return ErrStopped
	}
}

// submit hands a turn to the group that is made next. One with a hook is committed
// here if the database wants it by itself: nobody else waits for what its hook
// does. It returns false if the engine ends.
func (c *committer) submit(p *pendingTurn) bool {
	if p.turn.Hook == nil || cap(c.lone) == 0 {
		select {
		case c.queue <- p:
			return true
		case <-c.engine.ctx.Done():
			return false
		}
	}
	select {
	case c.lone <- struct{}{}:
		defer func() { <-c.lone }()
		c.commitGroup([]*pendingTurn{p})
		return true
	case <-c.engine.ctx.Done():
		return false
	}
}

func (c *committer) loop() {
	group := make([]*pendingTurn, 0, maxGroup)
	for {
		group = append(group[:0], c.postponed...)
		c.postponed = nil
		if len(group) == 0 {
			select {
			case p := <-c.queue:
				group = append(group, p)
			case <-c.engine.ctx.Done():
				return
			}
		}
		for more := true; more && len(group) < maxGroup; {
			select {
			case p := <-c.queue:
				group = append(group, p)
			default:
				more = false
			}
		}
		for _, g := range byDomain(group, c.engine.db.Info()) {
			for _, part := range c.apart(g) {
				c.commitGroup(part)
			}
		}
	}
}

// byDomain splits a group so that no part spans commit domains.
func byDomain(group []*pendingTurn, info store.Info) [][]*pendingTurn {
	first := info.Domain(group[0].turn.Partition)
	one := !slices.ContainsFunc(group, func(p *pendingTurn) bool { return info.Domain(p.turn.Partition) != first })
	if one {
		return [][]*pendingTurn{group}
	}
	var parts [][]*pendingTurn
	index := map[int]int{}
	for _, p := range group {
		d := info.Domain(p.turn.Partition)
		i, ok := index[d]
		if !ok {
			i = len(parts)
			index[d], parts = i, append(parts, nil)
		}
		parts[i] = append(parts[i], p)
	}
	return parts
}

// commitGroup commits turns until each is durable or refused. While the database
// does not answer, it asks again with the same bytes: a turn whose answer was
// lost is recognised by the store. A group that the database cannot take is
// halved until the culprit is alone.
func (c *committer) commitGroup(group []*pendingTurn) {
	turns := make([]store.Turn, len(group))
	backoff := retry.Exponential(10*time.Millisecond, 2, time.Second)
	for k := 1; ; k++ {
		for i, p := range group {
			turns[i] = p.turn
		}
		spent := postponing(turns)
		result, err := c.write(turns)
		switch {
		case err == nil:
			c.engine.answered(writing)
			c.engine.clock.observe(result.Now)
			if cap(c.lone) == 0 {
				c.minded(group, *spent)
			}
			c.answer(group, result.Errors)
			return
		case c.engine.ctx.Err() != nil:
			return
		case store.Unavailable(err):
			c.engine.unanswered(writing, "committing turns", err)
			if !c.engine.pause(backoff.Delay(k)) {
				return
			}
		case len(group) > 1:
			half := len(group) / 2
			c.commitGroup(group[:half])
			c.commitGroup(group[half:])
			return
		default:
			group[0].done <- errors.Join(errors.New("the database refused the turn"), err)
			return
		}
	}
}

// slowCommit is how long a commit may take before the engine says so.
const slowCommit = 5 * time.Second

// write asks the database once, and lets it be known if that takes long.
func (c *committer) write(turns []store.Turn) (store.Result, error) {
	said := make(chan struct{})
	slow := time.AfterFunc(slowCommit, func() {
		defer close(said)
		c.engine.unanswered(writing, "committing turns", fmt.Errorf("a commit has not been answered for %s", slowCommit))
	})
	result, err := c.engine.db.Commit(c.engine.ctx, turns)
	if !slow.Stop() {
		<-said // so that nobody says afterwards that it is slow
	}
	return result, err
}
