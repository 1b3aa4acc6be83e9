package bridge

import (
	"errors"

	"github.com/perdure/perdure/internal/engine"
)

// Door is the part of a perdure.Engine that only this package can open.
type Door struct{ engine *engine.Engine }

// NewDoor returns the door to an engine.
func NewDoor(e *engine.Engine) Door { return Door{e} }

func (d Door) open() *engine.Engine {
	if d.engine == nil {
		return engine.None // of a zero perdure.Engine
	}
	return d.engine
}

// House is a *perdure.Engine.
type House interface{ open() *engine.Engine }

// Engine returns the engine inside a *perdure.Engine.
func Engine(h House) *engine.Engine { return h.open() }

// Settings are what a perdure.Option changes.
type Settings struct {
	engine.Config
	Faults []error // mistakes in options, to be reported together
}

// Option is a perdure.Option.
type Option interface{ set(*Settings) }

// Set is an Option.
type Set func(*Settings)

func (o Set) set(s *Settings) { o(s) }

// Apply applies options to s, in order.
func Apply[O Option](s *Settings, all []O) {
	for _, o := range all {
		if Option(o) == nil {
			s.Faults = append(s.Faults, errors.New("perdure.Open: an option is nil; leave it out"))
			continue
		}
		o.set(s)
	}
}
