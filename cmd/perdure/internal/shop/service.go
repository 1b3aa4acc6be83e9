package shop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Service is the unreliable party, an http.Handler.
//
//	POST /reserve, /charge, /ship, /notify   an Order as JSON, header Idempotency-Key; answers a Result
//	GET  /book                               the Totals
//	GET  /book?orders=none                   the Totals without Orders
//
// Errors are JSON as well: {"error": "card_declined", "message": "..."}. It is
// safe for concurrent use.
type Service struct {
	book      *Book
	behaviour Behaviour

	mu     sync.Mutex
	second time.Time // when the current second of the capacity began
	count  int       // requests in it
}

// NewService makes a service that keeps the book and behaves as told.
func NewService(book *Book, behaviour Behaviour) (*Service, error) {
	if err := behaviour.Validate(); err != nil {
		return nil, fmt.Errorf("The behaviour of the service is invalid: %w", err)
	}
	return &Service{book: book, behaviour: behaviour}, nil
}

const (
	maxBody = 64 << 10 // bytes of a request
	maxKey  = 1000     // bytes of a key
)

var errKeyReused = errors.New("The Idempotency-Key was used for another request before.")

// ServeHTTP answers one request, or does not.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind := Kind(strings.TrimPrefix(r.URL.Path, "/"))
	switch {
	case r.URL.Path == "/book":
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			answerError(w, http.StatusMethodNotAllowed, "method_not_allowed", "Ask for the book with GET.")
			return
		}
		if r.URL.Query().Get("orders") == "none" {
			answerJSON(w, http.StatusOK, s.book.Sums())
			return
		}
		answerJSON(w, http.StatusOK, s.book.Totals())
	case !slices.Contains(Kinds, kind):
		answerError(w, http.StatusNotFound, "not_found", fmt.Sprintf("There is no %s here. There are /reserve, /charge, /ship, /notify and /book.", r.URL.Path))
	default:
		s.serve(w, r, kind)
	}
}

// serve decides what happens to a request for work, and lets it happen.
func (s *Service) serve(w http.ResponseWriter, r *http.Request, kind Kind) {
	now := time.Now()
	number, first := s.book.begin(now)
	e := entry{Number: number, At: now, Kind: kind, Key: r.Header.Get("Idempotency-Key")}

	o, body, rejection := readRequest(w, r)
	if rejection != nil {
		e.Key = "" // it may be anything
		s.reject(w, e, rejection)
		return
	}
	e.Order = o.ID

	f := s.behaviour.fate(number)
	if s.inOutage(now.Sub(first)) {
		f = fate{answer: AnswerUnavailable}
		if number%2 == 0 {
			f.answer = AnswerReset
		}
		e.Outage = true
	} else if over := s.overCapacity(now); over > 0 {
		f = fate{answer: AnswerRateLimited, wait: over}
	}
	e.Answer = f.answer
	// A client that gives up in the meantime does not stop the work: in real life
	// it does not, either.
	pause(r.Context(), f.delay)

	if !f.works {
		if err := s.book.note(e); err != nil {
			answerError(w, http.StatusInternalServerError, "broken_book", err.Error())
			return
		}
		s.misbehave(w, r, f)
		return
	}
	out, again, err := s.book.work(e, o, body)
	switch {
	case errors.Is(err, errKeyReused):
		s.reject(w, e, &rejected{status: http.StatusUnprocessableEntity, code: "key_reused", message: err.Error()})
	case err != nil:
		answerError(w, http.StatusInternalServerError, "broken_book", err.Error())
	case f.answer != AnswerOK:
		s.misbehave(w, r, f)
	default:
		if again {
			w.Header().Set("Idempotent-Replayed", "true")
		}
		if out.declined != "" {
			answerError(w, http.StatusPaymentRequired, "card_declined", out.declined)
			return
		}
		answerJSON(w, http.StatusOK, out.result)
	}
}

// misbehave answers as badly as fate says.
func (s *Service) misbehave(w http.ResponseWriter, r *http.Request, f fate) {
	switch f.answer {
	case AnswerRateLimited:
		after := strconv.Itoa(int(f.wait / time.Second))
		if f.waitAsDay {
			// A date has whole seconds; rounded up it is not too early.
			after = time.Now().Add(f.wait + time.Second - 1).UTC().Truncate(time.Second).Format(http.TimeFormat)
		}
		w.Header().Set("Retry-After", after)
		answerError(w, http.StatusTooManyRequests, "rate_limited", "There are too many requests at the moment.")
	case AnswerUnavailable:
		answerError(w, http.StatusServiceUnavailable, "unavailable", "The service is not available at the moment.")
	case AnswerHang:
		pause(r.Context(), s.behaviour.maxHang())
		reset(w)
	case AnswerReset:
		reset(w)
	}
}

// inOutage reports whether nothing works so long after the first request.
func (s *Service) inOutage(since time.Duration) bool {
	b := s.behaviour
	return since >= b.OutageAfter && since-b.OutageAfter < b.OutageFor
}

// overCapacity counts a request and says how long to wait if the service has had
// its share in this second: until the requests refused so far would have had
// their turn, in whole seconds.
func (s *Service) overCapacity(now time.Time) time.Duration {
	if s.behaviour.Capacity == 0 {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.second) >= time.Second {
		s.second, s.count = now, 0
	}
	s.count++
	const longest = 5
	waits := (s.count - 1) / s.behaviour.Capacity
	return time.Duration(min(waits, longest)) * time.Second
}

// rejected is a request that is wrong and stays so.
type rejected struct {
	status        int
	code, message string
}

func (s *Service) reject(w http.ResponseWriter, e entry, why *rejected) {
	e.Answer = AnswerRejected
	if err := s.book.note(e); err != nil {
		answerError(w, http.StatusInternalServerError, "broken_book", err.Error())
		return
	}
	answerError(w, why.status, why.code, why.message)
}

// readRequest reads the order of a request and the digest of its body. It reads
// all of the body: only then does the server notice that a client has gone.
func readRequest(w http.ResponseWriter, r *http.Request) (o Order, digest string, why *rejected) {
	bad := func(status int, code, format string, args ...any) (Order, string, *rejected) {
		return Order{}, "", &rejected{status, code, fmt.Sprintf(format, args...)}
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		return bad(http.StatusMethodNotAllowed, "method_not_allowed", "Ask for work with POST.")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return bad(http.StatusRequestEntityTooLarge, "too_large", "The request has more than %d bytes.", maxBody)
	}
	if err != nil {
		return bad(http.StatusBadRequest, "unreadable", "The request could not be read: %v.", err)
	}
	switch key := r.Header.Get("Idempotency-Key"); {
	case key == "":
		return bad(http.StatusBadRequest, "no_key", "The header Idempotency-Key is missing. It names the work, so that a repeated request is not done twice.")
	case len(key) > maxKey:
		return bad(http.StatusBadRequest, "long_key", "The Idempotency-Key has more than %d bytes.", maxKey)
	}
	if err := json.Unmarshal(body, &o); err != nil {
		return bad(http.StatusBadRequest, "no_order", "The request holds no order: %v.", err)
	}
	if faults := o.Faults(); len(faults) > 0 {
		return bad(http.StatusBadRequest, "bad_order", "%s", strings.Join(faults, " "))
	}
	sum := sha256.Sum256(body)
	return o, hex.EncodeToString(sum[:8]), nil
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
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func answerError(w http.ResponseWriter, status int, code, message string) {
	answerJSON(w, status, map[string]string{"error": code, "message": message})
}

func answerJSON(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // our own types
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client may be gone
}
