package engine

import (
	"errors"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/replay"
)

// watched is one step of a run under a time limit. It is pooled for later steps of any run,
// unless its code may still be running: then the code may still write to it.
type watched struct {
	replay.Stint
	of      *activeRun
	machine *core.Run
	now     int64
	inputs  []core.Input
	out     *core.Turn              // the result of the step
	take    func() error            // takes the step; allocated once
	admit   func(c *core.Call) bool // called by the machine; allocated once

	admitted dispatch.Step // calls that were given a slot; a step that is given up frees them
}

func (e *Engine) newWatched() *watched {
	w := &watched{}
	w.admit = func(c *core.Call) bool { return e.admit(w, c) }
	w.take = func() (err error) {
		w.out, err = w.machine.Step(w.now, w.inputs, w.admit)
		return err
	}
	return w
}

// step takes a step under the turn timeout.
func (e *Engine) step(r *activeRun, now int64, inputs []core.Input) (*core.Turn, error) {
	w, ok := e.pools.watched.Get().(*watched)
	if !ok {
		w = e.newWatched()
	}
	if spare, is := e.pools.outs.Get().(*core.Turn); is {
		r.run.Reuse(spare)
	}
	w.Instance, w.of, w.machine, w.now, w.inputs = r.instance, r, r.run, now, inputs
	err := e.code.guard.Do(&w.Stint, w.take)
	if err == nil {
		out := w.out
		w.Instance, w.of, w.machine, w.inputs, w.out = nil, nil, nil, nil, nil
		w.admitted.Reset()
		e.pools.watched.Put(w)
		return out, nil
	}
	if stuck := (*replay.StuckError)(nil); errors.As(err, &stuck) {
		e.dispatcher.grant(r.seats.GiveUp(&w.admitted))
	}
	return nil, err
}
