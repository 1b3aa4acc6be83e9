package request

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// SwitchActivity stops calls of an activity from starting attempts on all nodes of the
// group, or lets them start again. Attempts in flight may end. When it returns nil, the
// request is durable; other nodes learn of it soon. Repeating the request ID does nothing. A pause
// that lasts for a time ends by itself; 0 is for ever.
func (c *Client) SwitchActivity(ctx context.Context, name string, off bool, lasts time.Duration, request string, by By) (view.SwitchRecord, error) {
	return Intercept(ctx, c, operate(map[bool]string{true: "pause-activity", false: "resume-activity"}[off]), func(ctx context.Context) (view.SwitchRecord, error) {
		if err := c.check(ctx, named("activity", name), identified("request", request), by.check(), duration(lasts)); err != nil {
			return view.SwitchRecord{}, err
		}
		written, err := c.writeSwitch(ctx, store.Switch{Kind: store.SwitchActivity, Name: name, Off: off, Lasts: int64(lasts), Request: request, By: by.Who, Why: by.Why})
		if err != nil {
			return view.SwitchRecord{}, err
		}
		return inspect.SwitchRecord(written), nil
	})
}

// duration refuses a pause that would have ended before it began.
func duration(lasts time.Duration) error {
	if lasts < 0 {
		return &history.InputError{What: "time of the pause", Problem: fmt.Sprintf("is %s; it must be more than zero, or left out", lasts)}
	}
	return nil
}

// writeSwitch makes an entry of the group's log durable, and says what that has of a request
// that is repeated. One that was used for another kind of switch, or another canary, is
// refused.
func (c *Client) writeSwitch(ctx context.Context, s store.Switch) (store.Switch, error) {
	s.Group, s.Request, s.By = c.group.Name, cmp.Or(s.Request, ident.NewToken()), cmp.Or(s.By, c.node)
	written, err := c.db.Switch(ctx, s)
	if err != nil {
		return store.Switch{}, err
	}
	other := written.Off && s.Off && (written.Name != s.Name || written.Share != s.Share)
	if written.Kind != s.Kind || s.Kind == store.SwitchCanary && (written.Off != s.Off || other) {
		return store.Switch{}, &history.InputError{What: fmt.Sprintf("request %q", s.Request), Problem: fmt.Sprintf("was used for something else, of %s %q, so nothing is done; use another one", written.Kind, written.Name)}
	}
	c.local.Switched(ctx)
	return written, nil
}

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
