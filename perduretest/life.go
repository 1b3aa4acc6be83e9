package perduretest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/faulty"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/internal/settings"
	"github.com/perdure/perdure/store"
)

// life is one process: from the start of an engine to its crash or its stop.
type life struct {
	number int // from 1
	plan   *faulty.Plan
	engine *perdure.Engine // nil until it has started; set under the environment's mu
	asking sync.Once
	asked  chan struct{} // closed when the engine was stopped without a crash
	over   chan struct{} // closed when everything of it is gone
}

// ops lists the writes of the life, with the number of writes before it.
func (l *life) ops(before int) []string {
	ops := l.plan.Ops()
	for i, op := range ops {
		_, what, _ := strings.Cut(op, ": ") // its number within this life
		ops[i] = fmt.Sprintf("%d (life %d): %s", before+i+1, l.number, what)
	}
	return ops
}

// darken cuts the process off from the database until a time.
func (l *life) darken(until time.Time) {
	length := time.Until(until)
	if length <= 0 {
		return
	}
	l.plan.Outage(true)
	time.AfterFunc(length, func() { l.plan.Outage(false) })
}

// virtual is the option that suits an engine to virtual time: no other process changes the
// database behind its back, so it need not look often.
func virtual(seed uint64, around func(context.Context, seal.Body) (history.Payload, error)) perdure.Option {
	source := fmt.Sprintf("seed %d", seed)
	return seal.With(func(c *settings.Engine) {
		c.InboxEvery, c.ScanAhead, c.Lease = time.Hour, 24*time.Hour, 1000*time.Hour
		c.Supersede = true // the next life of the process is the same node
		c.Around = around
		c.Draw = func(_ string, call int64, attempt int) float64 { return core.Uniform(source, call, attempt) }
	})
}

// await returns a life whose engine works, waiting for it between two.
func (e *Env) await() (*life, error) {
	e.mu.Lock()
	for {
		if e.failure != nil || e.closed {
			defer e.mu.Unlock()
			if e.failure != nil {
				return nil, e.failure
			}
			return nil, errClosed
		}
		if l := e.life; l != nil && l.engine != nil && !l.plan.IsCrashed() {
			e.mu.Unlock()
			return l, nil
		}
		if !e.living {
			e.living = true
			e.lives.Go(e.live)
		}
		changed := e.changed
		e.mu.Unlock()
		<-changed
		e.mu.Lock()
	}
}

// tell wakes those who wait for a change. The environment's mu is held.
func (e *Env) tell() {
	close(e.changed)
	e.changed = make(chan struct{})
}

// live starts one engine after the other until one is stopped on purpose.
func (e *Env) live() {
	for again := true; again; {
		l := e.begin()
		if l == nil {
			return
		}
		err := e.start(l)
		if err == nil {
			select {
			case <-l.plan.Crashed():
			case <-l.asked:
			}
		}
		again = e.end(l, err)
	}
}

// begin makes the next life; nil if the test is over.
func (e *Env) begin() *life {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		e.living = false
		return nil
	}
	e.born++
	l := &life{number: e.born, plan: faulty.NewPlan(), asked: make(chan struct{}), over: make(chan struct{})}
	for write, faults := range e.faults {
		if write > len(e.writes) {
			l.plan.At(write-len(e.writes), faults...)
		}
	}
	l.darken(e.darkUntil)
	e.life = l
	return l
}

// start opens and starts an engine. While the database is not available it is
// tried again, as a supervisor would.
func (e *Env) start(l *life) error {
	ctx := context.Background()
	var eng *perdure.Engine
	err := e.insist(l, func() (err error) {
		eng, err = perdure.Open(ctx, faulty.Wrap(e.store, l.plan), e.engineOptions(l)...)
		return err
	})
	if err != nil {
		return err
	}
	if err := e.insist(l, func() error { return eng.Start(ctx) }); err != nil {
		kill(eng)
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	l.engine = eng
	e.tell()
	return nil
}

// insist repeats what the database could not answer, until the test ends.
func (e *Env) insist(l *life, f func() error) error {
	for {
		err := f()
		if err == nil || !store.Unavailable(err) || l.plan.IsCrashed() || e.isClosed() {
			return err
		}
		time.Sleep(time.Second)
	}
}

// end buries a life and reports whether another one shall follow.
func (e *Env) end(l *life, failure error) (again bool) {
	if l.engine != nil {
		kill(l.engine)
	}
	crashed := l.plan.IsCrashed()
	failure = errors.Join(failure, l.plan.Reap())
	if crashed {
		failure = nil // what a dying process said does not count
		// Time passes when all goroutines wait. So none of the dead process begins
		// anything after the next one did.
		time.Sleep(max(e.config.downtime, 1))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.writes = append(e.writes, l.ops(len(e.writes))...)
	if crashed {
		e.crashes++
	}
	if failure != nil && !e.closed {
		e.failure = fmt.Errorf("perduretest: the engine does not start: %w", failure)
	}
	e.life = nil
	e.living = crashed && !e.closed
	close(l.over)
	e.tell()
	return e.living
}

// kill ends an engine as a crash does.
func kill(eng *perdure.Engine) { engine.Of(eng).Kill() }

// stop ends a life in good order and waits until it is over.
func (e *Env) stop(ctx context.Context, l *life) error {
	e.mu.Lock()
	eng := l.engine
	e.mu.Unlock()
	var err error
	if eng != nil {
		err = eng.Stop(ctx)
	}
	if l.plan.IsCrashed() || store.Unavailable(err) {
		err = nil // the process ends all the same
	}
	l.asking.Do(func() { close(l.asked) })
	<-l.over
	return err
}
