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

// damageOf returns what an error says of a record that cannot be read, nil if it is
// another one.
func damageOf(err error) *history.DamageError {
	d, _ := errors.AsType[*history.DamageError](err)
	return d
}

// readable reports whether something was read: as it is, or what its face shows because it
// is encoded and this program cannot decode it.
func readable(err error) bool { return err == nil || history.IsCoded(err) }

// damagedWait is what something waits for of whose record a part cannot be read.
func damagedWait(w view.Wait, d *history.DamageError) view.Wait {
	w.For, w.Why = view.WaitDamaged, d.Error()
	return w
}

// firstDamage returns the first of what cannot be read, nil if all can: of errors, and of
// a run if that was read.
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

// turnDamaged is the kind of what stands in a history for a turn that cannot be read.
const turnDamaged history.Kind = "TurnDamaged"

// damagedEvent is what is shown in the place of what cannot be read.
func damagedEvent(d *history.DamageError) (view.Event, error) {
	text, err := json.Marshal(TurnEvent{Turn: d.Turn, Event: history.Event{Kind: turnDamaged, Note: d.Error()}})
	return view.Event{Turn: d.Turn, Number: 1, Kind: string(turnDamaged), Record: text}, err
}
