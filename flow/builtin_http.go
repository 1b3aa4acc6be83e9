package flow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/retry/httpretry"
)

// methods are the HTTP methods that are actions.
var methods = []string{"get", "head", "delete", "options", "post", "put", "patch"}

// bare is a request without a body.
type bare struct {
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"`
}

// filled is a request that may have one.
type filled struct {
	bare
	Body string          `json:"body,omitempty"`
	JSON json.RawMessage `json:"json,omitempty"`
}

// answer is what comes back.
type answer struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	JSON    json.RawMessage   `json:"json"`
}

// httpAction is the action of a method.
func httpAction(client *http.Client, method string) activity.Definition {
	var statuses []int
	for status := 400; status < 500; status++ {
		statuses = append(statuses, status)
	}
	// Whether a status is worth another attempt, the file says by its policy.
	h := &requests{httpretry.New(client, httpretry.Key("Idempotency-Key", activity.IdempotencyKey), httpretry.Retryable(statuses...)), strings.ToUpper(method)}
	switch method {
	case "post", "put", "patch":
		return activity.New("http."+method, h.do)
	}
	return activity.New("http."+method, func(ctx context.Context, in bare) (answer, error) { return h.do(ctx, filled{bare: in}) })
}

// requests makes requests of one method.
type requests struct {
	client *httpretry.Client
	method string
}

func (h *requests) do(ctx context.Context, in filled) (answer, error) {
	var body io.Reader
	switch {
	case in.Body != "" && in.JSON != nil:
		return answer{}, retry.Terminal(errors.New("a request has body= or json=, not both"))
	case in.JSON != nil:
		body = bytes.NewReader(in.JSON)
	case in.Body != "":
		body = strings.NewReader(in.Body)
	}
	req, err := http.NewRequestWithContext(ctx, h.method, in.URL, body)
	if err == nil && (req.URL.Scheme != "http" && req.URL.Scheme != "https" || req.URL.Host == "") {
		err = errors.New("it begins with http:// or https:// and a host")
	}
	if err != nil { // no attempt will be better
		return answer{}, retry.Terminal(fmt.Errorf("the url %q cannot be used: %w", clip(in.URL), err))
	}
	if in.JSON != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range in.Headers {
		req.Header.Set(name, value)
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return answer{}, named(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxResult+1))
	switch {
	case err != nil:
		return answer{}, &ActionError{"NetworkError", fmt.Errorf("%s %s: the answer ended early: %w", h.method, req.URL.Redacted(), err)}
	case len(text) > maxResult:
		return answer{}, tooLarge("the answer")
	}
	out := answer{Status: resp.StatusCode, Headers: map[string]string{}, Body: strings.ToValidUTF8(string(text), "\uFFFD")}
	for name, values := range resp.Header {
		out.Headers[strings.ToLower(name)] = strings.ToValidUTF8(strings.Join(values, ", "), "\uFFFD")
	}
	if json.Valid(text) {
		out.JSON = text
	}
	return out, nil
}

// clip is a text as a message shows it.
func clip(text string) string {
	const most = 200
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// named gives an error of package httpretry the names that files know it by.
func named(err error) error {
	if status, ok := errors.AsType[*httpretry.StatusError](err); ok {
		class := "HTTPError4xx"
		if status.Status >= 500 {
			class = "HTTPError5xx"
		}
		return &ActionError{fmt.Sprintf("HTTPError%d", status.Status), &ActionError{class, err}}
	}
	if _, ok := errors.AsType[*httpretry.NetworkError](err); ok {
		return &ActionError{"NetworkError", err}
	}
	return err
}
