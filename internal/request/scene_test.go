package request

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/internal/roomtest"
	"github.com/perdure/perdure/store"
)

// asker is a database with a Client in virtual time. Its owner is the test: in this process, at
// once after each message, or in another one, after a pause.
type asker struct {
	*roomtest.Scene
	*Client
	owner *owner
	ctx   context.Context
}

// owner is the Local of a process that serves all partitions.
type owner struct {
	mu       sync.Mutex // callers ask in parallel
	scene    *roomtest.Scene
	client   *Client
	away     bool // another process serves
	switched int
}

func (o *owner) Create(ctx context.Context, row *store.Run, _ *history.Start, _ bool) (bool, error) {
	if o.away {
		return false, nil
	}
	err := o.scene.DB.Create(ctx, *row)
	if err == nil {
		o.Posted()
	}
	return true, err
}

func (o *owner) Serves(int, string) (served, resident bool) { return !o.away, false }
func (o *owner) Switched(context.Context)                   { o.switched++ }
func (o *owner) Posted() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.away {
		o.scene.Serve()
	}
}

func (o *owner) Query(_ context.Context, row *store.Run, name string, input history.Payload) (history.Payload, bool, error) {
	if o.away {
		return history.Payload{}, false, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	r := o.scene.Load(row.ID, row.Partition)
	if r == nil || r.Work.Ask == nil {
		return history.Payload{}, true, &history.InputError{What: "query", Problem: "has no handler"}
	}
	v, err := r.Work.Ask(name, input)
	return roomtest.Payload(v), true, err
}

// here runs a test beside an owner in the same process.
func here(t *testing.T, test func(a *asker)) { ask(t, false, test) }

// elsewhere runs a test in a process that serves nothing; its messages are read a second later.
func elsewhere(t *testing.T, test func(a *asker)) {
	ask(t, true, test)
}

// both runs a test in both ways.
func both(t *testing.T, test func(a *asker)) {
	t.Run("here", func(t *testing.T) { here(t, test) })
	t.Run("elsewhere", func(t *testing.T) { elsewhere(t, test) })
}

func ask(t *testing.T, away bool, test func(a *asker)) {
	synctest.Test(t, func(t *testing.T) {
		s := roomtest.Live(t, 2)
		secret, err := s.DB.Secret(t.Context())
		s.Must(err)
		read := inspect.New(s.DB, inspect.Config{
			Group: s.Group, Now: s.Now, Usable: func() error { return nil },
			Paused: func(context.Context) (map[string]store.Switch, error) { return nil, nil },
			Limits: inspect.Limits{Events: 1000, PendingCalls: 100, Signals: 100},
		})
		o := &owner{scene: s, away: away}
		c := New(Config{DB: s.DB, Read: read, Group: s.Group, Secret: secret, Node: "asker-1", Now: s.Now, Local: o, Moves: true})
		o.client = c
		a := &asker{Scene: s, Client: c, owner: o, ctx: t.Context()}
		if !away {
			s.Ended, s.Notify = c.Ended, c.Notify
		} else {
			stop, stopped := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(stopped)
				time.Sleep(500 * time.Microsecond) // callers wake up at whole milliseconds, so never beside it
				for {
					select {
					case <-time.After(time.Second):
						s.Serve()
					case <-stop:
						return
					}
				}
			}()
			defer func() { close(stop); <-stopped }()
		}
		defer c.Close()
		test(a)
		if n := c.Waiting(); n != 0 {
			synctest.Wait()
			time.Sleep(time.Second) // the poller notices that nobody waits
			if n = c.Waiting(); n != 0 {
				t.Errorf("%d things are still waited for", n)
			}
		}
	})
}

// settle lets the owner read its messages.
func (a *asker) settle() {
	if a.owner.away {
		time.Sleep(2 * time.Second)
	} else {
		a.Serve()
	}
}

// start starts a run.
func (a *asker) start(workflow, id string, set ...func(*Start)) string {
	a.Helper()
	req := Start{WorkflowID: id, Type: workflow, Input: roomtest.Payload(1)}
	for _, s := range set {
		s(&req)
	}
	run, attached, err := a.StartRun(a.ctx, req)
	if err != nil || attached {
		a.Fatal(run, attached, err)
	}
	a.settle()
	return run
}

// charges is code that makes one call.
func charges(options ...roomtest.Option) roomtest.Code {
	return func(w *roomtest.Work) (any, error) { return "shipped", w.Call("charge", options...) }
}

// state returns the row of the latest run of a workflow ID.
func (a *asker) state(id string) *store.Run {
	a.Helper()
	row, err := a.DB.Find(a.ctx, a.place(id), id, "")
	a.Must(err)
	return row
}

// detail returns the detail of the latest run of a workflow ID.
func (a *asker) detail(id string) core.Detail {
	a.Helper()
	d, err := core.DecodeDetail(a.state(id).Detail)
	a.Must(err)
	return d
}

// by says who asks.
func by(request string) By { return By{Who: "ann", Why: "on trial", Request: request} }
