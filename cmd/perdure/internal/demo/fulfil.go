package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
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
		all = append(all, activity.Declare[shop.Order, shop.Receipt](string(s), activity.Retry(policy)))
	}
	return all
}()

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
