package flow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/flow/syntax"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/workflow"
)

// service is what the examples work with: an HTTP server that has bad moments, and
// keeps a book. It outlives the processes that ask it.
type service struct {
	mu    sync.Mutex
	asked map[string]int             // requests, by method and path
	done  map[string]map[string]bool // idempotency keys of what was done, by method and path
	book  []string                   // what was done, once for each key
	trip  bool                       // whether there is a car left
	pipes chan net.Conn
}

// serve starts the service for the time of a test. Its network is made of pipes, so
// that it works in virtual time.
func serve(t *testing.T) (*service, *http.Client) {
	s := &service{asked: map[string]int{}, done: map[string]map[string]bool{}, trip: true, pipes: make(chan net.Conn)}
	mux := http.NewServeMux()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked[r.Method+" "+r.URL.Path]++
		mux.ServeHTTP(w, r)
	})}
	s.routes(mux)
	listener := &pipeListener{conns: s.pipes, closed: make(chan struct{})}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		near, far := net.Pipe()
		select {
		case s.pipes <- far:
			return near, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		serving.Wait()
	})
	return s, &http.Client{Transport: transport}
}

// pipeListener accepts pipes.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// nth is which request of its kind this one is.
func (s *service) nth(r *http.Request) int { return s.asked[r.Method+" "+r.URL.Path] }

// act writes something into the book, once for each idempotency key.
func (s *service) act(r *http.Request, what string) {
	key := r.Header.Get("Idempotency-Key")
	if s.done[what] == nil {
		s.done[what] = map[string]bool{}
	}
	if !s.done[what][key] {
		s.done[what][key] = true
		s.book = append(s.book, what)
	}
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (s *service) routes(mux *http.ServeMux) {
	mux.HandleFunc("GET /tables", func(w http.ResponseWriter, _ *http.Request) { answer(w, []string{"orders", "customers"}) })
	mux.HandleFunc("GET /export/{table}", func(w http.ResponseWriter, r *http.Request) {
		switch table := r.PathValue("table"); {
		case table == "orders" && s.nth(r) <= 2:
			w.Header().Set("Retry-After", "90")
			w.WriteHeader(http.StatusTooManyRequests)
		case table == "customers" && s.nth(r) == 1:
			w.WriteHeader(http.StatusBadGateway)
		default:
			answer(w, []string{table, r.URL.Query().Get("day")})
		}
	})
	mux.HandleFunc("PUT /archive/{day}/{table}", func(_ http.ResponseWriter, r *http.Request) {
		s.act(r, "archived "+r.PathValue("table"))
	})
	mux.HandleFunc("GET /price/{item}", func(w http.ResponseWriter, r *http.Request) {
		if s.nth(r) < len(r.PathValue("item")) {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		answer(w, map[string]int{"cents": 100 * len(r.PathValue("item"))})
	})
	mux.HandleFunc("GET /stock", func(w http.ResponseWriter, r *http.Request) {
		if s.nth(r) == 1 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		answer(w, map[string]int{"grinders": 7})
	})
	mux.HandleFunc("GET /orders", func(w http.ResponseWriter, _ *http.Request) { answer(w, []int{1, 2, 3}) })
	mux.HandleFunc("GET /weather", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	mux.HandleFunc("POST /book/{part}", func(w http.ResponseWriter, r *http.Request) {
		switch part := r.PathValue("part"); {
		case part == "hotel" && s.nth(r) == 1:
			w.WriteHeader(http.StatusInternalServerError)
		case part == "car" && !s.trip:
			w.WriteHeader(http.StatusConflict)
		default:
			s.act(r, "booked "+part)
			answer(w, map[string]string{"number": part[:1] + "-1"})
		}
	})
	mux.HandleFunc("DELETE /book/{part}/{number}", func(w http.ResponseWriter, r *http.Request) {
		if s.nth(r) == 1 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		s.act(r, "canceled "+r.PathValue("number"))
	})
	mux.HandleFunc("POST /jobs", func(w http.ResponseWriter, r *http.Request) {
		s.act(r, "job")
		answer(w, map[string]string{"id": "j7"})
	})
	mux.HandleFunc("GET /jobs/j7", func(w http.ResponseWriter, r *http.Request) {
		if s.nth(r) < 4 {
			answer(w, map[string]string{"status": "running"})
			return
		}
		answer(w, map[string]string{"status": "done", "url": "/files/j7"})
	})
	mux.HandleFunc("GET /step/{n}", s.step)
	s.moreRoutes(mux)
}

func (s *service) moreRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET /rows", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("page") == "1" {
			answer(w, map[string]any{"rows": []int{1, 2, 3}, "next": 2})
			return
		}
		answer(w, map[string]any{"rows": []int{4, 5}, "next": nil})
	})
	mux.HandleFunc("PUT /copy/{row}", func(w http.ResponseWriter, r *http.Request) {
		switch row := r.PathValue("row"); {
		case row == "4":
			w.WriteHeader(http.StatusNotFound)
		case row == "2" && s.nth(r) == 1:
			w.WriteHeader(http.StatusBadGateway)
		default:
			s.act(r, "copied "+row)
		}
	})
	mux.HandleFunc("POST /notify", func(_ http.ResponseWriter, r *http.Request) {
		var in struct{ Text string }
		_ = json.NewDecoder(r.Body).Decode(&in)
		s.act(r, in.Text)
	})
	mux.HandleFunc("GET /page", func(w http.ResponseWriter, r *http.Request) {
		text := "old"
		if s.nth(r) > 700 {
			text = "new"
		}
		_, _ = io.WriteString(w, text)
	})
	mux.HandleFunc("POST /make/{part}", func(w http.ResponseWriter, r *http.Request) {
		part := r.PathValue("part")
		if part == "server" {
			w.WriteHeader(http.StatusConflict)
			return
		}
		s.act(r, "made "+part)
		answer(w, map[string]string{"id": part[:1] + "1"})
	})
	mux.HandleFunc("DELETE /made/{id}", func(_ http.ResponseWriter, r *http.Request) { s.act(r, "removed "+r.PathValue("id")) })
	mux.HandleFunc("POST /ask", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer key-123":
			w.WriteHeader(http.StatusUnauthorized)
		case s.nth(r) == 1:
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			answer(w, map[string]string{"text": "because"})
		}
	})
}

// step fails in the way that the policy of each step is about.
func (s *service) step(w http.ResponseWriter, r *http.Request) {
	n, first := r.PathValue("n"), s.nth(r) == 1
	switch {
	case n == "2" && s.nth(r) <= 2, n == "3" && first, n == "6" && first:
		w.WriteHeader(http.StatusInternalServerError)
	case n == "4" && s.nth(r) <= 2:
		w.WriteHeader(http.StatusServiceUnavailable)
	case n == "5" && first:
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(http.StatusTooManyRequests)
	case n == "7" && first:
		s.mu.Unlock()
		<-r.Context().Done() // no answer, until the client gives up
		s.mu.Lock()
	default:
		answer(w, map[string]string{"step": "step " + n})
	}
}

// TestExamples runs the examples against the service, without a fault and with the
// process dying in the middle.
func TestExamples(t *testing.T) {
	examples := []struct {
		file, result string
		input        map[string]any
		took         [2]time.Duration // between these, without a crash
		book         []string
		before       func(s *service)
		signals      map[time.Duration]string // that approve, by the time after the start
		chain        bool                     // it is more than one run
	}{
		{file: "nightly.flow", result: `{"day":"2000-01-01","tables":2,"rows":4}`,
			took: [2]time.Duration{3*time.Minute + 27*time.Second, 3*time.Minute + 33*time.Second}, book: []string{"archived orders", "archived customers"}},
		{file: "fanout.flow", input: map[string]any{"items": []string{"bb", "a", "ccc"}}, result: `[600,{"bb":200,"a":100,"ccc":300}]`,
			took: [2]time.Duration{5400 * time.Millisecond, 6600 * time.Millisecond}},
		{file: "dashboard.flow", result: `{"stock":{"grinders":7},"orders":3,"weather":"unknown"}`, took: [2]time.Duration{4500 * time.Millisecond, 5500 * time.Millisecond}},
		{file: "booking.flow", input: map[string]any{"trip": map[string]any{"to": "Lyon"}}, result: `{"booked":true,"numbers":["f-1","h-1","c-1"]}`,
			took: [2]time.Duration{9 * time.Second, 11 * time.Second}, book: []string{"booked flight", "booked hotel", "booked car"}},
		{file: "booking.flow", input: map[string]any{"trip": nil}, result: `{"booked":false,"because":"HTTPError409","canceled":2}`, before: func(s *service) { s.trip = false },
			took: [2]time.Duration{63 * time.Second, 77 * time.Second}, book: []string{"booked flight", "booked hotel", "canceled h-1", "canceled f-1"}},
		{file: "polling.flow", input: map[string]any{"file": "x"}, result: `"/files/j7"`, took: [2]time.Duration{90 * time.Second, 90 * time.Second}, book: []string{"job"}},
		{file: "import.flow", result: `{"rows":5,"failed":[4]}`, took: [2]time.Duration{4 * time.Second, 6 * time.Second}, book: []string{"copied 1", "copied 2", "copied 3", "copied 5"}},
		{file: "approval.flow", input: map[string]any{"item": "a chair"}, result: `{"approved":true,"by":"ann"}`, took: [2]time.Duration{30 * time.Hour, 30 * time.Hour},
			signals: map[time.Duration]string{30 * time.Hour: "approval"}, book: []string{"please approve a chair", "still waiting for a chair", "a chair: True"}},
		{file: "approval.flow", input: map[string]any{"item": "a chair"}, result: `{"approved":false,"by":"nobody"}`, took: [2]time.Duration{72 * time.Hour, 72 * time.Hour},
			book: []string{"please approve a chair", "still waiting for a chair", "a chair: False"}},
		{file: "watcher.flow", result: "1", took: [2]time.Duration{365 * 24 * time.Hour, 365 * 24 * time.Hour}, book: []string{"2000-06-24: new"}, chain: true},
		{file: "provision.flow", input: map[string]any{"name": "web"}, result: `{"made":[],"because":"HTTPError409"}`, took: [2]time.Duration{0, time.Second}, book: []string{"made network", "made disk", "removed d1", "removed n1"}},
		{file: "ask.flow", input: map[string]any{"questions": []string{"why", "how", "when"}}, result: `["because","because","because"]`, took: [2]time.Duration{1800 * time.Millisecond, 4 * time.Second}},
		{file: "seven.flow", result: `["step 1","step 2","step 3","step 4","step 5","step 6","step 7"]`, took: [2]time.Duration{165 * time.Second, 173 * time.Second}},
	}
	tried := map[string]bool{}
	for _, e := range examples {
		tried[e.file] = true
		for _, crash := range []int{0, 4, 9} {
			if e.chain && crash != 4 && !extent.Nightly() {
				continue
			}
			t.Run(fmt.Sprintf("%s crash=%d", e.file, crash), func(t *testing.T) {
				var options []perduretest.Option
				if e.chain { // it replays at each of many wakes: TestW15_PollingForAYear has runs of full length
					extent.NotInShort(t, "one goroutine replays a long run at each wake")
					defer flow.ContinueAfter(300)()
					if crash != 4 {
						options = append(options, perduretest.Resident())
					}
				}
				perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
					s, client := serve(t)
					if e.before != nil {
						e.before(s)
					}
					if crash > 0 {
						env.At(crash, perduretest.CrashAfter)
					}
					for after, name := range e.signals {
						env.After(after, func() {
							answer := map[string]any{"approved": true, "by": "ann"} // until an engine has taken it, whatever crashes
							if err := workflow.NewSignal[map[string]any](name).Send(t.Context(), env.Workflow(strings.TrimSuffix(e.file, ".flow")), answer); err != nil {
								t.Error(err)
							}
						})
					}
					began := time.Now()
					out, err := runExample(t, env, client, e.file, e.input)
					took := time.Since(began)
					if out != e.result || err != nil {
						t.Errorf("%s, %v; want %s", out, err, e.result)
					}
					if crash == 0 && (took < e.took[0] || took > e.took[1]) {
						t.Errorf("it took %s, want %s to %s", took, e.took[0], e.took[1])
					}
					if runs := runsOf(env, strings.TrimSuffix(e.file, ".flow")); (runs > 1) != e.chain {
						t.Errorf("it is %d runs", runs)
					}
					if e.file == "import.flow" { // several at once
						slices.Sort(s.book)
					}
					if !slices.Equal(s.book, e.book) {
						t.Errorf("the book of the service is %q, want %q", s.book, e.book)
					}
				}, options...)
			})
		}
	}
	files, err := filepath.Glob("examples/*.flow")
	if err != nil || len(files) != len(tried) {
		t.Errorf("%d of the examples %v are tried", len(tried), files)
	}
}

func runExample(t *testing.T, env *perduretest.Env, client *http.Client, name string, input map[string]any) (string, error) {
	text, err := os.ReadFile(filepath.Join("examples", name))
	if err != nil {
		t.Fatal(err)
	}
	r, err := flow.New(flow.HTTPClient(client), flow.Secrets(func(name string) (string, bool) { return "key-123", name == "MODEL_KEY" }))
	if err != nil {
		t.Fatal(err)
	}
	f, err := r.Load(name, string(text))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{"service": "http://service.test"}
	for k, v := range input {
		all[k] = v
	}
	p, err := f.With(all)
	if err != nil {
		t.Fatal(err)
	}
	env.Register(r.Definitions()...)
	out, err := perduretest.Run(env, flow.Workflow, strings.TrimSuffix(name, ".flow"), p)
	return string(out), err
}

func TestW10_ExamplesAreFormatted(t *testing.T) {
	files, err := filepath.Glob("examples/*.flow")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := syntax.Parse(path, string(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := syntax.Format(f); got != string(text) {
			t.Errorf("%s is not in its canonical form, which is\n%s", path, got)
		}
	}
}
