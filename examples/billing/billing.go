package main

import (
	"errors"
	"net/http"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/retry/httpretry"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/workflow"
)

// monthly is when subscriptions are billed: on the first, at six on the clocks of
// Paris. Periods are billed one after the other, including those that came while no process
// was there.
var monthly = schedule.Spec{
	Cron: "0 6 1 * *", TimeZone: "Europe/Paris",
	Overlap: schedule.BufferAll,
	CatchUp: 90 * 24 * time.Hour,
}

// Subscription is what a customer pays for, period by period.
type Subscription struct {
	ID    string `json:"id"`
	Cents int    `json:"cents"`
}

// Invoice is a subscription in a period.
type Invoice struct {
	Subscription
	Period time.Time `json:"period"`
}

// Key is the same in whichever attempt or run the invoice is charged.
func (i Invoice) Key() string { return i.ID + "/" + i.Period.Format(time.RFC3339) }

// Report says what became of a period.
type Report struct {
	Cents    int      // that were paid
	Declined []string // subscriptions whose card was declined
}

// Subscriptions returns all that there are.
var Subscriptions = activity.Declare[struct{}, []Subscription]("subscriptions")

// Charge charges an invoice and returns the ID of the payment. It is tried for a day:
// a service that is down comes back.
var Charge = activity.Declare[Invoice, string]("charge", activity.Retry(retry.Policy{
	MaxAttempts:    retry.Unlimited,
	Within:         24 * time.Hour,
	Backoff:        retry.Exponential(100*time.Millisecond, 2, 10*time.Minute),
	AttemptTimeout: 10 * time.Second,
}))

// Billing bills a period, which is the nominal time of its fire and not the time of
// the clock: a run that is late, or continues after a crash, still bills its own.
var Billing = workflow.New("billing", func(wf *workflow.Context, _ struct{}) (Report, error) {
	period := workflow.GetInfo(wf).Nominal
	all, err := workflow.Call(wf, Subscriptions, struct{}{})
	if err != nil {
		return Report{}, err
	}
	declined, err := workflow.Map(wf, all, func(wf *workflow.Context, s Subscription) (bool, error) {
		_, err := workflow.Call(wf, Charge, Invoice{s, period})
		if status, is := errors.AsType[*httpretry.StatusError](err); is && status.Status == http.StatusPaymentRequired {
			return true, nil // for good, but no failure of the billing
		}
		return false, err
	})
	if err != nil {
		return Report{}, err
	}
	var report Report
	for i, s := range all {
		if declined[i] {
			report.Declined = append(report.Declined, s.ID)
		} else {
			report.Cents += s.Cents
		}
	}
	return report, nil
})
