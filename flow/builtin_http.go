package flow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/flow/eval"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/retry/httpretry"
)

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
	// Unread says why .json fails though the body is JSON.
	Unread string `json:"json_unread,omitempty"`
}

// bareRequest is the action of a method whose requests have no body.
func bareRequest(s settings, name string) activity.Definition {
	h := newRequests(s.client, strings.TrimPrefix(name, "http."))
	return activity.New(name, func(ctx context.Context, in bare) (answer, error) { return h.do(ctx, filled{bare: in}) })
}

// filledRequest is the action of a method whose requests may have one.
func filledRequest(s settings, name string) activity.Definition {
	return activity.New(name, newRequests(s.client, strings.TrimPrefix(name, "http.")).do)
}

// newRequests makes requests of a method. Whether a status is worth another attempt, the
// file says by its policy.
func newRequests(client *http.Client, method string) *requests {
	var statuses []int
	for status := 400; status < 500; status++ {
		statuses = append(statuses, status)
	}
	return &requests{httpretry.New(client, httpretry.Key("Idempotency-Key", activity.IdempotencyKey), httpretry.Retryable(statuses...)), strings.ToUpper(method)}
}

// requests makes requests of one method.
type requests struct {
	client *httpretry.Client
	method string
}

// send makes the request and returns the answer, whose body is still to be read.
func (h *requests) send(ctx context.Context, in filled) (*http.Response, error) {
	var body io.Reader
	switch {
	case in.Body != "" && in.JSON != nil:
		return nil, unusable("a request has body= or json=, not both")
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
		return nil, unusable("the url %q cannot be used: %w", clip(in.URL), err)
	}
	req.URL.RawQuery = wellFormed(req.URL.RawQuery)
	if in.JSON != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if err := setHeaders(req, in.Headers); err != nil {
		return nil, err
	}
	silence := newSilence(ctx)
	resp, err := h.client.Do(req.WithContext(silence.ctx))
	if err != nil {
		defer silence.end()
		return nil, named(silence.cause(err))
	}
	resp.Body = silence.over(resp.Body)
	return resp, nil
}

// unusable is an argument of a request that no attempt makes better.
func unusable(format string, args ...any) error {
	return retry.Terminal(&ActionError{eval.TypeValue, fmt.Errorf(format, args...)})
}

// setHeaders gives a request its headers. What would be dropped is refused.
func setHeaders(req *http.Request, all map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		value := all[name]
		switch canonical := http.CanonicalHeaderKey(name); {
		case name == "" || strings.ContainsFunc(name, func(r rune) bool { return !strings.ContainsRune(headerLetters, r) }):
			return unusable("the header name %q cannot be sent; it has letters, digits and minus signs", clip(name))
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			return unusable("the value of the header %s cannot be sent: it has a line break or another control character", name)
		case canonical == "Content-Length" || canonical == "Transfer-Encoding" || canonical == "Trailer":
			return unusable("the header %s is made from the body of the request; leave it out", name)
		case canonical == "Host":
			req.Host = value
		default:
			req.Header.Set(name, value)
		}
	}
	return nil
}

// headerLetters are what the name of a header may have (RFC 9110, section 5.6.2).
const headerLetters = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// wellFormed is a query with all characters encoded that cannot stand in one, such as
// blanks.
func wellFormed(query string) string {
	var b strings.Builder
	for i := range len(query) {
		if c := query[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// plainHeaders are headers with small names and one text each.
func plainHeaders(h http.Header) map[string]string {
	out := map[string]string{}
	for name, values := range h {
		out[strings.ToLower(name)] = strings.ToValidUTF8(strings.Join(values, ", "), "\uFFFD")
	}
	return out
}

// early is the error of an answer that did not come to its end.
func (h *requests) early(resp *http.Response, err error) error {
	return failed("NetworkError", fmt.Errorf("%s %s: the answer ended early: %w", h.method, resp.Request.URL.Redacted(), err))
}

func (h *requests) do(ctx context.Context, in filled) (answer, error) {
	resp, err := h.send(ctx, in)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, MaxResult+1))
	switch {
	case err != nil:
		return answer{}, h.early(resp, err)
	case len(text) > MaxResult:
		return answer{}, tooLarge("the answer")
	}
	out := answer{Status: resp.StatusCode, Headers: plainHeaders(resp.Header), Body: strings.ToValidUTF8(string(text), "\uFFFD")}
	if len(out.Body) > MaxResult {
		return answer{}, tooLarge("the answer")
	}
	if json.Valid(text) {
		out.readJSON(text)
	}
	return out, nil
}

// readJSON adds the JSON of a body, if a program can have it as a value: the request has had
// its effect, so nothing in the body fails the action.
func (a *answer) readJSON(text []byte) {
	whole := *a
	whole.JSON = text
	data, err := json.Marshal(whole)
	if err == nil {
		_, err = eval.DecodeResult(data)
	}
	if err != nil {
		a.Unread = err.Error()
		return
	}
	a.JSON = text
}

// clip is a text as a message shows it.
func clip(text string) string {
	const most = 200
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}

// named gives an error of package httpretry the names that files know it by.
func named(err error) error {
	if status, ok := errors.AsType[*httpretry.StatusError](err); ok {
		return failed(fmt.Sprintf("HTTPError%d", status.Status), err)
	}
	if _, ok := errors.AsType[*httpretry.NetworkError](err); ok {
		return failed("NetworkError", err)
	}
	return err
}
