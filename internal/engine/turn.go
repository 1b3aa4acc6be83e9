package engine

import (
	"errors"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/suspicion"
	"github.com/perdure/perdure/store"
)

// turn is one turn of a resident: what it hears, what its machine makes of that, and what is to
// be committed. It is filled and applied with the engine's mu held; between that it belongs to
// the goroutine that works on the resident. It is used again for the next turn.
type turn struct {
	mail      []post.Mail // what it hears
	questions []question  // what is answered after it
	onlyAsked bool        // it only answers
	heard     bool        // mail is complete, as of now
	now       int64       // engine time: nothing that comes due later happens in this turn
	more      core.More   // what waits for the next turn; the zero value for nothing
	loaded    bool        // the resident was loaded for it
	stepped   bool        // a step was taken, and is durable if there was something to commit
	trial     *suspicion.Turn

	due    bool // there is something to commit
	commit store.Turn

	// Of a run:
	inputs   []core.Input
	given    int // how much of mail, at its beginning, was deferred before
	out      *core.Turn
	deferred []post.Mail // the part of mail that is deferred again
	lost     int         // attempts that were lost
	differs  error       // what a second replay found; see checkDeterminism

	// Of a gate or a schedule:
	said *core.StandingTurn
}

// fill takes the mail and the questions of the next turn of a resident. It returns false if there
// is nothing to do. The engine's mu is held.
func (r *resident) fill(t *turn) bool {
	e := r.location.engine
	r.stepping = false
	if e.life.phase == stopped || r.dropped || (len(r.mail) == 0 && !r.poked && len(r.questions) == 0) {
		return false
	}
	m := r.machine()
	t.mail, t.questions = r.takeMail(), r.questions
	t.onlyAsked = len(t.mail) == 0 && !r.poked && m != nil
	r.poked, r.questions = false, nil
	r.stepping = !t.onlyAsked
	if m != nil && !t.onlyAsked {
		now := e.clock.Now()
		if at := r.mustHear(t, now); at == 0 || r.location.box.HeardSince(at) {
			r.complete(t, now)
		}
	}
	return true
}

// take takes a turn of a resident up to its commit. If it returns an error, the resident must be
// evicted.
func (r *resident) take(t *turn) (err error) {
	e := r.location.engine
	if t.onlyAsked {
		return nil
	}
	if run, is := r.stepper.(*activeRun); is {
		if run.entry == written {
			return run.getInLine(t.mail)
		}
		if t.trial, err = run.try(t); err != nil {
			return err
		}
		if t.trial != nil { // it may have waited for long
			t.mail, t.given, t.heard = t.mail[t.given:], 0, false
		}
	}
	if t.loaded = r.machine() == nil; t.loaded {
		if err := r.stepper.load(t.mail); err != nil {
			t.trial.WentOn(errors.Is(err, errElsewhere))
			return err
		}
	}
	if err = r.hearFirst(t); err == nil {
		err = r.stepper.step(t)
	}
	t.trial.Survived() // what follows is not done by its code
	if err != nil {
		return err
	}
	if t.due {
		if err := e.db.committer.Commit(t.commit); err != nil {
			if errors.Is(err, store.ErrFenced) {
				e.locations.lose(r.location)
			}
			r.stepper.refused(t, err)
			return err
		}
		t.trial.WentOn(t.commit.Number > 0)
	}
	t.stepped = true
	r.stepper.committed(t)
	return nil
}

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
	if replay.IsStuck(err) {
		e.dispatcher.grant(r.seats.GiveUp(&w.admitted))
	}
	return nil, err
}
