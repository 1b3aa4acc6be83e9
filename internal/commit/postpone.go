package commit

import (
	"errors"
	"slices"
	"time"

	"github.com/perdure/perdure/store"
)

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

// noteHooks records whether the hooks of a group, if it had any, were slow.
func (c *lane) noteHooks(group []*pending, spent time.Duration) {
	if slices.ContainsFunc(group, func(p *pending) bool { return p.turn.Hook != nil }) {
		c.slow = spent > slowHooks
	}
}
