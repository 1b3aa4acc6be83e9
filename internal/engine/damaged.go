package engine

import (
	"errors"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/internal/replay"
)

// A run is damaged if part of its record cannot be read or does not fit together. It is parked
// through its row alone and is not kept in memory. A message that ends it loads what precedes
// the damage, without code.

// errDamaged reports that a damaged run did not end after all, and has to be parked.
var errDamaged = errors.New("the run is damaged")

// isDamage reports whether err says that the record of a run is unusable.
func isDamage(err error) bool {
	var unreadable *history.DamageError
	var useless *replay.DamageError
	return errors.As(err, &unreadable) || errors.As(err, &useless)
}

// damageDetail returns the detail of a run that is parked because its record is unusable.
func (e *Engine) damageDetail(cause error) *core.Detail {
	d := &core.Detail{Reason: cause.Error(), Since: e.clock.Now(), Fingerprint: e.untilRestart(), Damaged: true}
	if useless, is := errors.AsType[*replay.DamageError](cause); is {
		d.Stack = string(useless.Stack)
	}
	return d
}

// loadDamaged parks a run whose record is unusable, unless a message ends it. Past holds what
// precedes the damage.
func (r *activeRun) loadDamaged(past *core.Past, cause error, todo []post.Mail) error {
	if !isDamage(cause) || !r.endsDamaged(todo) {
		r.parkCulprit(cause)
		return cause
	}
	var run *core.Run
	for _, turns := range [][]core.StoredTurn{past.Turns, nil} {
		run = core.New(r.coreConfig(&past.Start), past.Start)
		if replay.Protect(func() error { return run.LoadDamaged(turns, past.Last, past.Rows, past.State) }) == nil {
			break
		}
	}
	h := &hold{core.StatusParked, *r.engine.damageDetail(cause)}
	r.run, r.instance, r.hold = run, nil, h
	run.Hold(h.status, h.detail)
	return nil
}

// endsDamaged reports whether a message ends a run even if little of it can be read.
func (r *activeRun) endsDamaged(todo []post.Mail) bool {
	e := r.engine
	if r.endsSoon(todo) {
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.ContainsFunc(slices.Concat(todo, r.mail), resets)
}
