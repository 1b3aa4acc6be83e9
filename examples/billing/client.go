package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"net/http"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/retry/httpretry"
)

// charge is the body of Charge, with the billing service at this URL. By the key the
// service knows an invoice that it has charged already, and answers as it did then.
// The row of the payment and the record that the call is done are one transaction.
func charge(url string) activity.Func[Invoice, string] {
	client := httpretry.New(nil)
	return func(ctx context.Context, i Invoice) (string, error) {
		body, err := json.Marshal(i)
		if err != nil {
			return "", retry.Terminal(err)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return "", retry.Terminal(err)
		}
		req.Header.Set("Idempotency-Key", i.Key())
		resp, err := client.Do(req) // says what is worth another attempt, and when
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		var payment string
		if err := json.NewDecoder(resp.Body).Decode(&payment); err != nil {
			return "", err
		}
		return payment, activity.OnCommit(ctx, func(ctx context.Context, tx *sql.Tx) error {
			return insertPayment(ctx, tx, i, payment)
		})
	}
}
