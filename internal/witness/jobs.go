package witness

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

// Client is somebody who wants work done. The database is busy or away now and
// then, so it asks until it is answered.
type Client struct {
	Engine *perdure.Engine
	Random *rand.Rand
	Relay  Relay // nil: everything goes through Engine
}

// Relay asks another process to start a run, to send a signal, or to wait for a
// result. That process may die over it, and what then became of it is not known.
type Relay interface {
	Start(shape, id string, v int) (run string, err error)
	Signal(id string, n int) error
	Result(id string) (int, error)
}

// Patiently repeats what the database was not there for.
func Patiently(ctx context.Context, do func() error) error {
	for {
		err := do()
		var away *store.UnavailableError
		if !errors.As(err, &away) || ctx.Err() != nil {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Run is a run that a client started.
type Run struct {
	ID, RunID string
	// Over is the number of entries the book had when its end was known.
	Over int
	// Tag is what all steps of the run must have been handed, if anything.
	Tag string
}

// start starts a run, sometimes twice, and in different ways: it must be one.
func start[In, Out any](ctx context.Context, c *Client, w workflow.Workflow[In, Out], id string, in In) (perdure.Handle[Out], error) {
	var h perdure.Handle[Out]
	first := ""
	if v, ok := any(in).(int); ok && c.Relay != nil && c.Random.IntN(2) == 0 {
		first, _ = c.Relay.Start(w.Name(), id, v)
	}
	for range 1 + c.Random.IntN(2) {
		err := Patiently(ctx, func() (err error) {
			h, err = perdure.Start(ctx, c.Engine, w, id, in, keyed(id)...)
			return err
		})
		if err != nil {
			return h, err
		}
		if first != "" && first != h.RunID() {
			return h, found(Doubled, "starting %q twice made the runs %s and %s", id, first, h.RunID())
		}
		first = h.RunID()
	}
	return h, nil
}

// Job starts a run, or several, does what they need from outside, and checks their
// results.
type Job func(ctx context.Context, c *Client, id string, v int) ([]Run, error)

// computes is the job of a workflow that turns a number into another one.
func computes(w workflow.Workflow[int, int], want func(v int) int) Job {
	return func(ctx context.Context, c *Client, id string, v int) ([]Run, error) {
		h, err := start(ctx, c, w, id, v)
		r := []Run{{ID: id, RunID: h.RunID()}}
		if err != nil {
			return r, err
		}
		if c.Relay != nil && c.Random.IntN(4) == 0 {
			if got, err := c.Relay.Result(id); err == nil && got != want(v) {
				return r, fmt.Errorf("another process says that the result is %d, want %d", got, want(v))
			}
		}
		got, err := h.Result(ctx)
		if err == nil && got != want(v) {
			err = fmt.Errorf("the result is %d, want %d", got, want(v))
		}
		return r, err
	}
}

// Jobs are the shapes of work, by the name of their workflow.
var Jobs = map[string]Job{
	"sequence": computes(sequence, func(v int) int { return Repeat(5, v) }),
	"parallel": computes(parallel, func(v int) int {
		return 2 * (Grow(v) + Grow(v+1) + Grow(v+2) + Grow(v+3) + Grow(v+4))
	}),
	"flaky":    computes(flaky, func(v int) int { return Repeat(3, v) }),
	"narrow":   computes(narrow, func(v int) int { return Repeat(3, v) }),
	"queued":   computes(queued, queuedResult),
	"paid":     computes(paid, func(v int) int { return Repeat(3, v) }),
	"timers":   computes(timers, func(v int) int { return Repeat(3, v) }),
	"race":     computes(race, Grow),
	"block":    computes(block, func(v int) int { return Repeat(2, v) }),
	"pipeline": computes(pipeline, func(v int) int { return Grow(v) + Grow(v+1) + Grow(v+2) + Grow(v+3) }),
	"remember": remembers,
	"courier":  delivers,
	"inbox":    receives,
	"undo":     undoes,
}

// numbers are the workflows that turn a number into another one.
var numbers = []workflow.Workflow[int, int]{sequence, parallel, flaky, timers, race, block, narrow, pipeline, courier, undo, queued, paid, Doomed, Bank}

// Start starts a run by the name of its workflow, as a relay does it.
func Start(ctx context.Context, e *perdure.Engine, shape, id string, v int) (run string, err error) {
	i := slices.IndexFunc(numbers, func(w workflow.Workflow[int, int]) bool { return w.Name() == shape })
	switch {
	case i >= 0:
		return startOne(ctx, e, numbers[i], id, v)
	case shape == remember.Name():
		return startOne(ctx, e, remember, id, v)
	case shape == routed.Name():
		return startOne(ctx, e, routed, id, v)
	case shape == inbox.Name():
		return startOne(ctx, e, inbox, id, v)
	}
	return "", fmt.Errorf("nobody starts a workflow %q", shape)
}

func startOne[Out any](ctx context.Context, e *perdure.Engine, w workflow.Workflow[int, Out], id string, v int) (string, error) {
	h, err := perdure.Start(ctx, e, w, id, v, keyed(id)...)
	return h.RunID(), err
}

// Signal sends the numbered signal, as a relay does it.
func Signal(ctx context.Context, e *perdure.Engine, id string, n int) error {
	return numbered.SendOnce(ctx, e.Workflow(id), fmt.Sprint("signal ",
		n), n)
}

// Repeat returns what a number of effects in a row make of a value.
func Repeat(n, v int) int {
	for range n {
		v = Grow(v)
	}
	return v
}

func remembers(ctx context.Context, c *Client, id string, v int) ([]Run, error) {
	h, err := start(ctx, c, remember, id, v)
	r := []Run{{ID: id, RunID: h.RunID()}}
	if err != nil {
		return r, err
	}
	r[0].Tag, err = h.Result(ctx)
	return r, err
}

// receives sends numbered signals, some of them twice, each after the one before
// was acknowledged.
func receives(ctx context.Context, c *Client, id string, _ int) ([]Run, error) {
	h, err := start(ctx, c, inbox, id, letters)
	r := []Run{{ID: id, RunID: h.RunID()}}
	if err != nil {
		return r, err
	}
	want := make([]int, letters)
	for i := range want {
		want[i] = i
		if err := c.signal(ctx, id, i); err != nil && !(i == letters-1 && errors.Is(err, perdure.ErrClosed)) {
			return r, err
		}
		time.Sleep(time.Duration(c.Random.IntN(20)) * time.Millisecond)
	}
	got, err := h.Result(ctx)
	if err == nil && !slices.Equal(got, want) {
		err = found(amiss(len(got)-len(want)), "the acknowledged signals are %v and the run saw %v", want, got)
	}
	return r, err
}

// signal sends a signal, sometimes twice, and in different ways: it must be one.
func (c *Client) signal(ctx context.Context, id string, n int) error {
	again := c.Random.IntN(2)
	if c.Relay != nil && c.Random.IntN(2) == 0 && c.Relay.Signal(id, n) == nil {
		if again == 0 {
			return nil
		}
		again = 0
	}
	for range 1 + again {
		if err := Patiently(ctx, func() error { return Signal(ctx, c.Engine, id, n) }); err != nil {
			return err
		}
	}
	return nil
}

// delivers lets one run send signals to another.
func delivers(ctx context.Context, c *Client, id string, v int) ([]Run, error) {
	to, err := start(ctx, c, inbox, id+" to", letters)
	r := []Run{{ID: to.ID(), RunID: to.RunID()}}
	if err != nil {
		return r, err
	}
	from, err := start(ctx, c, courier, id, v)
	r = append(r, Run{ID: id, RunID: from.RunID()})
	if err != nil {
		return r, err
	}
	got, err := to.Result(ctx)
	if err == nil && !slices.Equal(got, []int{0, 1, 2, 3, 4}) {
		err = found(amiss(len(got)-letters), "%d signals were sent and the run saw %v", letters, got)
	}
	if err != nil {
		return r, err
	}
	if last, err := from.Result(ctx); err != nil || last != Repeat(letters, v) {
		return r, fmt.Errorf("the sender ended with %d, %v", last, err)
	}
	return r, nil
}

// undoes cancels a run at some moment; what it made, it must undo.
func undoes(ctx context.Context, c *Client, id string, v int) ([]Run, error) {
	h, err := start(ctx, c, undo, id, v)
	r := []Run{{ID: id, RunID: h.RunID()}}
	if err != nil {
		return r, err
	}
	time.Sleep(time.Duration(c.Random.IntN(60)) * time.Millisecond)
	for range 1 + c.Random.IntN(2) {
		err = Patiently(ctx, func() error {
			return c.Engine.Workflow(id).Cancel(ctx, "the client changed its mind")
		})
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
