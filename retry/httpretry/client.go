package httpretry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/retry"
)

// Client sends requests as an *http.Client does, and returns failures as typed errors. It
// is safe for concurrent use.
type Client struct {
	http *http.Client
	settings
}

// New makes a Client that sends requests like by; nil is http.DefaultClient. It copies by
// and sends each request once, even if a kept connection breaks. Give by a Timeout, or
// the policy an AttemptTimeout.
func New(by *http.Client, options ...Option) *Client {
	single := *cmp.Or(by, http.DefaultClient)
	single.Transport = once{single.Transport}
	return &Client{http: &single, settings: newSettings(options)}
}

// Option is an option of New and Transport.
type Option func(*settings)

type settings struct {
	header    string // for the key
	key       func(context.Context) string
	terminal  []int
	retryable []int
	noBody    bool
}

func newSettings(options []Option) settings {
	s := settings{retryable: []int{http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests}}
	for _, o := range options {
		o(&s)
	}
	return s
}

// Key adds a header with an idempotency key to each request, by which the server
// recognizes a repeated one; activity.IdempotencyKey returns such keys. It adds nothing
// if the request has the header already or the key is empty.
func Key(header string, key func(context.Context) string) Option {
	return func(s *settings) { s.header, s.key = header, key }
}

// Terminal adds statuses that are not worth another attempt, such as 501.
func Terminal(statuses ...int) Option {
	return func(s *settings) {
		s.terminal = append(s.terminal, statuses...)
		s.retryable = slices.DeleteFunc(s.retryable, func(have int) bool { return slices.Contains(statuses, have) })
	}
}

// Retryable adds statuses that are worth another attempt, such as 409, or 404 if
// resources appear late.
func Retryable(statuses ...int) Option {
	return func(s *settings) {
		s.retryable = append(s.retryable, statuses...)
		s.terminal = slices.DeleteFunc(s.terminal, func(have int) bool { return slices.Contains(statuses, have) })
	}
}

// NoBody keeps the bodies of responses out of errors, which are recorded, logged and
// displayed: for servers that send secrets.
func NoBody() Option { return func(s *settings) { s.noBody = true } }

// Do sends a request. If the error is nil, the status is below 400, and the caller must
// close the body of the response.
//
// Several attempts may send one request: each gets its body from GetBody, which
// http.NewRequest sets for bytes and strings. A body without it is sent once; Do marks it as
// sent in req, and another attempt fails with a terminal error. Otherwise Do does not change
// the request.
func (c *Client) Do(req *http.Request) (*http.Response, error) {
	if req.URL == nil || req.URL.Scheme == "" || req.URL.Host == "" {
		return nil, retry.Terminal(fmt.Errorf("httpretry: the URL of the %s request has no scheme or no host", method(req)))
	}
	return c.send(req, claimBody, c.http.Do)
}

// send sends a copy of a request and judges the outcome.
func (s *settings) send(req *http.Request, claim func(*http.Request) (*http.Request, error), do func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	out := s.keyed(req)
	if err := checkHeader(out.Header); err != nil {
		return nil, err
	}
	body, err := claim(req)
	if err != nil {
		return nil, err
	}
	if out == req {
		out = body
	} else {
		out.Body = body.Body
	}
	out, sending := follow(out)
	resp, err := do(out)
	if err != nil {
		return nil, sending.failed(err, failure(req, err))
	}
	if err := s.check(resp, req); err != nil {
		return nil, sending.answered(err)
	}
	sending.receive(resp)
	return resp, nil
}

// Get sends a GET request for a URL. The caller must close the body of the response.
func (c *Client) Get(ctx context.Context, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, retry.Terminal(fmt.Errorf("httpretry: %w", withoutURL(err)))
	}
	return c.Do(req)
}

// Check judges a response of another client as Do does: if its status is 400 or more,
// Check closes its body and returns an error.
func (c *Client) Check(resp *http.Response) error { return c.check(resp, nil) }

// keyed adds the key to a copy of the request, if there is one to add.
func (s *settings) keyed(req *http.Request) *http.Request {
	if s.key == nil || req.Header.Get(s.header) != "" {
		return req
	}
	key := s.key(req.Context())
	if key == "" {
		return req
	}
	req = req.Clone(req.Context())
	if req.Header == nil {
		req.Header = http.Header{}
	}
	req.Header.Set(s.header, key)
	return req
}

// check judges a response. sent is the request that was sent, nil if it is not known; after
// a redirect the response names another one.
func (s *settings) check(resp *http.Response, sent *http.Request) error {
	if resp.StatusCode < 400 {
		return nil
	}
	e := &StatusError{Status: resp.StatusCode, RetryAfter: plain(resp.Header.Get("Retry-After"), 100)}
	if req := cmp.Or(resp.Request, sent); req != nil {
		e.Method, e.URL = method(req), address(req.URL)
	}
	body := drain(resp.Body)
	if !s.noBody {
		e.Body = body
	}
	if s.isTerminal(e.Status) {
		return retry.Terminal(e)
	}
	return retry.AfterHTTP(e, e.RetryAfter, date(resp))
}

func (s *settings) isTerminal(status int) bool {
	if slices.Contains(s.terminal, status) {
		return true
	}
	return status < 500 && !slices.Contains(s.retryable, status)
}

// maxDrain is how much of a body is read so that its connection can be used again.
const maxDrain = 64 << 10

// drain reads the beginning of a body, and then the rest of it if that is short,
// and closes it. What cannot be read is left out.
func drain(body io.ReadCloser) string {
	if body == nil {
		return ""
	}
	defer body.Close()
	begin, err := io.ReadAll(io.LimitReader(body, MaxBody))
	if err == nil {
		_, _ = io.CopyN(io.Discard, body, maxDrain)
	}
	return plain(string(begin), MaxBody)
}

// plain is a text that any database and log can keep.
func plain(s string, limit int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	return clip(s, limit)
}

// date is the server's time of the response, or else ours: a Retry-After that is a
// date was written by the server's clock.
func date(resp *http.Response) time.Time {
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		return at
	}
	return time.Now()
}

// failure makes the error for a request without a response.
func failure(req *http.Request, err error) error {
	if errors.Is(err, errSent) {
		return errSent
	}
	var timeout interface{ Timeout() bool }
	return &NetworkError{
		Method: method(req), URL: address(req.URL),
		TimedOut: errors.As(err, &timeout) && timeout.Timeout(), Err: withoutURL(err),
	}
}

// withoutURL takes off what net/http and net/url put around errors: it has the
// whole URL in its text.
func withoutURL(err error) error {
	for {
		wrapped, is := err.(*url.Error)
		if !is || wrapped.Err == nil {
			return err
		}
		err = wrapped.Err
	}
}

func method(req *http.Request) string {
	if req.Method == "" {
		return http.MethodGet
	}
	return req.Method
}

// address is a URL without user, password, query and fragment.
func address(u *url.URL) string {
	if u == nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}
