package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/retry/httpretry"
)

// ask is the body of Ask, with the model at this URL. The key of the call goes along:
// a service that knows it answers again, and does not charge again.
func ask(url string) activity.Func[Prompt, string] {
	client := httpretry.New(nil, httpretry.Key("Idempotency-Key", activity.IdempotencyKey))
	return func(ctx context.Context, p Prompt) (string, error) {
		body, err := json.Marshal(p)
		if err != nil {
			return "", retry.Terminal(err)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return "", retry.Terminal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		var answer string
		err = json.NewDecoder(resp.Body).Decode(&answer)
		return answer, err
	}
}
