package engine

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
)

// gateKind is the kind of standing entities that say when attempts may start. The last turn
// of an unused one removes its row.
type gateKind struct{ engine *Engine }

func (gateKind) decode(rec *store.Record) (core.Standing, error) {
	return record.Gate(rec)
}

// missing makes a gate that no call was at before.
func (k gateKind) missing(name string) (core.Standing, *store.Run, error) {
	row, err := entity.Find(k.engine.group, entity.Gate, name).Row(k.engine.clock.Now())
	return core.NewGate(name), &row, err
}

func (k gateKind) removed(name string) {
	k.engine.mu.Lock()
	defer k.engine.mu.Unlock()
	delete(k.engine.conflicts, name)
}

// notice logs what a step changes: the spec, a pause, the breaker.
func (k gateKind) notice(name string, entity core.Standing) func(out *core.StandingTurn) {
	gate, ok := entity.(*core.Gate)
	if !ok {
		return func(*core.StandingTurn) {}
	}
	before := gate.Detail()
	return func(out *core.StandingTurn) {
		if out.State != nil {
			k.reportGate(name, &before, gate.Detail())
		}
		k.reportNotes(name, out.Noted)
		if out.Replaced == nil {
			return
		}
		e := k.engine
		e.mu.Lock()
		said := e.conflicts[name]
		e.conflicts[name] = true
		e.mu.Unlock()
		if !said {
			e.log.GateConflict(name, fmt.Sprintf("%+v", *out.Replaced), fmt.Sprintf("%+v", *out.Replacing))
		}
	}
}

func (gateKind) rest() time.Duration { return 0 }

// gateRule tells a gate that what it keeps for a run that has ended or does not exist is
// not wanted.
func gateRule(e *Engine) rule {
	return rule{refusal: func(_ *partition, in core.Input) (m store.Message, due bool) {
		if said, ok := in.(core.FromGate); ok {
			if answer, needed := said.Decline(); needed {
				return message.ToGate(e.group, &answer), true
			}
		}
		return m, false
	}}
}
