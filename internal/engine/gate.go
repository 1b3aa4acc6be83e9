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

func (k gateKind) notice(name string, out *core.StandingTurn) {
	if out.Replaced == nil {
		return
	}
	e := k.engine
	e.mu.Lock()
	said := e.conflicts[name]
	e.conflicts[name] = true
	e.mu.Unlock()
	if !said {
		e.log.Warn("perdure: calls say different things about a gate; the latest is right. This is said once, and harmless while a new version is rolled out",
			"gate", name, "before", fmt.Sprintf("%+v", *out.Replaced), "now", fmt.Sprintf("%+v", *out.Replacing))
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
