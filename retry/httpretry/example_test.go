package httpretry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/retry/httpretry"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// An activity asks a server that is busy at first, and then does not want the
// request at all. Each attempt waits as long as the server asks, and all of them
// have the same key.
func Example() {
	answers := []int{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusPaymentRequired}
	keys := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys[r.Header.Get("Idempotency-Key")] = true
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(answers[0])
		answers = answers[1:]
		fmt.Fprintln(w, "dear customer")
	}))
	defer server.Close()

	client := httpretry.New(server.Client(), httpretry.Key("Idempotency-Key", activity.IdempotencyKey))
	pay := activity.New("pay", func(ctx context.Context, cents int) (string, error) {
		resp, err := client.Get(ctx, server.URL+"/pay?token=secret")
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		receipt, err := io.ReadAll(resp.Body)
		return string(receipt), err
	}, activity.Retry(retry.Standard))
	buy := workflow.New("buy", func(wf *workflow.Context, cents int) (string, error) {
		receipt, err := workflow.Call(wf, pay, cents)
		var refused *httpretry.StatusError
		if errors.As(err, &refused) && refused.Status == http.StatusPaymentRequired {
			return "no money: " + refused.Body, nil
		}
		return receipt, err
	})

	ctx := context.Background()
	eng, err := perdure.Open(ctx, memory.New(), perdure.Register(buy, pay))
	if err == nil {
		err = eng.Start(ctx)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer eng.Close()
	result, err := perdure.Run(ctx, eng, buy, "order-17", 500)
	fmt.Print(result, err, "\n")
	attempts, err := eng.Workflow("order-17").Attempts(ctx)
	for _, a := range attempts {
		fmt.Println(a.Number, a.Outcome, a.ErrorType, a.Reason)
	}
	fmt.Println(len(keys), "key", err)
	// Output:
	// no money: dear customer
	// <nil>
	// 1 failed HTTP429 server_delay
	// 2 failed HTTP503 server_delay
	// 3 failed HTTP402 terminal
	// 1 key <nil>
}
