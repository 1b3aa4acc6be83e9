package engine

import (
	"sync"

	"github.com/perdure/perdure/internal/clock"
)

// pools are things that are used again.
type pools struct {
	timers  clock.Timers
	watched sync.Pool // of *watched
	turns   sync.Pool // of *turn, empty
	outs    sync.Pool // of *core.Turn, empty
}

func (p *pools) newTurn() *turn {
	if t, is := p.turns.Get().(*turn); is {
		return t
	}
	return &turn{}
}

// clearTurn makes a turn empty for the next one.
func (p *pools) clearTurn(t *turn) {
	if t.stepped && t.out != nil { // else who refused it may still read it
		t.out.Clear()
		p.outs.Put(t.out)
	}
	clear(t.inputs)
	*t = turn{inputs: t.inputs[:0]}
}
