package request

import (
	"cmp"
	"context"

	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// SwitchActivity keeps calls of an activity from starting attempts on all nodes of the
// group, or lets them go on. Attempts in flight may end. When it returns, the request is
// durable; other nodes learn of it soon. The same request ID again does nothing.
func (c *Client) SwitchActivity(ctx context.Context, name string, off bool, request string, by By) (view.SwitchRecord, error) {
	return operate(ctx, c, map[bool]string{true: "pause-activity", false: "resume-activity"}[off], "", func(ctx context.Context) (view.SwitchRecord, error) {
		return c.switchActivityNow(ctx, name, off, request, by)
	})
}

func (c *Client) switchActivityNow(ctx context.Context, name string, off bool, request string, by By) (view.SwitchRecord, error) {
	if err := c.check(ctx, named("activity", name), identified("request", request), by.check()); err != nil {
		return view.SwitchRecord{}, err
	}
	written, err := c.db.Switch(ctx, store.Switch{
		Group: c.group.Name, Kind: store.SwitchActivity, Name: name, Off: off,
		Request: cmp.Or(request, ident.NewToken()), By: cmp.Or(by.Who, c.node), Why: by.Why,
	})
	if err != nil {
		return view.SwitchRecord{}, err
	}
	c.local.Switched(ctx)
	return inspect.SwitchRecord(written), nil
}
