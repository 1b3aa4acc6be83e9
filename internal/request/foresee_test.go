package request

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/internal/roomtest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// patchy is a reader of which some verbs fail.
type patchy struct {
	store.Reader
	nodes, switches, loads error
}

func (p *patchy) Nodes(ctx context.Context) ([]store.Member, error) {
	if p.nodes != nil {
		return nil, p.nodes
	}
	return p.Reader.Nodes(ctx)
}

func (p *patchy) Switches(ctx context.Context, group string, after int64) ([]store.Switch, error) {
	if p.switches != nil {
		return nil, p.switches
	}
	return p.Reader.Switches(ctx, group, after)
}

func (p *patchy) Load(ctx context.Context, partition int, run string) (*store.Record, error) {
	if p.loads != nil {
		return nil, p.loads
	}
	return p.Reader.Load(ctx, partition, run)
}

// over lets the client read by it.
func (p *patchy) over(a *asker) {
	p.Reader = a.DB
	a.Client.read = inspect.New(p, inspect.Config{
		Group: a.Group, Now: a.Now, Usable: func() error { return nil },
		Paused: func(context.Context) (map[string]store.Switch, error) { return nil, nil },
		Limits: inspect.Limits{Events: 1000, PendingCalls: 100, Signals: 100},
	})
}

// TestE60_ADryRunSaysNothingThatItCouldNotRead: what would come of a request for many runs is all said,
// or there is an error.
func TestE60_ADryRunSaysNothingThatItCouldNotRead(t *testing.T) {
	away := errors.New("the database is away")
	t.Run("move", func(t *testing.T) {
		here(t, func(a *asker) {
			a.Must(a.DB.Join(a.ctx, store.Node{ID: "two", Name: "node-2", Lease: time.Hour, Build: "b2", Definitions: `{"workflows":[{"name":"pinned"}]}`}))
			a.Define("pinned", charges())
			a.Config = func(c *core.Config) { c.Build = "b1" }
			a.start("pinned", "p")
			(&patchy{nodes: away}).over(a)
			dry, err := a.ControlAll(a.ctx, view.Filter{}, core.Control{Operation: core.MoveTheRun, From: "b1", To: "b2"}, true)
			if !errors.Is(err, away) {
				t.Errorf("it says %+v, %v", dry.Records, err)
			}
		})
	})
	t.Run("retry", func(t *testing.T) {
		here(t, func(a *asker) {
			pauses := roomtest.Retry(retry.Policy{MaxAttempts: 1, OnExhausted: retry.Pause})
			a.Define("bank", charges(pauses, roomtest.Through(spec.Spec{Name: "door", Limit: 3, Mode: spec.Rejoin})))
			for _, id := range []string{"b0", "b1"} {
				a.start("bank", id)
				a.settle()
				a.Latest(id).Fails(1, "Busy", "no")
				a.settle()
			}
			a.Must(a.PauseGate(a.ctx, "door", true, by("p")))
			a.settle()
			p := &patchy{}
			p.over(a)
			again := core.Control{Operation: core.RetryNow, Calls: core.Selection{States: []string{view.CallPaused}}}
			if dry, err := a.ControlAll(a.ctx, view.Filter{}, again, true); err != nil || dry.Waiting != 2 {
				t.Errorf("%d would wait, %v", dry.Waiting, err)
			}
			for _, fails := range []*error{&p.loads, &p.switches} {
				*fails = away
				if dry, err := a.ControlAll(a.ctx, view.Filter{}, again, true); !errors.Is(err, away) {
					t.Errorf("it says %+v, %v", dry.Records, err)
				}
				*fails = nil
			}
		})
	})
}
