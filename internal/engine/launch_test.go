package engine_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/faulty"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
)

// TestE7_NoAttemptBeginsWithoutTheLease: an attempt that was put on record ahead of
// its time, while the lease held, does not begin if it does not hold any more when
// that time comes; it begins when the lease is renewed.
func TestE7_NoAttemptBeginsWithoutTheLease(t *testing.T) {
	needsFencing.inAGroup(t, func(t *testing.T, w *world) {
		var began []time.Time
		work := activity.New("work", func(ctx context.Context, n int) (int, error) {
			if began = append(began, time.Now()); len(began) == 1 {
				return 0, errors.New("once")
			}
			return n, nil
		}, activity.Retry(retry.Policy{Backoff: retry.Fixed(1010 * time.Millisecond), Jitter: retry.NoJitter}))
		flow := calls(work)
		a := w.node("a", flow, work)
		settle()
		start, plan := time.Now(), w.plans[a] // it trusts its lease for 8 s from here
		for k := range 20 {
			plan.AtRenewal(plan.Renewals()+1+k, faulty.FailBefore)
		}
		pass(7 * time.Second)
		begin(t, a, flow, "run", 7)
		pass(990 * time.Millisecond)
		onRecordAhead(t, a)
		pass(time.Second)
		if len(began) != 1 {
			t.Fatalf("%s after the last renewal an attempt began", began[1].Sub(start))
		}
		if got, err := finish[int](t, a, "run"); got != 7 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
		at := attemptsOf(t, a, "run")
		if len(at) != 2 || at[1].Outcome != "completed" || !at[1].Started.Equal(began[1]) { // the one that did not begin is none
			t.Errorf("the attempts are %+v", at)
		}
	})
}

// TestE7_NothingBeginsWhenItsTurnIsDurableTooLate: a node hears so late that the turn is durable
// by which an attempt is to begin that another one has its run by then, and has run the call.
// No body begins where the lease is over.
func TestE7_NothingBeginsWhenItsTurnIsDurableTooLate(t *testing.T) {
	needsFencing.inAGroupOf(t, 1, func(t *testing.T, w *world) {
		var mu sync.Mutex
		var began []string
		work := func(node string) seal.Activity {
			return activity.New("work", func(ctx context.Context, n int) (int, error) {
				mu.Lock()
				defer mu.Unlock()
				began = append(began, node)
				return n, nil
			})
		}
		flow := calls(activity.New("work", func(ctx context.Context, n int) (int, error) { return n, nil }))
		db := &stalled{Opener: w.db}
		c := w.config(flow, work("a"))
		c.Store, c.Node = db, "a"
		a := w.startWith(c)
		b := w.node("b", flow, work("b"))
		pass(5 * time.Second)
		commit := func() {
			db.commit.Store(nil)
			w.plans[a].Outage(true) // it cannot renew its lease
			time.Sleep(20 * time.Second)
		}
		db.commit.Store(&commit)
		go tryBegin(t.Context(), a, flow, "run", 7)
		pass(30 * time.Second)
		if got, err := finish[int](t, b, "run"); got != 7 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(began, []string{"b"}) {
			t.Errorf("attempts began on the nodes %v, want b alone", began)
		}
	})
}
