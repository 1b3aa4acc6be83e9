package engine

import (
	"errors"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

// A run is damaged if part of what is on record of it cannot be read, or does not fit
// together. It is parked by its row alone and stays in no memory. What ends it loads what
// stands before the damage, without code.

// errDamaged says that a damaged run was asked to end and goes on to be parked.
var errDamaged = errors.New("the run is damaged")

// isDamage reports whether an error says that the record of a run cannot be used.
func isDamage(err error) bool {
	var unreadable *history.DamageError
	var useless *replay.DamageError
	return errors.As(err, &unreadable) || errors.As(err, &useless)
}

// damageDetail says of a parked run that its record cannot be used.
func (e *Engine) damageDetail(cause error) *core.Detail {
	d := &core.Detail{Reason: cause.Error(), Since: e.clock.Now(), Fingerprint: e.untilRestart(), Damaged: true}
	if useless, is := errors.AsType[*replay.DamageError](cause); is {
		d.Stack = string(useless.Stack)
	}
	return d
}

// loadDamaged parks a run whose record cannot be used, unless a message ends it. Past is
// what stands before the damage.
func (e *Engine) loadDamaged(r *activeRun, past *core.Past, cause error, todo []mail) error {
	if !isDamage(cause) || !e.endsDamaged(r, todo) {
		e.parkCulprit(r, cause)
		return cause
	}
	var run *core.Run
	for _, turns := range [][]core.StoredTurn{past.Turns, nil} {
		run = core.New(e.coreConfig(r, &past.Start), past.Start)
		if replay.Protect(func() error { return run.LoadDamaged(turns, past.Last, past.Rows, past.State) }) == nil {
			break
		}
	}
	h := &hold{core.StatusParked, *e.damageDetail(cause)}
	r.run, r.instance, r.hold = run, nil, h
	run.Hold(h.status, h.detail)
	return nil
}

// endsDamaged reports whether a message ends a run of which little is known.
func (e *Engine) endsDamaged(r *activeRun, todo []mail) bool {
	if e.endsSoon(r, todo) {
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.ContainsFunc(slices.Concat(todo, r.mail), func(m mail) bool {
		in, is := m.input.(core.Control)
		return is && in.Operation == core.ResetTheRun
	})
}
