package request

import (
	"cmp"
	"context"
	"fmt"
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
