package witness

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// The builds of Route.
const (
	OldBuild = "old"
	NewBuild = "new"
)

// Route is the workflow of which two builds have different versions: the older one takes a
// step before the ticket, the newer one does not.
func Route(build string) workflow.Workflow[int, int] {
	return workflow.New("route", func(wf *workflow.Context, v int) (int, error) {
		steps := []string{"old first", "old last"}
		if build == NewBuild {
			steps = []string{"new last"}
		}
		for i, step := range steps {
			if i == len(steps)-1 {
				if _, err := workflow.Receive(wf, numbered); err != nil {
					return 0, err
				}
			}
			var err error
			if v, err = workflow.Call(wf, act, Effect{Step: step, Order: i, Value: v}); err != nil {
				return 0, err
			}
		}
		return v, nil
	})
}

// Routing is the job of Route: its runs are in flight while nodes of its versions come and
// go, and end as the version would that began them.
func Routing(ctx context.Context, c *Client, id string, v int) ([]Run, error) {
	h, err := start(ctx, &Client{Engine: c.Engine, Random: c.Random}, Route(NewBuild), id, v)
	r := []Run{{ID: id, RunID: h.RunID()}}
	if err != nil {
		return r, err
	}
	select {
	case <-time.After(time.Duration(c.Random.Int64N(int64(2 * time.Second)))): // a deploy may come
	case <-ctx.Done():
	}
	if err := Patiently(ctx, func() error { return Signal(ctx, c.Engine, id, 1) }); err != nil {
		return r, err
	}
	got, err := h.Result(ctx)
	if err != nil {
		return r, err
	}
	var attempts []view.Attempt
	err = Patiently(ctx, func() (err error) {
		attempts, err = c.Engine.Workflow(id).Attempts(ctx)
		return err
	})
	if err != nil {
		return r, err
	}
	calls := map[int64]bool{}
	for _, a := range attempts {
		calls[a.Call] = true
	}
	if want := Repeat(len(calls), v); got != want {
		err = fmt.Errorf("the result of %d steps is %d, want %d", len(calls), got, want)
	}
	return r, err
}

// routed is the version of this process.
var routed = Route(NewBuild)

// Routed is what a process registers besides the Definitions to be of a build.
func Routed(build string) []perdure.Option {
	routed = Route(build)
	return []perdure.Option{perdure.Build(build), perdure.Register(routed)}
}
