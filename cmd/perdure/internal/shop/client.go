package shop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/perdure/perdure/retry"
)

// client has no time-out of its own: the context of an attempt is its bound. It
// keeps as many connections as a demo needs and follows no redirects.
var client = &http.Client{
	Transport: &http.Transport{
		MaxIdleConnsPerHost: 256,
		IdleConnTimeout:     30 * time.Second,
		DisableCompression:  true,
	},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

const maxAnswer = 16 << 20 // bytes; a book of a large order file has some

// Post asks the service at baseURL for work, once, and decodes its answer into
// out, which may be nil. The key names the work; with the same key it is done
// once, however often it is asked for.
//
// A failure is one of the error types of this package. RateLimitedError and
// UnavailableError ask for the delay of the Retry-After header if there was one;
// DeclinedError and RejectedError are terminal. When ctx is done, the error wraps
// ctx.Err().
func Post(ctx context.Context, baseURL string, kind Kind, key string, order Order, out any) error {
	body, err := json.Marshal(order)
	if err != nil {
		return retry.Terminal(fmt.Errorf("%s: the order cannot be sent: %w", kind, err))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(baseURL, "/")+"/"+string(kind), bytes.NewReader(body))
	if err != nil {
		return retry.Terminal(fmt.Errorf("%s: the address of the service is wrong: %w", kind, err))
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	// The transport takes an Idempotency-Key for leave to send a request again by
	// itself when a connection breaks. Such a retry would be in no ledger; without
	// GetBody it cannot.
	req.GetBody = nil

	resp, err := client.Do(req)
	if err != nil {
		return networkError(ctx, kind, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return networkError(ctx, kind, err)
	}
	if resp.StatusCode != http.StatusOK {
		return statusError(kind, order.ID, resp, answer)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return &UnavailableError{Kind: kind, Status: resp.StatusCode, Message: fmt.Sprintf("the answer cannot be read: %v", err)}
	}
	return nil
}

// networkError is the error of a request without an answer.
func networkError(ctx context.Context, kind Kind, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: no answer: %w", kind, ctx.Err())
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // without the address, which says nothing new
	}
	message := err.Error()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		message = "the connection was closed"
	}
	return &NetworkError{Kind: kind, Message: message, cause: err}
}

// statusError is the error of an answer that is not 200.
func statusError(kind Kind, order string, resp *http.Response, answer []byte) error {
	message := http.StatusText(resp.StatusCode)
	var problem struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(answer, &problem) == nil && problem.Message != "" {
		message = problem.Message
	}
	after := resp.Header.Get("Retry-After")
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		return retry.AfterHTTP(&RateLimitedError{Kind: kind, RetryAfter: after}, after, time.Now())
	case resp.StatusCode == http.StatusPaymentRequired:
		return retry.Terminal(&DeclinedError{Order: order, Message: message})
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusRequestTimeout || resp.StatusCode < 300:
		return retry.AfterHTTP(&UnavailableError{Kind: kind, Status: resp.StatusCode, Message: message}, after, time.Now())
	}
	return retry.Terminal(&RejectedError{Kind: kind, Status: resp.StatusCode, Message: message})
}

// ReadBook asks the service for its book.
func ReadBook(ctx context.Context, baseURL string) (Totals, error) {
	return readBook(ctx, baseURL, "/book")
}

// ReadSums asks for the book without its Orders, whose number has no bound.
func ReadSums(ctx context.Context, baseURL string) (Totals, error) {
	return readBook(ctx, baseURL, "/book?orders=none")
}

func readBook(ctx context.Context, baseURL, path string) (Totals, error) {
	var t Totals
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(baseURL, "/")+path, nil)
	if err != nil {
		return t, fmt.Errorf("The address of the service is wrong: %w", err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return t, fmt.Errorf("The book of the service could not be read: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return t, fmt.Errorf("The book of the service could not be read: it answered %s.", resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&t); err != nil {
		return t, fmt.Errorf("The book of the service could not be read: %w", err)
	}
	return t, nil
}
