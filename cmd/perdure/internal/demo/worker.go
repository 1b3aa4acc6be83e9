package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/cmd/perdure/internal/database"
	"github.com/perdure/perdure/cmd/perdure/internal/shop"
)

// WorkerOptions are what the worker process is told.
type WorkerOptions struct {
	Dir      string // of the demo
	Database database.Name
	Service  string // address of the shop service
	Name     string // of the node; empty if it is alone
	Slots    int    // how many requests it makes at once

	Orphaned io.Reader // ends when the parent is gone
	Reports  io.Writer // to the parent
	Log      *slog.Logger
}

// worker is the process that does the orders. It knows nothing of the kills, nor of
// other workers beside it.
type worker struct {
	service string
	reports *reporter
	running atomic.Int64 // attempts
	steps   atomic.Int64 // attempts that did what they should
}

// Worker does all orders of a demo and returns when they are done, when ctx ends
// or when the parent is gone. Started again after its process died, it asks for
// the same orders under the same IDs, and so goes on with each where it was.
func Worker(ctx context.Context, opt WorkerOptions) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, opt.Orphaned)
		cancel()
	}()
	w := &worker{service: opt.Service, reports: newReporter(opt.Reports)}
	err := w.work(ctx, opt)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		w.reports.send(report{Event: eventFailed, Message: err.Error()})
		return err
	}
	w.reports.send(report{Event: eventFinished})
	return nil
}

func (w *worker) work(ctx context.Context, opt WorkerOptions) error {
	d := directory(opt.Dir)
	orders, err := d.orders()
	if err != nil {
		return err
	}
	options := []perdure.Option{
		perdure.Register(Fulfil,
			reserve.Impl(w.step(shop.Reserve)), charge.Impl(w.step(shop.Charge)),
			ship.Impl(w.step(shop.Ship)), notify.Impl(w.step(shop.Notify))),
		perdure.Concurrency(opt.Slots),
		perdure.Logger(opt.Log),
	}
	if opt.Name != "" {
		// Whoever starts under this name is known to come after one that died, and
		// gets its work at once.
		options = append(options, perdure.NodeName(opt.Name))
	}
	var engine *perdure.Engine
	err = outlive(ctx, func() (passing bool, err error) {
		engine, err = perdure.Open(ctx, opt.Database.Opener(), options...)
		_, passing = errors.AsType[*perdure.UnavailableError](err)
		return passing, err
	})
	if err != nil {
		return err
	}
	defer func() {
		grace, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		if err := engine.Stop(grace); err != nil {
			opt.Log.Error("the engine could not be stopped in good order", "error", err)
		}
	}()
	err = outlive(ctx, func() (passing bool, err error) {
		err = engine.Start(ctx)
		_, taken := errors.AsType[*perdure.InUseError](err)
		_, away := errors.AsType[*perdure.UnavailableError](err)
		return taken || away, err
	})
	if err != nil {
		return err
	}
	w.reports.send(report{Event: eventReady})
	return w.fulfil(ctx, engine, orders)
}

// window is how many orders are asked for at once.
const window = 1000

// fulfil starts a run for each order, under the order's ID, and waits for all.
func (w *worker) fulfil(ctx context.Context, engine *perdure.Engine, orders []shop.Order) error {
	var wait sync.WaitGroup
	errs := make(chan error, len(orders))
	places := make(chan struct{}, window)
	for _, o := range orders {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		wait.Go(func() {
			defer func() { <-places }()
			outcome, err := perdure.Run(ctx, engine, Fulfil, o.ID, o)
			if failed, ok := errors.AsType[*perdure.RunError](err); ok {
				outcome.Status, err = failed.Status, nil // the parent will say so
			}
			if err != nil {
				errs <- fmt.Errorf("order %s: %w", o.ID, err)
				return
			}
			w.reports.send(report{Event: eventOrder, Order: o.ID, Status: outcome.Status})
		})
	}
	wait.Wait()
	close(errs)
	return <-errs
}

// step is the implementation of an activity, with a count of what goes on.
func (w *worker) step(kind shop.Kind) activity.Func[shop.Order, shop.Result] {
	return func(ctx context.Context, o shop.Order) (shop.Result, error) {
		w.running.Add(1)
		w.tell()
		result, err := request(ctx, w.service, kind, o)
		w.running.Add(-1)
		if err == nil {
			w.steps.Add(1)
		}
		w.tell()
		return result, err
	}
}

func (w *worker) tell() {
	w.reports.send(report{Event: eventProgress, Running: int(w.running.Load()), Steps: int(w.steps.Load())})
}
