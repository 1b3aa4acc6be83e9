package httpretry_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/retry/httpretry"
)

// sender sends requests with a Client, or with an http.Client over a Transport.
type sender func(*http.Request) (*http.Response, error)

func senders(options ...httpretry.Option) map[string]sender {
	return map[string]sender{
		"client":    httpretry.New(nil, options...).Do,
		"transport": (&http.Client{Transport: httpretry.Transport(nil, options...)}).Do,
	}
}

// unreliable answers 503 twice and then 200, and keeps the bodies that arrive whole: of a body
// that cannot be sent, the head of its request may arrive.
func unreliable(t *testing.T) (s *server, bodies func() []string) {
	var mu sync.Mutex
	var all []string
	s = serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if all = append(all, string(body)); len(all) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	return s, func() []string { mu.Lock(); defer mu.Unlock(); return all }
}

func sendAll(t *testing.T, send sender, req *http.Request) error {
	t.Helper()
	return retry.Do(t.Context(), retry.Policy{MaxAttempts: 4, Backoff: retry.Fixed(1)}, func(context.Context) error {
		resp, err := send(req)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
}

// TestR12_EveryAttemptSendsTheBody: a request that was made before the retries has its body in
// each of them, if it can be made again. If not, the second attempt is the last, and says why.
func TestR12_EveryAttemptSendsTheBody(t *testing.T) {
	for name, send := range senders(httpretry.Key("Idempotency-Key", func(context.Context) string { return "k" })) {
		t.Run(name, func(t *testing.T) {
			s, bodies := unreliable(t)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader("amount=5"))
			if err != nil {
				t.Fatal(err)
			}
			if err := sendAll(t, send, req); err != nil || !slices.Equal(bodies(), []string{"amount=5", "amount=5", "amount=5"}) {
				t.Errorf("%q were sent: %v", bodies(), err)
			}
		})
		t.Run(name+", once", func(t *testing.T) {
			s, bodies := unreliable(t)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, io.NopCloser(strings.NewReader("amount=5")))
			if err != nil {
				t.Fatal(err)
			}
			req.ContentLength = 8
			err = sendAll(t, send, req)
			if !slices.Equal(bodies(), []string{"amount=5"}) || !retry.IsTerminal(err) || !strings.Contains(err.Error(), "an earlier attempt has read the body") {
				t.Errorf("%q were sent: %v", bodies(), err)
			}
		})
	}
}

// TestR12_ABodyOfUnknownLengthIsSentOnce: it is never sent empty instead.
func TestR12_ABodyOfUnknownLengthIsSentOnce(t *testing.T) {
	s, bodies := unreliable(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, io.LimitReader(strings.NewReader("amount=5"), 8))
	if err != nil {
		t.Fatal(err)
	}
	if err := sendAll(t, httpretry.New(nil).Do, req); !slices.Equal(bodies(), []string{"amount=5"}) || !retry.IsTerminal(err) {
		t.Errorf("%q were sent: %v", bodies(), err)
	}
}

// TestR12_AHeaderThatCannotBeSentIsTerminal: the error names it and keeps its value secret.
func TestR12_AHeaderThatCannotBeSentIsTerminal(t *testing.T) {
	for _, header := range []struct{ name, value, says string }{
		{"Authorization", "Bearer hunter2\n", "the header Authorization cannot be sent"},
		{"X-Token", "hunter2\x00", "the header X-Token cannot be sent"},
		{"X Token", "hunter2", `"X Token" cannot be the name`},
		{"", "hunter2", `"" cannot be the name`},
	} {
		s := serve(t, answer(http.StatusOK, ""))
		for name, send := range senders() {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header[header.name] = []string{header.value}
			if err := sendAll(t, send, req); !retry.IsTerminal(err) || s.requests.Load() != 0 || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: %q is sent: %v", name, header.name, err)
			} else if name == "client" && !strings.Contains(err.Error(), header.says) {
				t.Errorf("%q: %v", header.name, err)
			}
		}
		for name, send := range senders(httpretry.Key("Idempotency-Key", func(context.Context) string { return "a\r\nb" })) {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
			if err := sendAll(t, send, req); !retry.IsTerminal(err) {
				t.Errorf("%s: the key is sent: %v", name, err)
			}
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// TestAStatusErrorNamesTheRequest: also if the transport does not say to which it belongs. Where
// nothing is known, the text has no gap.
func TestAStatusErrorNamesTheRequest(t *testing.T) {
	bare := roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusGatewayTimeout, Body: http.NoBody}, nil
	})
	const want = "POST http://bank.test/pay: 504 Gateway Timeout"
	for name, send := range map[string]sender{
		"client":    httpretry.New(&http.Client{Transport: bare}).Do,
		"transport": httpretry.Transport(bare).RoundTrip,
	} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://bank.test/pay?token=hunter2", nil)
		var status *httpretry.StatusError
		if _, err := send(req); !errors.As(err, &status) || status.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	var status *httpretry.StatusError
	resp, _ := bare(nil)
	if err := httpretry.New(nil).Check(resp); !errors.As(err, &status) || status.Error() != "504 Gateway Timeout" {
		t.Errorf("of no request: %v", err)
	}
}
