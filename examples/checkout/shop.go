package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/retry/httpretry"
)

// shop is the client of the shop's services. Every request carries the key of its
// call, so that one which is repeated is recognised.
type shop struct {
	url  string
	http *httpretry.Client
}

func newShop(url string) *shop {
	return &shop{url, httpretry.New(nil, httpretry.Key("Idempotency-Key", activity.IdempotencyKey))}
}

// activities are what the engine runs.
func (s *shop) activities() []perdure.Definition {
	return []perdure.Definition{
		Reserve.Impl(post[Order](s, "reserve")), Charge.Impl(post[Order](s, "charge")), Ship.Impl(post[Order](s, "ship")),
		Release.Impl(post[string](s, "release")), Refund.Impl(post[string](s, "refund")),
	}
}

// post asks a service and returns the ID of what it has made.
func post[In any](s *shop, service string) activity.Func[In, string] {
	return func(ctx context.Context, in In) (string, error) {
		body, err := json.Marshal(in)
		if err != nil {
			return "", retry.Terminal(err)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/"+service, bytes.NewReader(body))
		if err != nil {
			return "", retry.Terminal(err)
		}
		resp, err := s.http.Do(req) // says what is worth another attempt, and when
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		var made struct{ ID string }
		err = json.NewDecoder(resp.Body).Decode(&made)
		return made.ID, err
	}
}
