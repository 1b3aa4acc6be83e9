package perduretest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

type order struct {
	ID    string
	Cents int
}

// charge is what the program's activity looks like; tests give it another body.
var charge = activity.Declare[order, string]("charge", activity.Retry(retry.Policy{
	MaxAttempts: 3, Backoff: retry.Fixed(24 * time.Hour), Jitter: retry.NoJitter,
}))

var remind = activity.Declare[string, bool]("remind")

var paid = workflow.NewSignal[string]("paid")

// checkout charges a card and, if that fails for good, waits a month for a
// payment by other means, reminding the customer once.
var checkout = workflow.New("checkout", func(wf *workflow.Context, o order) (string, error) {
	receipt, err := workflow.Call(wf, charge, o)
	if err == nil {
		return receipt, nil
	}
	payment := workflow.ReceiveAsync(wf, paid)
	if workflow.WaitAny(wf, payment, workflow.NewTimer(wf, 20*24*time.Hour)) == 1 {
		if _, err := workflow.Call(wf, remind, o.ID); err != nil {
			return "", err
		}
	}
	return payment.Get(wf)
})

// gateway is a fake: it declines the first times and keeps a book, by
// idempotency key.
type gateway struct {
	decline int
	asked   int
	book    map[string]int
}

func (g *gateway) charge(ctx context.Context, o order) (string, error) {
	if g.asked++; g.asked <= g.decline {
		return "", errors.New("the card is declined")
	}
	if g.book == nil {
		g.book = map[string]int{}
	}
	g.book[activity.IdempotencyKey(ctx)] = o.Cents
	return "receipt of " + o.ID, nil
}

// Retries a day apart take no time.
func TestExampleRetry(t *testing.T) {
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		g := &gateway{decline: 2}
		env.Register(checkout, charge.Impl(g.charge))
		began := time.Now()
		receipt, err := perduretest.Run(env, checkout, "order-17", order{"17", 995})
		if receipt != "receipt of 17" || err != nil {
			t.Errorf("got %q, %v", receipt, err)
		}
		if waited := time.Since(began); waited != 48*time.Hour {
			t.Errorf("it took %s, want two backoffs", waited)
		}
	})
}

// The test plays the customer.
func TestExampleSignal(t *testing.T) {
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		g := &gateway{decline: 3}
		reminded := 0
		env.Register(checkout, charge.Impl(g.charge), remind.Impl(func(context.Context, string) (bool, error) {
			reminded++
			return true, nil
		}))
		h, err := perduretest.Start(env, checkout, "order-17", order{"17", 995})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(25 * 24 * time.Hour)
		if err := paid.Send(t.Context(), env.Workflow("order-17"), "by bank"); err != nil {
			t.Fatal(err)
		}
		receipt, err := h.Result()
		if receipt != "by bank" || err != nil || reminded != 1 {
			t.Errorf("got %q, %v after %d reminders", receipt, err, reminded)
		}
	})
}

// Wherever the process dies, the card is charged once.
func TestExampleEveryWrite(t *testing.T) {
	perduretest.EveryWrite(t, perduretest.CrashAfter, func(t *testing.T, env *perduretest.Env) {
		g := &gateway{decline: 1}
		env.Register(checkout, charge.Impl(g.charge))
		receipt, err := perduretest.Run(env, checkout, "order-17", order{"17", 995})
		if receipt != "receipt of 17" || err != nil {
			t.Errorf("got %q, %v", receipt, err)
		}
		if len(g.book) != 1 {
			t.Errorf("the gateway's book: %v, want one charge", g.book)
		}
	})
}

// A mock answers in place of the gateway; the first two attempts do not reach it.
func TestExampleMock(t *testing.T) {
	t.Parallel()
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		env.Register(checkout)
		gateway := perduretest.Mock(env, charge, func(_ context.Context, o order) (string, error) {
			return "receipt of " + o.ID, nil
		})
		env.Inject(charge, perduretest.Fail(errors.New("no connection")), perduretest.Attempts(1, 2))

		if _, err := perduretest.Run(env, checkout, "order-17", order{"17", 995}); err != nil {
			t.Error(err)
		}
		if inputs := gateway.Inputs(); len(inputs) != 1 || inputs[0].Cents != 995 {
			t.Errorf("the gateway was asked for %v", inputs)
		}
		env.ExpectAttempts("order-17", charge, "failed", "failed", "completed")
		env.ExpectDelays("order-17", charge, 24*time.Hour, 24*time.Hour)
		env.ExpectReasons("order-17", charge, "backoff", "backoff", "succeeded")
	})
}

// The process dies while the card is charged, and again while everybody waits for
// the customer; what happened is compared with a file.
func TestExampleExpectHistory(t *testing.T) {
	t.Parallel()
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		env.Register(checkout)
		perduretest.Mock(env, charge, func(context.Context, order) (string, error) {
			return "", retry.Terminal(errors.New("the card is declined"))
		})
		perduretest.Mock(env, remind, func(context.Context, string) (bool, error) { return true, nil })
		env.Inject(charge, perduretest.CrashBefore, perduretest.Attempts(1))
		env.After(10*24*time.Hour, env.Crash)
		env.After(25*24*time.Hour, func() {
			if err := paid.Send(t.Context(), env.Workflow("order-17"), "by bank"); err != nil {
				t.Error(err)
			}
		})

		if _, err := perduretest.Run(env, checkout, "order-17", order{"17", 995}); err != nil {
			t.Error(err)
		}
		env.ExpectCalls("order-17", charge, remind)
		env.ExpectNothingPending("order-17")
		env.ExpectHistory("order-17", "testdata/order-17.txt")
	})
}
