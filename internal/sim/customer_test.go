package sim

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/store"
)

// desk is the engine by which clients ask.
func (w *world) desk() *engine.Engine {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.client.engine
}

// hour is longer than anything lasts in a world without being stuck.
const hour = time.Hour

// order lets a customer order a program, send it what it waits for, and wait for its end.
func (w *world) order(o *order) {
	d := w.dice.of("customer " + o.id)
	var beside sync.WaitGroup
	defer beside.Wait()
	time.Sleep(time.Duration(d.of("begin").below(4000)) * time.Millisecond)
	if !w.insist(o, "start", func(ctx context.Context) any { return w.start(ctx, o) }) {
		return
	}
	if d.of("doubly").oneIn(3) {
		beside.Go(func() { w.insist(o, "start", func(ctx context.Context) any { return w.start(ctx, o) }) })
	}
	for i := range d.of("updates").below(4) {
		beside.Go(func() {
			time.Sleep(time.Duration(d.of("update", i).below(6000)) * time.Millisecond)
			w.update(o, i)
		})
	}
	want := o.job.expect()
	for i := range want.signals {
		time.Sleep(time.Duration(d.of("signal", i).below(2500)) * time.Millisecond)
		value, _ := history.Encode(i)
		if !w.insist(o, "signal", func(ctx context.Context) any {
			return w.seen.record(w, o.id, signals{i}, func() any {
				return w.desk().Signal(ctx, o.id, number.Name(), fmt.Sprint("the ", i), value)
			})
		}) {
			break
		}
	}
	if !d.of("waits").oneIn(8) { // who waits asks again and again, which costs a world most of its time
		for begun := time.Now(); !w.model.ended(o.id) && time.Since(begun) < hour; {
			time.Sleep(400 * time.Millisecond)
		}
	}
	w.insist(o, "result", func(ctx context.Context) any { return w.result(ctx, o) })
}

// insist repeats a request until it is answered. It reports whether to continue.
func (w *world) insist(o *order, what string, ask func(ctx context.Context) any) bool {
	for begun := time.Now(); time.Since(begun) < hour; {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		err, failed := ask(ctx).(error)
		cancel()
		switch {
		case !failed:
			return true
		case errors.Is(err, store.ErrClosed):
			return false
		case !mayBeTold(err):
			w.complain("%s of %s: %v", what, o.id, err)
			return false
		}
		time.Sleep(rest(err))
	}
	w.complain("I6: %s of %s got no answer in an hour: %s", what, o.id, w.describe(o.id))
	return false
}

// tenantOf is the run key of a run: half have none, and one of the others weighs more.
func (w *world) tenantOf(id string) history.Settings {
	return []history.Settings{{}, {}, {Key: "ann"}, {Key: "bob", Weight: 3}}[w.dice.of("tenant").of(id).below(4)]
}

func (w *world) start(ctx context.Context, o *order) any {
	return w.seen.record(w, o.id, starts{}, func() any {
		input, err := history.Encode(o.job)
		if err != nil {
			return err
		}
		flow := o.job.flow()
		run, attached, err := w.desk().StartRun(ctx, request.Start{WorkflowID: o.id, Type: flow.Name(), Input: input, Settings: w.tenantOf(o.id)})
		if err != nil {
			return err
		}
		return started{run, attached}
	})
}

// update asks a program for an update, under one ID, until it is answered or the program has ended.
func (w *world) update(o *order, i int) {
	input, _ := history.Encode(i)
	for range 20 {
		got := w.seen.record(w, o.id, updates{i}, func() any {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			answer, err := w.desk().Update(ctx, o.id, count.Name(), fmt.Sprint("update ", i), input)
			if err != nil {
				return err
			}
			var n int
			if err := answer.Decode(&n); err != nil {
				w.complain("the answer of an update: %v", err)
			}
			return n
		})
		err, failed := got.(error)
		if !failed || errors.Is(err, store.ErrClosed) || errors.Is(err, request.ErrUpdateUnfinished) {
			return
		}
		if !mayBeTold(err) {
			if !w.isMarred(o.id) { // else it was canceled, say
				w.complain("update %d of %s: %v", i, o.id, err)
			}
			return
		}
		time.Sleep(time.Second + rest(err))
	}
}

// rest is how long a customer waits before asking again: longer when told that the database is
// copied, because what may have been done is much to check.
func rest(err error) time.Duration {
	if _, copied := errors.AsType[*store.SealedError](err); copied {
		return 5 * time.Second
	}
	return 300 * time.Millisecond
}

func (w *world) isMarred(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.marred[id]
}

// ending is how a program ended.
type ending struct {
	status core.Status
	value  int
	why    string
}

func (w *world) result(ctx context.Context, o *order) any {
	return w.seen.record(w, o.id, results{}, func() any {
		_, state, err := w.desk().Result(ctx, o.id, "")
		if err != nil {
			return err
		}
		return w.ending(state.Status, state.Detail)
	})
}

func (w *world) ending(status core.Status, detail []byte) ending {
	e := ending{status: status}
	d, err := core.DecodeDetail(detail)
	switch {
	case err != nil:
		w.complain("the end of a run: %v", err)
	case d.Result != nil:
		if err := d.Result.Decode(&e.value); err != nil {
			w.complain("the result of a run: %v", err)
		}
	case d.Failure != nil:
		e.why = d.Failure.Err().Error()
	}
	return e
}
