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

// gateKind is the kind of gates, which decide when attempts may start. The last turn of an
// unused gate removes its row.
type gateKind struct{ engine *Engine }

func (gateKind) decode(rec *store.Record) (core.Standing, error) {
	return record.Gate(rec)
}

// missing returns a gate that no call has used before.
func (k gateKind) missing(name string) (core.Standing, *store.Run, error) {
	row, err := entity.Find(k.engine.db.group, entity.Gate, name).Row(k.engine.clock.Now())
	return core.NewGate(name), &row, err
}

func (k gateKind) removed(name string) {
	delete(k.engine.residents.conflicts, name)
}

// notice logs changes of the spec, of a pause and of the breaker.
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
		for _, b := range out.Breakers {
			k.reportBreaker(name, b)
		}
		k.reportNotes(name, out.Noted)
		if out.Replaced == nil {
			return
		}
		e := k.engine
		e.mu.Lock()
		said := e.residents.conflicts[name]
		e.residents.conflicts[name] = true
		e.mu.Unlock()
		if !said {
			e.log.GateConflict(name, fmt.Sprintf("%+v", *out.Replaced), fmt.Sprintf("%+v", *out.Replacing))
		}
	}
}

func (gateKind) rest() time.Duration { return 0 }

// gateRule declines what a gate holds for a run that has ended or does not exist.
func gateRule(e *Engine) rule {
	return rule{refusal: func(_ *location, in core.Input) (m store.Message, due bool) {
		if said, ok := in.(core.FromGate); ok {
			if answer, needed := said.Decline(); needed {
				return message.ToGate(e.db.group, &answer), true
			}
		}
		return m, false
	}}
}
