package request

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// SetCanary gives a share of the runs that begin to nodes of a build, in place of the canary
// that was in force. When it returns, the request is durable; other nodes learn of it soon.
// The same request ID again does nothing. With dry it only checks the request.
func (c *Client) SetCanary(ctx context.Context, build string, percent float64, dry bool, by By) (view.Canary, error) {
	return Intercept(ctx, c, operate("canary"), func(ctx context.Context) (view.Canary, error) {
		share := int(math.Round(percent * store.WholeShare / 100))
		if err := c.check(ctx, named("build", build), checkPercent(percent), c.checkMoves(), identified("request", by.Request), by.check()); err != nil {
			return view.Canary{}, err
		}
		return c.switchCanary(ctx, store.Switch{Name: build, Off: true, Share: share}, dry, by)
	})
}

// EndCanary lets new runs begin where their workflow IDs put them, whatever build is there.
func (c *Client) EndCanary(ctx context.Context, dry bool, by By) (view.Canary, error) {
	return Intercept(ctx, c, operate("end-canary"), func(ctx context.Context) (view.Canary, error) {
		if err := c.check(ctx, identified("request", by.Request), by.check()); err != nil {
			return view.Canary{}, err
		}
		log, err := c.read.Canaries(ctx)
		if err != nil {
			return view.Canary{}, err
		}
		if len(log) == 0 {
			return view.Canary{}, &history.InputError{What: "canary", Problem: "was never set in this group, so there is nothing to end"}
		}
		return c.switchCanary(ctx, store.Switch{Name: log[len(log)-1].Build}, dry, by)
	})
}

func (c *Client) switchCanary(ctx context.Context, s store.Switch, dry bool, by By) (view.Canary, error) {
	s.Kind, s.Request, s.By, s.Why = store.SwitchCanary, by.Request, by.Who, by.Why
	if dry {
		preview := inspect.Canary(s)
		preview.Time = time.Time{} // it was not set
		return preview, nil
	}
	written, err := c.writeSwitch(ctx, s)
	if err != nil {
		return view.Canary{}, err
	}
	return inspect.Canary(written), nil
}

func checkPercent(percent float64) error {
	if !(percent >= 0 && percent <= 100) { // NaN is neither
		return &history.InputError{What: "share", Problem: fmt.Sprintf("is %v percent; it must be from 0 to 100", percent)}
	}
	return nil
}

// checkMoves refuses what needs runs that move among nodes.
func (c *Client) checkMoves() error {
	if !c.moves {
		return &history.InputError{What: "canary", Problem: "would have no effect: on SQLite there is one node, and 32-bit programs take no runs of other nodes; use PostgreSQL and a 64-bit program"}
	}
	return nil
}
