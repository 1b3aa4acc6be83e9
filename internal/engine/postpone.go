package engine

import (
	"errors"
	"slices"
	"time"

	"github.com/perdure/perdure/store"
)

// hooksShare is how long the hooks of one group may take together before the rest
// of them is left to the next one. The turns of the group wait for all of its
// hooks, also those that have none.
const hooksShare = 250 * time.Millisecond

// errPostponed is the answer of a hook that is left to the next group.
var errPostponed = errors.New("its group has had its time")

// slowHooks is how long they may take for the turns without a hook to share their
// transaction, which spares one.
const slowHooks = 20 * time.Millisecond

// postponing gives turns hooks that mind hooksShare, and returns how long they took,
// which is known after the commit. A hook that ran runs again if the store begins its
// transaction anew, and one that was postponed stays so.
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

// apart splits a group if hooks were slow of late: those that have none come first
// and get their answers before.
func (c *committer) apart(group []*pendingTurn) [][]*pendingTurn {
	if !c.slow {
		return [][]*pendingTurn{group}
	}
	var parts [2][]*pendingTurn
	for _, p := range group {
		if p.turn.Hook == nil {
			parts[0] = append(parts[0], p)
		} else {
			parts[1] = append(parts[1], p)
		}
	}
	return slices.DeleteFunc(parts[:], func(part []*pendingTurn) bool { return len(part) == 0 })
}

// minded notes how slow hooks are, if there were any.
func (c *committer) minded(group []*pendingTurn, spent time.Duration) {
	if slices.ContainsFunc(group, func(p *pendingTurn) bool { return p.turn.Hook != nil }) {
		c.slow = spent > slowHooks
	}
}

// answer tells those who wait what became of their turns. Turns whose hook was
// postponed go into the next group; only the loop makes groups with several of those,
// so only it gets here with one. Turns that have to wait are tried again by themselves.
func (c *committer) answer(group []*pendingTurn, answers []error) {
	for i, p := range group {
		if errors.Is(answers[i], errPostponed) {
			c.postponed = append(c.postponed, p)
			continue
		}
		if store.Unavailable(answers[i]) {
			c.putAside(p)
			continue
		}
		p.done <- answers[i]
	}
}
