package commit

import (
	"errors"
	"slices"
	"time"

	"github.com/perdure/perdure/store"
)

// hooksShare is how long the hooks of one group may take together before the rest of
// them is left to the next group. All turns of the group wait for its hooks.
const hooksShare = 250 * time.Millisecond

// errPostponed is the error of a hook that is left to the next group.
var errPostponed = errors.New("its group has had its time")

// slowHooks is how long hooks may take for turns without one to share their transaction,
// which saves a transaction.
const slowHooks = 20 * time.Millisecond

// postponing wraps the hooks of turns so that they keep to hooksShare. It returns how
// long they took, which is known after the commit. If the store begins its transaction
// again, a hook that ran runs again and one that was postponed stays postponed.
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

// apart splits a group if recent hooks were slow: turns without a hook come first and
// get their results before.
func (c *lane) apart(group []*pending) [][]*pending {
	if !c.slow {
		return [][]*pending{group}
	}
	var parts [2][]*pending
	for _, p := range group {
		if p.turn.Hook == nil {
			parts[0] = append(parts[0], p)
		} else {
			parts[1] = append(parts[1], p)
		}
	}
	return slices.DeleteFunc(parts[:], func(part []*pending) bool { return len(part) == 0 })
}

// noteHooks notes how slow the hooks of a group were, if it had any.
func (c *lane) noteHooks(group []*pending, spent time.Duration) {
	if slices.ContainsFunc(group, func(p *pending) bool { return p.turn.Hook != nil }) {
		c.slow = spent > slowHooks
	}
}
