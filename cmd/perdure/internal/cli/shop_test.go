package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/workflow"
)

// order is the input of the workflows of the scripts.
type order struct {
	Item  string `json:"item"`
	Cents int    `json:"cents"`
}

// unavailable is an error with a type of its own.
type unavailable struct{ text string }

func (e *unavailable) Error() string     { return e.text }
func (e *unavailable) ErrorType() string { return "Unavailable" }

var (
	exact = retry.Policy{MaxAttempts: 3, Backoff: retry.Exponential(time.Second, 2, time.Minute), Jitter: retry.NoJitter}
	slow  = retry.Policy{MaxAttempts: 5, Backoff: retry.Fixed(10 * time.Minute), Jitter: retry.NoJitter, Within: time.Hour}

	// charge works at the second attempt.
	charge = activity.New("charge", func(ctx context.Context, o order) (string, error) {
		time.Sleep(250 * time.Millisecond)
		if info, _ := activity.FromContext(ctx); info.Attempt < 2 {
			return "", &unavailable{"the gateway is away (503)"}
		}
		return fmt.Sprintf("charged %d", o.Cents), nil
	}, activity.Retry(exact))

	// ship never works, and its error tries to fool the terminal.
	ship = activity.New("ship", func(context.Context, order) (string, error) {
		return "", &unavailable{"no carrier \x1b[31m\aanswers\nor so \u202e"}
	}, activity.Retry(exact))

	// reserve waits long for its next attempt.
	reserve = activity.New("reserve", func(context.Context, order) (string, error) {
		return "", &unavailable{"the stock system is away"}
	}, activity.Retry(slow))

	approved = workflow.NewSignal[bool]("approved")
	price    = workflow.NewQuery[float64, string]("price")
	discount = workflow.NewUpdate[int, int]("discount")

	buy = workflow.New("buy", func(wf *workflow.Context, o order) (string, error) {
		return workflow.Call(wf, charge, o)
	}, workflow.Version("1"))

	send = workflow.New("send", func(wf *workflow.Context, o order) (string, error) {
		return workflow.Call(wf, ship, o)
	}, workflow.Version("1"))

	hold = workflow.New("hold", func(wf *workflow.Context, o order) (string, error) {
		return workflow.Call(wf, reserve, o)
	}, workflow.Version("1"))

	approve = workflow.New("approve", func(wf *workflow.Context, o order) (string, error) {
		workflow.HandleQuery(wf, price, func(rate float64) (string, error) {
			if rate <= 0 {
				return "", fmt.Errorf("a rate of %v is none", rate)
			}
			return fmt.Sprintf("%.2f for a \x1b[1m%s", float64(o.Cents)/100*rate, o.Item), nil
		})
		workflow.HandleUpdate(wf, discount, func(wf *workflow.Context, cents int) (int, error) {
			o.Cents -= cents
			return o.Cents, nil
		}, workflow.Validator(func(cents int) error {
			if cents > o.Cents {
				return fmt.Errorf("it costs only %d", o.Cents)
			}
			return nil
		}))
		yes, err := workflow.Receive(wf, approved)
		if err != nil {
			return "", err
		}
		if !yes {
			return "", retry.Terminal(errors.New("nobody wanted it"))
		}
		workflow.SetStatus(wf, "somebody wanted it")
		return "approved", nil
	}, workflow.Version("1"))

	remind = workflow.New("remind", func(wf *workflow.Context, o order) (string, error) {
		if err := workflow.Sleep(wf, 48*time.Hour); err != nil {
			return "", err
		}
		return "reminded", nil
	}, workflow.Version("1"))

	// remindV2 does something else than what the history of remind has on record.
	remindV2 = workflow.New("remind", func(wf *workflow.Context, o order) (string, error) {
		return workflow.Call(wf, charge, o)
	}, workflow.Version("2"))
)

// shopFile is the database of the scripts.
func shopFile() store.Opener { return sqlite.File("shop.db", sqlite.Exclusive()) }

// fixture is a program whose database scripts look at.
type fixture struct {
	defs  []perdure.Definition
	begin func(t *testing.T, e *perdure.Engine)            // what it does first; nil: nothing
	over  func(t *testing.T, db store.Opener) store.Opener // what it lays over its database; nil: nothing
}

// fixtures are the programs that scripts name.
var fixtures = map[string]fixture{
	"shop":      {defs: []perdure.Definition{buy, send, hold, approve, remind, charge, ship, reserve}, begin: beginShop},
	"shop-v2":   {defs: []perdure.Definition{buy, send, hold, approve, remindV2, charge, ship, reserve}, begin: beginShop},
	"chain":     {defs: []perdure.Definition{watch.Impl(watching)}, begin: beginChain},
	"family":    {defs: []perdure.Definition{fulfilment, parcel}, begin: beginFamily},
	"front":     {defs: []perdure.Definition{visit, login}, begin: beginAtFront},
	"gates":     {defs: []perdure.Definition{queue, tell, pay, report}, begin: beginAtGates},
	"night":     {defs: []perdure.Definition{payment, invoice, tidy, export, debit, render}, begin: beginNight},
	"night-v2":  {defs: []perdure.Definition{payment, invoice, tidyV2, export, debit, render}, begin: beginNightV2},
	"schedules": {defs: append(flows(), sweep)},

	"pinned":            {defs: []perdure.Definition{pinned, free}, begin: beginPinned},
	"desk":              {defs: []perdure.Definition{desk, ask}, begin: beginDesk},
	"order":             {defs: []perdure.Definition{pinned}},
	"encrypted":         {defs: []perdure.Definition{checkout}, begin: beginEncrypted, over: encrypted},
	"other-interpreter": {defs: []perdure.Definition{otherFlow, otherStep}, begin: beginOtherFlows},
	"this-interpreter":  {defs: flows(), begin: beginFlow},
}

// open starts an engine, and what the fixture begins with.
func (f fixture) open(t *testing.T, db store.Opener, options ...perdure.Option) *perdure.Engine {
	t.Helper()
	if f.over != nil {
		db = f.over(t, db)
	}
	all := []perdure.Option{perdure.Register(f.defs...), perdure.NodeName("node-1"), perdure.Build("v1.2.0"), perdure.Logger(slog.New(slog.DiscardHandler))}
	e, err := perdure.Open(t.Context(), db, append(all, options...)...)
	must(t, err)
	t.Cleanup(func() { _ = e.Close() })
	must(t, e.Start(t.Context()))
	if f.begin != nil {
		f.begin(t, e)
	}
	return e
}

// serve lets an engine work while something else happens.
func (f fixture) serve(t *testing.T, db store.Opener, during func(), options ...perdure.Option) {
	t.Helper()
	e := f.open(t, db, options...)
	during()
	must(t, e.Close())
}

// serveFor lets an engine of a fixture work for some time.
func serveFor(t *testing.T, name string, d time.Duration) {
	t.Helper()
	fixtures[name].serve(t, shopFile(), func() { time.Sleep(d) })
}

// begin starts a workflow, unless it is there.
func begin[In, Out any](t *testing.T, e *perdure.Engine, w workflow.Workflow[In, Out], id string, in In, options ...perdure.StartOption) {
	t.Helper()
	_, err := perdure.Start(t.Context(), e, w, id, in, options...)
	must(t, err)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func beginShop(t *testing.T, e *perdure.Engine) {
	for i, w := range []workflow.Workflow[order, string]{buy, send, hold, approve, remind} {
		begin(t, e, w, fmt.Sprintf("order-%d", i+1), order{Item: "grinder", Cents: 1900 + i})
		time.Sleep(10 * time.Millisecond) // so that each has its own time of start
	}
}
