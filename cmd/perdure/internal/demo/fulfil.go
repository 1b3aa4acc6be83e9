package demo

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/cmd/perdure/internal/shop"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// Statuses of an order that is done.
const (
	Settled  = "settled"
	Declined = "declined"
)

// Outcome is what came of an order.
type Outcome struct {
	Status      string `json:"status"`
	Declined    string `json:"declined,omitempty"` // why the card was
	Reservation string `json:"reservation,omitempty"`
	Charge      string `json:"charge,omitempty"`
	Shipment    string `json:"shipment,omitempty"`
	Notice      string `json:"notice,omitempty"`
}

// Fulfil is the workflow of one order: four steps one after the other. Where it
// was when its process died it knows from its history. A declined card is no
// failure of the workflow; it is how such an order ends.
var Fulfil = workflow.New("fulfil-order", func(wf *workflow.Context, o shop.Order) (Outcome, error) {
	reservation, err := workflow.Call(wf, reserve, o)
	if err != nil {
		return Outcome{}, err
	}
	payment, err := workflow.Call(wf, charge, o)
	if declined, ok := errors.AsType[*shop.DeclinedError](err); ok {
		return Outcome{Status: Declined, Declined: declined.Message, Reservation: reservation.ID}, nil
	}
	if err != nil {
		return Outcome{}, err
	}
	shipment, err := workflow.Call(wf, ship, o)
	if err != nil {
		return Outcome{}, err
	}
	notice, err := workflow.Call(wf, notify, o)
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{
		Status: Settled, Reservation: reservation.ID, Charge: payment.ID, Shipment: shipment.ID, Notice: notice.ID,
	}, nil
})

// The steps. That a card is declined is terminal and needs no word here: the
// client says so (shop.Post).
var (
	reserve = activity.Declare[shop.Order, shop.Result](string(shop.Reserve), activity.Retry(soon))
	charge  = activity.Declare[shop.Order, shop.Result](string(shop.Charge), activity.Retry(soon))
	ship    = activity.Declare[shop.Order, shop.Result](string(shop.Ship), activity.Retry(soon))
	notify  = activity.Declare[shop.Order, shop.Result](string(shop.Notify), activity.Retry(patient))
)

// attemptTimeout is how long a request may take. The service is never that slow;
// it hangs.
const attemptTimeout = 2 * time.Second

// soon retries what the order waits for.
var soon = retry.Policy{
	MaxAttempts:    40,
	Backoff:        retry.Exponential(200*time.Millisecond, 2, 2*time.Second),
	Jitter:         retry.EqualJitter,
	AttemptTimeout: attemptTimeout,
	// The service says when to come again, so that it takes no guessing; but in a
	// crowd it may take many times.
	Rules: []retry.Rule{{Types: []string{shop.TypeRateLimited}, MaxAttempts: 200}},
	// By default a step whose process dies three times while it runs alone is
	// taken for the culprit and set aside. Here the killer is somebody else.
	CrashLimit: 1000,
}

// patient retries what nobody waits for, and takes its time.
var patient = retry.Policy{
	MaxAttempts:    40,
	Backoff:        retry.Exponential(500*time.Millisecond, 1.5, 3*time.Second),
	Jitter:         retry.FullJitter,
	AttemptTimeout: attemptTimeout,
	Rules:          []retry.Rule{{Types: []string{shop.TypeRateLimited}, MaxAttempts: 200}},
	CrashLimit:     1000,
}

// request is the body of all four steps: one request to the service. All attempts
// of a step have the same key, by which the service knows it again.
func request(ctx context.Context, service string, kind shop.Kind, o shop.Order) (shop.Result, error) {
	var result shop.Result
	err := shop.Post(ctx, service, kind, activity.IdempotencyKey(ctx), o, &result)
	return result, err
}
