package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/cmd/perdure/internal/database"
	"github.com/perdure/perdure/cmd/perdure/internal/shop"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
)

// WorkerOptions are what a worker is told.
type WorkerOptions struct {
	Database database.Name
	Service  string // address of the shop service
	Orders   int
	Name     string // of the node
	Slots    int    // how many requests it makes at a time

	Orphaned io.Reader // ends when the parent is gone
	Log      *slog.Logger
}

// Worker fulfils all orders of a demo and returns when they are done, when ctx ends
// or when the parent is gone. It knows nothing of the kills, nor of other workers.
// Started again after its process died, it asks for the same orders under the same
// IDs, and so continues with each where it was.
func Worker(ctx context.Context, opt WorkerOptions) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, opt.Orphaned)
		cancel()
	}()
	err := work(ctx, opt)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// available retries for as long as another process, whose parent was killed, may
// take to notice that and to release the database, or a server to restart.
var available = retry.Policy{MaxAttempts: retry.Unlimited, Within: 10 * time.Second, Backoff: retry.Fixed(50 * time.Millisecond)}

func work(ctx context.Context, opt WorkerOptions) error {
	definitions := []perdure.Definition{Fulfil}
	for i, step := range steps {
		step = step.Impl(func(ctx context.Context, o shop.Order) (shop.Receipt, error) {
			return request(ctx, opt.Service, opt.Name, shop.Steps[i], o)
		})
		if shop.Steps[i] == shop.Ship {
			step = step.ImplVerify(func(ctx context.Context, o shop.Order, _ activity.Doubt) (activity.Found[shop.Receipt], error) {
				return find(ctx, opt.Service, opt.Name, shop.Ship, o)
			})
		}
		definitions = append(definitions, step)
	}
	var engine *perdure.Engine
	err := retry.Do(ctx, available, func(context.Context) (err error) {
		engine, err = perdure.Open(ctx, opt.Database.Opener(),
			perdure.Register(definitions...),
			perdure.Concurrency(opt.Slots),
			// A node that starts under the name of one that died gets its work
			// immediately.
			perdure.NodeName(opt.Name),
			perdure.Logger(opt.Log))
		return passing(err)
	})
	if err != nil {
		return err
	}
	defer func() {
		grace, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		if err := engine.Stop(grace); err != nil {
			opt.Log.Error("the engine could not be stopped cleanly", "error", err)
		}
	}()
	if err := retry.Do(ctx, available, func(context.Context) error { return passing(engine.Start(ctx)) }); err != nil {
		return err
	}
	return fulfil(ctx, engine, shop.Orders(opt.Orders))
}

// passing makes terminal what does not pass.
func passing(err error) error {
	_, taken := errors.AsType[*store.InUseError](err)
	_, away := errors.AsType[*store.UnavailableError](err)
	if err == nil || taken || away {
		return err
	}
	return retry.Terminal(err)
}

// fulfil starts a run for each order, under the order's ID, and waits for all. A run
// that fails is for the parent to report.
func fulfil(ctx context.Context, engine *perdure.Engine, orders []shop.Order) error {
	var wait sync.WaitGroup
	errs := make(chan error, len(orders))
	for _, o := range orders {
		wait.Go(func() {
			_, err := perdure.Run(ctx, engine, Fulfil, o.ID, o)
			if _, failed := errors.AsType[*perdure.RunError](err); err != nil && !failed {
				errs <- fmt.Errorf("order %s: %w", o.ID, err)
			}
		})
	}
	wait.Wait()
	close(errs)
	return <-errs
}
