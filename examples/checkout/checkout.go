package main

import (
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// Order is what a customer wants.
type Order struct {
	ID    string `json:"id"`
	Item  string `json:"item"`
	Cents int    `json:"cents"`
	City  string `json:"city"`
}

// Receipt is what the customer gets.
type Receipt struct{ Payment, Parcel string }

// The shop's services are retried for a while; what undoes a step is retried until
// it succeeds.
var (
	forAWhile = activity.Retry(retry.Policy{
		MaxAttempts:    8,
		Backoff:        retry.Exponential(200*time.Millisecond, 2, 10*time.Second),
		AttemptTimeout: 5 * time.Second,
	})
	untilDone = activity.Retry(retry.Policy{
		MaxAttempts:    retry.Unlimited,
		Within:         retry.Forever,
		Backoff:        retry.Exponential(200*time.Millisecond, 2, time.Minute),
		AttemptTimeout: 5 * time.Second,
	})

	Reserve = activity.Declare[Order, string]("reserve", forAWhile)
	Charge  = activity.Declare[Order, string]("charge", forAWhile)
	Ship    = activity.Declare[Order, string]("ship", forAWhile)
	Release = activity.Declare[string, string]("release", untilDone)
	Refund  = activity.Declare[string, string]("refund", untilDone)
)

// Checkout buys what is ordered. If that fails, or is canceled, nothing is left of it.
var Checkout = workflow.New("checkout", func(wf *workflow.Context, o Order) (Receipt, error) {
	return workflow.Saga(wf, func(wf *workflow.Context, undo *workflow.Undo) (Receipt, error) {
		_, err := workflow.CallWithUndo(wf, undo, Reserve, o, undoBy(Release))
		if err != nil {
			return Receipt{}, err
		}
		payment, err := workflow.CallWithUndo(wf, undo, Charge, o, undoBy(Refund))
		if err != nil {
			return Receipt{}, err
		}
		parcel, err := workflow.Call(wf, Ship, o)
		return Receipt{payment, parcel}, err
	})
})

// undoBy makes a compensation of an activity that takes the result of the step.
func undoBy(a activity.Activity[string, string]) func(*workflow.Context, string) error {
	return func(wf *workflow.Context, result string) error {
		_, err := workflow.Call(wf, a, result)
		return err
	}
}
