package inspect

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/view"
)

// damageOf returns the *history.DamageError in err, or nil.
func damageOf(err error) *history.DamageError {
	d, _ := errors.AsType[*history.DamageError](err)
	return d
}

// readable reports whether something was read, either as it is or, if it is encoded and
// this program cannot decode it, as its face.
func readable(err error) bool { return err == nil || history.IsCoded(err) }

// damagedWait turns w into the wait of something whose record is partly unreadable.
func damagedWait(w view.Wait, d *history.DamageError) view.Wait {
	w.For, w.Why = view.WaitDamaged, d.Error()
	return w
}

// firstDamage returns the first damage among the errors and in the run's snapshot, or nil.
func firstDamage(s *Snapshot, errs ...error) *view.Damage {
	var all []*history.DamageError
	if s != nil {
		all = append(all, s.Damage...)
		for _, number := range slices.Sorted(maps.Keys(s.rows)) {
			if _, err := core.DecodeProgress(s.rows[number].Data); err != nil {
				all = append(all, damageOf(history.Damaged(fmt.Sprintf("the row of call %d", number), err)))
			}
		}
	}
	for _, err := range errs {
		if d := damageOf(err); d != nil {
			all = append(all, d)
		}
	}
	if len(all) == 0 {
		return nil
	}
	d := all[0]
	v := &view.Damage{Problem: d.Error(), Turn: d.Turn, Newer: d.Newer, Coded: d.Coded}
	if s != nil && !s.startLost {
		v.LastCall = s.last
		if d.Turn > 0 {
			v.LastCall = s.sound
		}
	}
	return v
}

// turnDamaged is the kind of the event that replaces an unreadable turn.
const turnDamaged history.Kind = "TurnDamaged"

// damagedEvent returns the event that replaces what cannot be read.
func damagedEvent(d *history.DamageError) (view.Event, error) {
	text, err := json.Marshal(TurnEvent{Turn: d.Turn, Event: history.Event{Kind: turnDamaged, Note: d.Error()}})
	return view.Event{Turn: d.Turn, Number: 1, Kind: string(turnDamaged), Record: text}, err
}
