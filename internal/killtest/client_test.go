package killtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workflow"
)

// client is the parent's way to the runs. The database is busy now and then, so
// it asks until it is answered.
type client struct {
	engine *perdure.Engine
	random *rand.Rand
}

// patiently repeats what the database was too busy for.
func patiently(ctx context.Context, do func() error) error {
	for {
		err := do()
		var busy *perdure.UnavailableError
		if !errors.As(err, &busy) || ctx.Err() != nil {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// run is a run the parent started.
type run struct {
	id, run string
	// over is the number of entries the book had when its end was known.
	over int
	// tag is what all steps of the run must have been handed, if anything.
	tag string
}

// start starts a run, sometimes twice.
func start[In, Out any](ctx context.Context, c *client, w workflow.Workflow[In, Out], id string, in In) (perdure.Handle[Out], error) {
	var h perdure.Handle[Out]
	for range 1 + c.random.IntN(2) {
		first := h.RunID()
		err := patiently(ctx, func() (err error) {
			h, err = perdure.Start(ctx, c.engine, w, id, in)
			return err
		})
		if err != nil {
			return h, err
		}
		if first != "" && first != h.RunID() {
			return h, fmt.Errorf("starting %q twice made the runs %s and %s", id, first, h.RunID())
		}
	}
	return h, nil
}

// job starts a run, does what it needs from outside, and checks its result.
type job func(ctx context.Context, c *client, id string, v int) (run, error)

// computes is the job of a workflow that turns a number into another one.
func computes(w workflow.Workflow[int, int], want func(v int) int) job {
	return func(ctx context.Context, c *client, id string, v int) (run, error) {
		h, err := start(ctx, c, w, id, v)
		r := run{id: id, run: h.RunID()}
		if err != nil {
			return r, err
		}
		got, err := h.Result(ctx)
		if err == nil && got != want(v) {
			err = fmt.Errorf("the result is %d, want %d", got, want(v))
		}
		return r, err
	}
}

// jobs are the shapes of work, by name.
var jobs = map[string]job{
	"sequence": computes(sequence, func(v int) int { return repeat(5, v) }),
	"parallel": computes(parallel, func(v int) int {
		return 2 * (grow(v) + grow(v+1) + grow(v+2) + grow(v+3) + grow(v+4))
	}),
	"flaky":    computes(flaky, func(v int) int { return repeat(3, v) }),
	"timers":   computes(timers, func(v int) int { return repeat(3, v) }),
	"race":     computes(race, grow),
	"block":    computes(block, func(v int) int { return repeat(2, v) }),
	"pipeline": computes(pipeline, func(v int) int { return grow(v) + grow(v+1) + grow(v+2) + grow(v+3) }),
	"remember": remembers,
	"inbox":    receives,
	"undo":     undoes,
}

func repeat(n, v int) int {
	for range n {
		v = grow(v)
	}
	return v
}

func remembers(ctx context.Context, c *client, id string, v int) (run, error) {
	h, err := start(ctx, c, remember, id, v)
	r := run{id: id, run: h.RunID()}
	if err != nil {
		return r, err
	}
	r.tag, err = h.Result(ctx)
	return r, err
}

// receives sends numbered signals, some of them twice, each after the one before
// was acknowledged.
func receives(ctx context.Context, c *client, id string, _ int) (run, error) {
	const signals = 5
	h, err := start(ctx, c, inbox, id, signals)
	r := run{id: id, run: h.RunID()}
	if err != nil {
		return r, err
	}
	want := make([]int, signals)
	for i := range want {
		want[i] = i
		for range 1 + c.random.IntN(2) {
			err := patiently(ctx, func() error {
				return perdure.Signal(ctx, c.engine, id, numbered, i, perdure.SignalID(fmt.Sprint("signal ", i)))
			})
			if err != nil && !(i == signals-1 && errors.Is(err, perdure.ErrClosed)) {
				return r, err
			}
		}
		time.Sleep(time.Duration(c.random.IntN(20)) * time.Millisecond)
	}
	got, err := h.Result(ctx)
	if err == nil && !slices.Equal(got, want) {
		err = fmt.Errorf("the acknowledged signals are %v and the run saw %v", want, got)
	}
	return r, err
}

// undoes cancels a run at some moment; what it made, it must undo.
func undoes(ctx context.Context, c *client, id string, v int) (run, error) {
	h, err := start(ctx, c, undo, id, v)
	r := run{id: id, run: h.RunID()}
	if err != nil {
		return r, err
	}
	time.Sleep(time.Duration(c.random.IntN(60)) * time.Millisecond)
	for range 1 + c.random.IntN(2) {
		err = patiently(ctx, func() error { return c.engine.Cancel(ctx, id, "the parent changed its mind") })
		if err != nil && !errors.Is(err, perdure.ErrClosed) {
			return r, err
		}
	}
	_, err = h.Result(ctx)
	var ended *perdure.RunError
	if !errors.As(err, &ended) || ended.Status != "canceled" {
		return r, fmt.Errorf("the run ended with %v, want it canceled", err)
	}
	return r, nil
}
