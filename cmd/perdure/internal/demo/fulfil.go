package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/cmd/perdure/internal/shop"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/retry/httpretry"
	"github.com/perdure/perdure/workflow"
)

// Statuses of an order that is done.
const (
	Settled  = "settled"
	Declined = "declined"
)

// Outcome is what came of an order.
type Outcome struct {
	Status   string `json:"status"`
	Declined string `json:"declined,omitempty"` // why the card was
}

// Fulfil is the workflow of one order: its steps one after the other. History says
// where it was when its process died. A declined card is not a failure of the
// workflow; it is how such an order ends.
var Fulfil = workflow.New("fulfil-order", func(wf *workflow.Context, o shop.Order) (Outcome, error) {
	for _, step := range steps {
		_, err := workflow.Call(wf, step, o)
		if refused, ok := errors.AsType[*httpretry.StatusError](err); ok && refused.Status == http.StatusPaymentRequired {
			return Outcome{Status: Declined, Declined: strings.TrimSpace(refused.Body)}, nil
		}
		if err != nil {
			return Outcome{}, err
		}
	}
	return Outcome{Status: Settled}, nil
})

// steps are those of an order. That a declined card (402) is terminal needs no word
// here: httpretry says so.
var steps = func() (all []activity.Activity[shop.Order, shop.Receipt]) {
	for _, s := range shop.Steps {
		options := []activity.Option{activity.Retry(policy)}
		if s == shop.Ship {
			options = append(options, activity.Verify[shop.Order, shop.Receipt](nil), activity.SettleAfter(settles), activity.VerifyRetry(questions))
		}
		all = append(all, activity.Declare[shop.Order, shop.Receipt](string(s), options...))
	}
	return all
}()

// The carrier takes no keys, so that each request to ship is a parcel. It is asked before one
// that may have been sent is sent again: settles after it ended, and as often as it takes.
const settles = 500 * time.Millisecond

var questions = retry.Policy{MaxAttempts: 1000, Backoff: retry.Fixed(200 * time.Millisecond), AttemptTimeout: attemptTimeout}

// attemptTimeout is how long a request may take. The service is never that slow;
// it hangs.
const attemptTimeout = 2 * time.Second

var policy = retry.Policy{
	MaxAttempts:    40,
	Backoff:        retry.Exponential(200*time.Millisecond, 2, 2*time.Second),
	Jitter:         retry.EqualJitter,
	AttemptTimeout: attemptTimeout,
	// The service says when to come again, but in a crowd that may take many times.
	Rules: []retry.Rule{{Types: []string{"HTTP429"}, MaxAttempts: 200}},
	// By default a step whose process dies three times while it runs alone is
	// quarantined as the culprit. Here the killer is the parent.
	CrashLimit: 1000,
}

// client keeps a connection for each request that a worker makes at a time. The key
// is the same for all attempts of a step, so the service recognises them.
var client = httpretry.New(&http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	httpretry.Key("Idempotency-Key", activity.IdempotencyKey))

// request is the body of all four steps: one request to the service.
func request(ctx context.Context, service, worker string, s shop.Step, o shop.Order) (receipt shop.Receipt, err error) {
	body, err := json.Marshal(o)
	if err != nil {
		return receipt, retry.Terminal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, service+"/"+string(s), bytes.NewReader(body))
	if err != nil {
		return receipt, retry.Terminal(err)
	}
	req.Header.Set("User-Agent", worker)
	if info, _ := activity.FromContext(ctx); s == shop.Ship {
		req.Header.Set("Idempotency-Key", info.AttemptID) // unique to the attempt
	}
	// With GetBody, net/http repeats a request that has a key by itself when its
	// connection breaks. Such a retry would be in no ledger.
	req.GetBody = nil
	resp, err := client.Do(req)
	if err != nil {
		return receipt, err
	}
	defer resp.Body.Close()
	return receipt, json.NewDecoder(resp.Body).Decode(&receipt)
}

// find asks the service whether a step of an order was done.
func find(ctx context.Context, service, worker string, s shop.Step, o shop.Order) (found activity.Found[shop.Receipt], err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, service+"/"+string(s)+"?order="+url.QueryEscape(o.ID), nil)
	if err != nil {
		return found, retry.Terminal(err)
	}
	req.Header.Set("User-Agent", worker)
	resp, err := client.Do(req)
	if refused, is := errors.AsType[*httpretry.StatusError](err); is && refused.Status == http.StatusNotFound {
		return retry.Absent[shop.Receipt](), nil
	}
	if err != nil {
		return found, err
	}
	defer resp.Body.Close()
	var receipt shop.Receipt
	if err := json.NewDecoder(resp.Body).Decode(&receipt); err != nil {
		return found, err
	}
	return retry.Done(receipt), nil
}
