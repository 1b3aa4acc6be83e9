package demo

import (
	"context"
	"errors"
	"io"

	"github.com/perdure/perdure/cmd/perdure/internal/shop"
)

// ServiceOptions are what the service process is told.
type ServiceOptions struct {
	Dir string // of the demo

	Orphaned io.Reader // ends when the parent is gone
	Reports  io.Writer // to the parent
}

// badDay is the seed of the service's misbehaviour. Which request meets which
// fate follows from it, so that every demo has the same bad day.
const badDay = 1

// Service is the shop service, until ctx ends or the parent is gone.
func Service(ctx context.Context, opt ServiceOptions) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, opt.Orphaned)
		cancel()
	}()
	reports := newReporter(opt.Reports)
	d := directory(opt.Dir)
	var l *lock
	err := outlive(ctx, func() (passing bool, err error) {
		l, err = acquire(d.file(serviceLock))
		return errors.Is(err, errLocked), err
	})
	if err != nil {
		reports.send(report{Event: eventFailed, Message: err.Error()})
		return err
	}
	defer l.release()
	err = shop.Serve(ctx, shop.ServeOptions{
		BookFile:  d.book(),
		Behaviour: shop.BadDay(badDay),
		Ready:     func(url string) { reports.send(report{Event: eventReady, URL: url}) },
	})
	if err != nil {
		reports.send(report{Event: eventFailed, Message: err.Error()})
	}
	return err
}
