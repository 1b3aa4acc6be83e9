package shop

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func newService(t *testing.T, b Behaviour) *Service {
	t.Helper()
	s, err := NewService(openBook(t, ""), b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ask sends a request to the handler itself, without a network; a connection
// that is reset answers status 0.
func ask(ctx context.Context, s *Service, kind Kind, key string, o Order) (recorder *httptest.ResponseRecorder, status int) {
	body, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	r := httptest.NewRequestWithContext(ctx, "POST", "/"+string(kind), strings.NewReader(string(body)))
	r.Header.Set("Idempotency-Key", key)
	recorder = httptest.NewRecorder()
	defer func() {
		if p := recover(); p == http.ErrAbortHandler {
			status = 0
		} else if p != nil {
			panic(p)
		}
	}()
	s.ServeHTTP(recorder, r)
	return recorder, recorder.Code
}

func TestSameKeySameResult(t *testing.T) {
	s := newService(t, Behaviour{})
	declined := goodOrder("B")
	declined.Card = "4000 0000 0000 9995"
	for i := range 3 {
		w, status := ask(t.Context(), s, Charge, "k", goodOrder("A"))
		want := `{"id":"charge-000001","kind":"charge","order":"A","amount_cents":6580,"currency":"EUR"}` + "\n"
		if status != 200 || w.Body.String() != want || (w.Header().Get("Idempotent-Replayed") == "true") != (i > 0) {
			t.Errorf("answer %d: %d %q %v", i, status, w.Body, w.Header())
		}
		w, status = ask(t.Context(), s, Charge, "k-B", declined)
		if status != 402 || !strings.Contains(w.Body.String(), `"error":"card_declined","message":"The card has insufficient funds."`) {
			t.Errorf("declined card: %d %q", status, w.Body)
		}
	}
	// The key of one kind of work means nothing for another.
	if w, _ := ask(t.Context(), s, Ship, "k", goodOrder("A")); !strings.Contains(w.Body.String(), `"kind":"ship"`) {
		t.Errorf("ship: %q", w.Body)
	}
	other := goodOrder("A")
	other.AmountCents++
	if w, status := ask(t.Context(), s, Charge, "k", other); status != 422 || !strings.Contains(w.Body.String(), "key_reused") {
		t.Errorf("a key with another order gives %d %q", status, w.Body)
	}
	got := s.book.Totals()
	if got.Effects[Charge] != 1 || got.Effects[Ship] != 1 || got.Duplicates != 4 || got.Requests != 8 || got.Answers[AnswerDeclined] != 3 {
		t.Errorf("got %+v", got)
	}
}

func TestSameKeyAtTheSameTimeIsDoneOnce(t *testing.T) {
	s := newService(t, Behaviour{})
	var group sync.WaitGroup
	for i := range 32 {
		group.Go(func() {
			order := goodOrder("order-" + strconv.Itoa(i%4))
			if _, status := ask(t.Context(), s, Charge, "charge "+order.ID, order); status != 200 {
				t.Errorf("status %d", status)
			}
		})
	}
	group.Wait()
	got := s.book.Totals()
	if got.Effects[Charge] != 4 || got.Duplicates != 28 || got.Requests != 32 || len(got.Repeated()) > 0 {
		t.Errorf("got %+v", got)
	}
}

func TestWrongRequestsAreRejected(t *testing.T) {
	good := object("A")
	tests := []struct {
		name, method, path, key, body string
		status                        int
		want                          string
	}{
		{"path", "POST", "/refund", "k", good, 404, "There is no /refund here."},
		{"root", "GET", "/", "", "", 404, "There is no / here."},
		{"method", "GET", "/charge", "k", "", 405, "with POST"},
		{"book by POST", "POST", "/book", "k", good, 405, "with GET"},
		{"no key", "POST", "/charge", "", good, 400, "Idempotency-Key is missing"},
		{"long key", "POST", "/charge", strings.Repeat("k", maxKey+1), good, 400, "more than 1000 bytes"},
		{"no body", "POST", "/charge", "k", "", 400, "no order"},
		{"no JSON", "POST", "/charge", "k", "{", 400, "no order"},
		{"wrong type", "POST", "/charge", "k", `{"quantity":"2"}`, 400, "no order"},
		{"bad order", "POST", "/charge", "k", `{"id":"A"}`, 400, "The customer is empty."},
		{"large", "POST", "/charge", "k", strings.Repeat(" ", maxBody+1), 413, "more than 65536 bytes"},
	}
	s := newService(t, Behaviour{Unavailable: 1}) // a wrong request is wrong on any day
	counted := 0
	for _, test := range tests {
		r := httptest.NewRequest(test.method, test.path, strings.NewReader(test.body))
		if test.key != "" {
			r.Header.Set("Idempotency-Key", test.key)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		var problem struct{ Error, Message string }
		if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil {
			t.Errorf("%s: the answer is no JSON: %q", test.name, w.Body)
		}
		if w.Code != test.status || !strings.Contains(problem.Message, test.want) || problem.Error == "" {
			t.Errorf("%s: %d %+v; want %d %s", test.name, w.Code, problem, test.status, test.want)
		}
		if test.status != 404 && test.path != "/book" {
			counted++
		}
	}
	if got := s.book.Totals(); got.Answers[AnswerRejected] != counted || got.Requests != counted || len(got.Orders) > 0 {
		t.Errorf("got %+v; want %d rejected", got, counted)
	}
}

func TestRetryAfterIsSecondsOrADateThatIsNotTooEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(300 * time.Millisecond) // off the whole second
		s := newService(t, Behaviour{RateLimited: 1})
		seconds, dates := 0, 0
		for i := range 60 {
			w, status := ask(t.Context(), s, Ship, strconv.Itoa(i), goodOrder("A"))
			if status != 429 {
				t.Fatalf("status %d", status)
			}
			after := w.Header().Get("Retry-After")
			if n, err := strconv.Atoi(after); err == nil {
				seconds++
				if n < 1 || n > 2 {
					t.Errorf("Retry-After: %s", after)
				}
				continue
			}
			dates++
			at, err := http.ParseTime(after)
			if wait := time.Until(at); err != nil || wait < time.Second || wait > 3*time.Second {
				t.Errorf("Retry-After: %s, that is in %s (%v)", after, wait, err)
			}
		}
		if seconds == 0 || dates == 0 {
			t.Errorf("%d with seconds and %d with dates; want both", seconds, dates)
		}
		if got := s.book.Totals(); got.Answers[AnswerRateLimited] != 60 || len(got.Effects) > 0 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestCapacityIsPerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, Behaviour{Capacity: 3})
		burst := func() (answers []string) {
			for range 8 {
				w, status := ask(t.Context(), s, Reserve, "k", goodOrder("A"))
				answers = append(answers, strconv.Itoa(status)+w.Header().Get("Retry-After"))
			}
			return answers
		}
		// Of those refused, three are told to come in one second, the rest in two.
		want := "200 200 200 4291 4291 4291 4292 4292"
		for range 2 {
			if got := strings.Join(burst(), " "); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			time.Sleep(time.Second)
		}
	})
}

func TestOutageComesOnceAndPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, Behaviour{OutageAfter: 2 * time.Second, OutageFor: time.Second})
		count := map[int]int{}
		for i := range 50 { // five seconds
			_, status := ask(t.Context(), s, Reserve, "k", goodOrder("A"))
			if out := i >= 20 && i < 30; (status != 200) != out {
				t.Errorf("request %d: status %d", i, status)
			}
			count[status]++
			time.Sleep(100 * time.Millisecond)
		}
		if count[200] != 40 || count[503] != 5 || count[0] != 5 {
			t.Errorf("statuses %v; want half of the outage 503 and half reset (0)", count)
		}
		// A service that is started again in the middle of it knows the time.
		again, err := NewService(s.book, s.behaviour)
		if err != nil {
			t.Fatal(err)
		}
		if _, status := ask(t.Context(), again, Reserve, "k", goodOrder("A")); status != 200 {
			t.Errorf("after a restart: status %d", status)
		}
		if got := s.book.Totals(); got.InOutage != 10 || got.Answers[AnswerReset] != 5 || got.Answers[AnswerUnavailable] != 5 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestHangEndsWhenTheClientGivesUpOrAfterMaxHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, Behaviour{Hang: 1, MaxHang: 10 * time.Second})
		for i := range 20 {
			patience := 3 * time.Second
			want := patience
			if i%2 == 0 {
				patience, want = time.Hour, 10*time.Second
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			began := time.Now()
			if _, status := ask(ctx, s, Charge, strconv.Itoa(i), goodOrder(strconv.Itoa(i))); status != 0 {
				t.Errorf("a hanging request answers %d", status)
			}
			if took := time.Since(began); took != want {
				t.Errorf("it hung for %s; want %s", took, want)
			}
			cancel()
		}
		got := s.book.Totals()
		if got.Answers[AnswerHang] != 20 || got.LostAnswers != got.Effects[Charge] || got.LostAnswers == 0 || got.LostAnswers == 20 {
			t.Errorf("got %+v; want 20 hanging, some after their work", got)
		}
	})
}

func TestSlowAnswersAreSlowAndTheWorkIsDoneAlsoIfTheClientLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, Behaviour{Slow: 1, SlowBy: time.Second})
		began := time.Now()
		if _, status := ask(t.Context(), s, Charge, "A", goodOrder("A")); status != 200 {
			t.Errorf("status %d", status)
		}
		if took := time.Since(began); took <= 0 || took > time.Second {
			t.Errorf("it took %s; want up to a second", took)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		ask(gone, s, Charge, "B", goodOrder("B"))
		if got := s.book.Totals().Effects[Charge]; got != 2 {
			t.Errorf("%d charges; want 2", got)
		}
	})
}
