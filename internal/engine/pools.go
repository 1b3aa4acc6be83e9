package engine

import (
	"sync"
	"time"
)

// pools are things that are used again.
type pools struct {
	timers  sync.Pool // of stopped *time.Timer
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

// borrowTimer returns a running timer. Timers are pooled because each start of a run needs
// one.
func (p *pools) borrowTimer(d time.Duration) *time.Timer {
	t, ok := p.timers.Get().(*time.Timer)
	if !ok {
		return time.NewTimer(d)
	}
	t.Reset(d)
	return t
}

func (p *pools) returnTimer(t *time.Timer) {
	t.Stop()
	p.timers.Put(t)
}
