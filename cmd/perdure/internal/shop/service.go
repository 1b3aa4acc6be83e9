package shop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Behaviour says how a [Service] misbehaves. The zero Behaviour does not.
//
// The rates are probabilities from 0 to 1; at most one of the first five happens
// to a request, so together they must not exceed 1.
type Behaviour struct {
	Seed uint64 // with the number of a request it decides its fate

	RateLimited    float64 // 429 with Retry-After
	Unavailable    float64 // 503
	Reset          float64 // connection reset before the work is done
	ResetAfterWork float64 // connection reset after it: the client cannot know
	Hang           float64 // no answer; half of these after the work is done

	Slow     float64       // answered up to 0.8 s later, whatever the answer
	Latency  time.Duration // of any answer, at most
	Capacity int           // requests a second; those above get 429. Zero is no limit.

	// Nothing works from OutageAfter the first request on, for OutageFor. The first
	// request is that in the book, so a service that is started again does not
	// repeat its outage.
	OutageAfter, OutageFor time.Duration
}

// BadDay is the behaviour of the demo: about one request in five fails, the service
// has a capacity, and after six seconds it is down for three.
var BadDay = Behaviour{
	Seed:        1,
	RateLimited: 0.05, Unavailable: 0.06, Reset: 0.03, ResetAfterWork: 0.03, Hang: 0.01,
	Slow: 0.08, Latency: 40 * time.Millisecond, Capacity: 150,
	OutageAfter: 6 * time.Second, OutageFor: 3 * time.Second,
}

// answer is how a request is answered.
type answer string

const (
	answerOK          answer = "ok"           // or 402, if the card is declined
	answerRateLimited answer = "rate_limited" // 429
	answerUnavailable answer = "unavailable"  // 503
	answerReset       answer = "reset"        // the connection is reset
	answerHang        answer = "hang"         // none until the client gives up
)

// fate is what happens to one request.
type fate struct {
	answer answer
	works  bool // the work is done, whatever the answer
	delay  time.Duration
	after  int // what Retry-After asks for, in seconds
}

// fate decides about the request with this number. It draws the same numbers in the
// same order for every request, so that a changed rate changes as few fates as it can.
func (b Behaviour) fate(number int64) fate {
	r := rand.New(rand.NewPCG(b.Seed, uint64(number)))
	kind, slow, late, usual, works := r.Float64(), r.Float64(), r.Float64(), r.Float64(), r.IntN(2) == 0
	delay := time.Duration(usual * float64(b.Latency))
	if slow < b.Slow {
		delay += time.Duration(late * float64(800*time.Millisecond))
	}
	for _, possible := range []struct {
		rate float64
		fate fate
	}{
		{b.RateLimited, fate{answerRateLimited, false, delay, 1}},
		{b.Unavailable, fate{answerUnavailable, false, delay, 0}},
		{b.Reset, fate{answerReset, false, delay, 0}},
		{b.ResetAfterWork, fate{answerReset, true, delay, 0}},
		{b.Hang, fate{answerHang, works, delay, 0}},
	} {
		if kind < possible.rate {
			return possible.fate
		}
		kind -= possible.rate
	}
	return fate{answerOK, true, delay, 0}
}

// Service is the unreliable party, an http.Handler: POST /reserve, /charge, /ship or
// /notify with an [Order] as JSON and the header Idempotency-Key returns a [Receipt],
// or fails; GET /ship?order=ID returns the receipt of an order, or 404. It is safe for
// concurrent use.
type Service struct {
	Book      *Book
	Behaviour Behaviour

	mu       sync.Mutex
	second   time.Time // when the current second of the capacity began
	count    int       // requests in it
	inFlight map[string]int
}

// Listen serves on a free port of this machine until stop is called, which cuts off
// requests in flight.
func (s *Service) Listen() (url string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("the service cannot listen: %w", err)
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // until Close
	return "http://" + listener.Addr().String(), func() { _ = server.Close(); serving.Wait() }, nil
}

// InFlight returns how many requests of each client are in flight. Clients are told
// apart by their User-Agent.
func (s *Service) InFlight() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[string]int{}
	for client, n := range s.inFlight {
		if n > 0 {
			counts[client] = n
		}
	}
	return counts
}

func (s *Service) enterFlight(client string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inFlight == nil {
		s.inFlight = map[string]int{}
	}
	s.inFlight[client] += n
}

// ServeHTTP answers one request, or does not.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.enterFlight(r.UserAgent(), 1)
	defer s.enterFlight(r.UserAgent(), -1)
	if r.Method == http.MethodGet {
		s.answer(w, r)
		return
	}
	// Only when all of the body is read does the server notice that a client has gone.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	now := time.Now()
	e := entry{At: now, Step: Step(strings.TrimPrefix(r.URL.Path, "/")), Key: r.Header.Get("Idempotency-Key")}
	var order Order
	if err = errors.Join(err, json.Unmarshal(body, &order)); err != nil || e.Key == "" || order.ID == "" || !slices.Contains(Steps, e.Step) {
		http.Error(w, "POST an order as JSON, with an Idempotency-Key, to /reserve, /charge, /ship or /notify.", http.StatusBadRequest)
		return
	}
	e.Order = order.ID
	over, down := s.overCapacity(now), s.inOutage(now)
	var f fate
	e, out, err := s.Book.enter(e, order, func(e *entry) {
		f = s.Behaviour.fate(e.Number)
		switch {
		case down && e.Number%2 == 0:
			f = fate{answer: answerReset}
		case down:
			f = fate{answer: answerUnavailable}
		case over > 0:
			f = fate{answer: answerRateLimited, after: over}
		}
		e.Outage, e.Answer, e.Worked = down, f.answer, f.works
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	pause(r.Context(), f.delay)
	s.reply(w, r, f, out)
}

// answer says whether a step of an order was done.
func (s *Service) answer(w http.ResponseWriter, r *http.Request) {
	receipt, done := s.Book.find(Step(strings.TrimPrefix(r.URL.Path, "/")), r.URL.Query().Get("order"))
	switch {
	case s.inOutage(time.Now()):
		http.Error(w, "Try again later.", http.StatusServiceUnavailable)
	case !done:
		http.Error(w, "It was not done.", http.StatusNotFound)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(receipt) // the client may be gone
	}
}

// reply answers as well or as badly as fate says.
func (s *Service) reply(w http.ResponseWriter, r *http.Request, f fate, out outcome) {
	switch {
	case f.answer == answerRateLimited:
		w.Header().Set("Retry-After", strconv.Itoa(f.after))
		http.Error(w, "Too many requests.", http.StatusTooManyRequests)
	case f.answer == answerUnavailable:
		http.Error(w, "Try again later.", http.StatusServiceUnavailable)
	case f.answer == answerHang:
		pause(r.Context(), time.Minute)
		reset(w)
	case f.answer == answerReset:
		reset(w)
	case out.Declined != "":
		http.Error(w, out.Declined, http.StatusPaymentRequired)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out.Receipt) // the client may be gone
	}
}

// inOutage reports whether nothing works now.
func (s *Service) inOutage(now time.Time) bool {
	since := s.Book.since(now)
	return since >= s.Behaviour.OutageAfter && since-s.Behaviour.OutageAfter < s.Behaviour.OutageFor
}

// overCapacity counts a request and returns how many seconds to wait if the service
// has had its share in this second: until the requests that were refused so far
// would have had their turn.
func (s *Service) overCapacity(now time.Time) int {
	if s.Behaviour.Capacity == 0 {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.second) >= time.Second {
		s.second, s.count = now, 0
	}
	s.count++
	return min((s.count-1)/s.Behaviour.Capacity, 5)
}

// reset ends the connection without an answer, on TCP with an RST.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // not HTTP/1: the server resets the stream
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // if it fails, the connection is closed politely
	}
	_ = conn.Close()
}

// pause waits, or until the context is done.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
