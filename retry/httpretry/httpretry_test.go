package httpretry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/retry/httpretry"
)

// server answers with a status, headers and a body, and counts.
type server struct {
	*httptest.Server
	requests, connections atomic.Int32

	mu   sync.Mutex
	keys []string
}

func serve(t *testing.T, handle http.HandlerFunc) *server {
	s := &server{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		s.mu.Lock()
		s.keys = append(s.keys, r.Header.Get("Idempotency-Key"))
		s.mu.Unlock()
		handle(w, r)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.connections.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func answer(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// secret is a URL that no message may show as a whole.
func (s *server) secret() string {
	return strings.Replace(s.URL, "http://", "http://ann:password@", 1) + "/pay/7%2F8?token=hunter2#fragment"
}

// get sends one request and closes the body of a success.
func (s *server) get(t *testing.T, c *httpretry.Client) error {
	t.Helper()
	resp, err := c.Get(t.Context(), s.secret())
	if (resp == nil) != (err != nil) {
		t.Fatalf("%v and %v", resp, err)
	}
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func TestStatusesAreJudged(t *testing.T) {
	for _, c := range []struct {
		status   int
		terminal bool
		is       error
	}{
		{200, false, nil}, {204, false, nil}, {304, false, nil},
		{400, true, httpretry.Err4xx}, {401, true, httpretry.Err4xx}, {403, true, httpretry.Err4xx}, {404, true, httpretry.Err4xx},
		{408, false, httpretry.Err4xx}, {409, true, httpretry.Err4xx}, {422, true, httpretry.Err4xx}, {425, false, httpretry.Err4xx},
		{429, false, httpretry.Err4xx}, {499, true, httpretry.Err4xx},
		{500, false, httpretry.Err5xx}, {501, false, httpretry.Err5xx}, {502, false, httpretry.Err5xx}, {503, false, httpretry.Err5xx}, {599, false, httpretry.Err5xx},
	} {
		s := serve(t, answer(c.status, ""))
		err := s.get(t, httpretry.New(nil))
		var status *httpretry.StatusError
		if (err != nil) != (c.is != nil) || retry.IsTerminal(err) != c.terminal || !errors.Is(err, c.is) || errors.As(err, &status) != (c.is != nil) {
			t.Errorf("%d: %v", c.status, err)
		}
		if status != nil && (status.Status != c.status || retry.Classify(err).Type() != fmt.Sprint("HTTP", c.status)) {
			t.Errorf("%+v, type %s", status, retry.Classify(err).Type())
		}
		if n := s.requests.Load(); n != 1 {
			t.Errorf("%d: %d requests were sent", c.status, n)
		}
	}
}

func TestOptionsChangeTheJudgement(t *testing.T) {
	client := httpretry.New(nil, httpretry.Terminal(501, 429), httpretry.Retryable(404, 501, 409), httpretry.Terminal(409))
	for status, terminal := range map[int]bool{501: false, 429: true, 404: false, 409: true, 400: true, 503: false, 425: false} {
		if err := serve(t, answer(status, "")).get(t, client); retry.IsTerminal(err) != terminal {
			t.Errorf("%d is terminal: %t", status, !terminal)
		}
	}
}

func TestR7_RetryAfterIsTheDelay(t *testing.T) {
	at := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	for _, c := range []struct {
		status  int
		headers []string
		want    time.Duration // -1: none
	}{
		{503, []string{"Retry-After", "120"}, 2 * time.Minute},
		{429, []string{"Retry-After", "0"}, 0},
		{503, []string{"Retry-After", at.Add(time.Minute).Format(http.TimeFormat), "Date", at.Format(http.TimeFormat)}, time.Minute}, // by its clock
		{503, []string{"Retry-After", at.Format(http.TimeFormat), "Date", at.Add(time.Hour).Format(http.TimeFormat)}, -1},
		{503, []string{"Retry-After", "soon"}, -1},
		{503, []string{"Retry-After", "-5"}, -1},
		{503, nil, -1},
		{403, []string{"Retry-After", "120"}, -1}, // it would be refused again
	} {
		err := serve(t, answer(c.status, "", c.headers...)).get(t, httpretry.New(nil))
		f := retry.Classify(err)
		if f.Asked != (c.want >= 0) || f.Asked && f.After != c.want {
			t.Errorf("%d %q: %+v", c.status, c.headers, f)
		}
		status, _ := errors.AsType[*httpretry.StatusError](err)
		if len(c.headers) > 0 && status.RetryAfter != c.headers[1] {
			t.Errorf("%+v", status)
		}
	}
}

// everywhere is all that may be recorded, logged or shown of an error.
func everywhere(t *testing.T, err error) string {
	t.Helper()
	text := err.Error() + fmt.Sprintf(" %v %+v %q", err, err, retry.Classify(err).Types)
	for ; err != nil; err = errors.Unwrap(err) {
		data, jsonErr := json.Marshal(err)
		if jsonErr != nil {
			data = nil
		}
		text += fmt.Sprintf("\n%T %v %s", err, err, data)
	}
	return text
}

func TestNoErrorTellsSecrets(t *testing.T) {
	answering := serve(t, answer(503, "busy"))
	closing := serve(t, func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) })
	closing.Config.ErrorLog = nil
	gone := serve(t, answer(200, ""))
	gone.Close()
	redirecting := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, answering.secret(), http.StatusFound)
	})
	for name, s := range map[string]*server{"status": answering, "connection cut": closing, "refused": gone, "redirect": redirecting} {
		err := s.get(t, httpretry.New(nil))
		text := everywhere(t, err)
		for _, secret := range []string{"ann", "password", "token", "hunter2", "fragment"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s: %q is told in\n%s", name, secret, text)
			}
		}
		if !strings.Contains(err.Error(), "/pay/7%2F8") || !strings.HasPrefix(err.Error(), "GET http://127.0.0.1:") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := httpretry.New(nil).Get(t.Context(), "http://ann:password@host:port/?token=hunter2"); !retry.IsTerminal(err) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
}

func TestRequestsWithoutAResponse(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	slow := serve(t, func(http.ResponseWriter, *http.Request) { <-release })
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err := httpretry.New(nil).Get(ctx, slow.URL)
	if network, ok := errors.AsType[*httpretry.NetworkError](err); !ok || network.TimedOut || !errors.Is(err, context.Canceled) || !retry.Classify(err).Canceled {
		t.Errorf("canceled: %#v", err)
	}
	_, err = httpretry.New(&http.Client{Timeout: 20 * time.Millisecond}).Get(t.Context(), slow.URL)
	if network, ok := errors.AsType[*httpretry.NetworkError](err); !ok || !network.TimedOut || !network.Timeout() || retry.Classify(err).Type() != "HTTPTimeout" || retry.Classify(err).Canceled {
		t.Errorf("timed out: %#v", err)
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = httpretry.New(nil).Get(short, slow.URL)
	if network, ok := errors.AsType[*httpretry.NetworkError](err); !ok || !network.TimedOut || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("past its deadline: %#v", err)
	}
	gone := serve(t, answer(200, ""))
	gone.Close()
	if err := gone.get(t, httpretry.New(nil)); retry.Classify(err).Type() != "HTTPNetwork" || retry.IsTerminal(err) {
		t.Errorf("refused: %v", err)
	}
	for _, url := range []string{"", "/path", "http://", "example.org"} {
		if _, err := httpretry.New(nil).Get(t.Context(), url); !retry.IsTerminal(err) {
			t.Errorf("%q: %v", url, err)
		}
	}
	if _, err := httpretry.New(nil).Do(&http.Request{}); !retry.IsTerminal(err) {
		t.Errorf("no URL: %v", err)
	}
}

func TestBodiesAreKeptInPartAndClosed(t *testing.T) {
	long := strings.Repeat("ü", 1<<20)
	for _, c := range []struct{ body, text, kept string }{
		{"", "", ""},
		{"busy\nat the moment", ": busy", "busy\nat the moment"},
		{"\n  \t\x1b[31mred\x00\xff\n", ": [31mred\uFFFD\uFFFD", "\n  \t\x1b[31mred\uFFFD\uFFFD\n"},
		{long, ": " + long[:200], long[:httpretry.MaxBody]},
	} {
		s := serve(t, answer(503, c.body))
		for range 3 {
			err := s.get(t, httpretry.New(nil))
			e, _ := errors.AsType[*httpretry.StatusError](err)
			if e == nil || e.Body != c.kept || !strings.HasSuffix(err.Error(), " 503 Service Unavailable"+c.text) {
				t.Errorf("%.50q: %.300q, %d bytes", c.body, err, len(e.Body))
			}
			if err := s.get(t, httpretry.New(nil, httpretry.NoBody())); c.text != "" && strings.Contains(everywhere(t, err), c.text) {
				t.Errorf("%.50q is told: %v", c.body, err)
			}
		}
		if n := s.connections.Load(); n != 1 && len(c.body) < 1000 {
			t.Errorf("%.50q: %d connections were needed", c.body, n)
		}
	}
	// One that never ends is read for no longer than the context says.
	endless := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(503)
		io.WriteString(w, "and so on")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := httpretry.New(nil).Get(ctx, endless.URL)
	if e, ok := errors.AsType[*httpretry.StatusError](err); !ok || e.Body != "and so on" {
		t.Errorf("%v", err)
	}
}

func TestKeysAreSentOnce(t *testing.T) {
	s := serve(t, answer(200, ""))
	key := func(ctx context.Context) string {
		info, _ := retry.FromContext(ctx)
		return info.TraceID
	}
	send := func(ctx context.Context, mine string) {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader([]byte("{}")))
		if err != nil {
			t.Fatal(err)
		}
		if mine != "" {
			req.Header.Set("Idempotency-Key", mine)
		}
		resp, err := httpretry.New(nil, httpretry.Key("Idempotency-Key", key)).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := req.Header.Get("Idempotency-Key"); got != mine {
			t.Errorf("the request has got the key %q", got)
		}
	}
	send(retry.NewContext(t.Context(), retry.AttemptInfo{TraceID: "call-7"}, nil), "")
	send(retry.NewContext(t.Context(), retry.AttemptInfo{TraceID: "call-7"}, nil), "my own")
	send(t.Context(), "")
	if got := fmt.Sprintf("%q", s.keys); got != `["call-7" "my own" ""]` {
		t.Errorf("the server saw the keys %s", got)
	}
}

func TestTransportAnswersErrorsThroughAClient(t *testing.T) {
	s := serve(t, answer(429, "slow down", "Retry-After", "7"))
	client := &http.Client{Transport: httpretry.Transport(nil)}
	_, err := client.Get(s.URL)
	status, _ := errors.AsType[*httpretry.StatusError](err)
	if retry.Classify(err).After != 7*time.Second || status == nil || status.Body != "slow down" {
		t.Errorf("%v", err)
	}
	s.Close()
	if _, err := client.Get(s.URL); retry.Classify(err).Type() == "" || !errors.As(err, new(*httpretry.NetworkError)) {
		t.Errorf("%v", err)
	}
}

// The policy in the package's documentation.
func TestTypesAreNamesInPolicies(t *testing.T) {
	policy, err := retry.Parse("[retry: 3] [HTTP429 -> retry: 10] [HTTPTimeout -> retry: 2]")
	if err != nil {
		t.Fatal(err)
	}
	for status, want := range map[int]int{429: 11, 503: 4} {
		err := serve(t, answer(status, "")).get(t, httpretry.New(nil))
		d := retry.Decide(&policy, retry.State{Attempt: 1, First: time.Now()}, retry.Classify(err), time.Now(), 0)
		if !d.Retry || d.Max != want {
			t.Errorf("%d: %+v", status, d)
		}
	}
}
