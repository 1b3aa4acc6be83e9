package shop

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func openBook(t *testing.T, path string) *Book {
	t.Helper()
	b, err := OpenBook(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() }) // some tests have closed it
	return b
}

func newService(t *testing.T, b Behaviour) *Service {
	t.Helper()
	return &Service{Book: openBook(t, filepath.Join(t.TempDir(), "book")), Behaviour: b}
}

// ask sends a request to the handler itself, without a network; a connection that is
// reset gives status 0.
func ask(ctx context.Context, s *Service, step Step, key string, o Order) (recorder *httptest.ResponseRecorder, status int) {
	body, _ := json.Marshal(o)
	r := httptest.NewRequestWithContext(ctx, "POST", "/"+string(step), strings.NewReader(string(body)))
	r.Header.Set("Idempotency-Key", key)
	recorder = httptest.NewRecorder()
	defer func() {
		if recover() != nil {
			status = 0
		}
	}()
	s.ServeHTTP(recorder, r)
	return recorder, recorder.Code
}

func TestOrdersAreTheSameEachTime(t *testing.T) {
	orders := Orders(300)
	ids, declined := map[string]bool{}, 0
	for _, o := range orders {
		ids[o.ID] = true
		if declineReason(o.Card) != "" {
			declined++
		}
	}
	if len(ids) != 300 || declined != 8 || !reflect.DeepEqual(orders[:20], Orders(20)) {
		t.Errorf("%d IDs, %d declined", len(ids), declined)
	}
}

func TestSameKeySameReceipt(t *testing.T) {
	s := newService(t, Behaviour{})
	good, declined := Orders(7)[0], Orders(7)[6]
	for range 3 {
		if w, status := ask(t.Context(), s, Charge, "k", good); status != 200 || w.Body.String() != `{"id":"charge-000001","amount_cents":11900}`+"\n" {
			t.Errorf("%d %q", status, w.Body)
		}
		if w, status := ask(t.Context(), s, Charge, "k7", declined); status != 402 || w.Body.String() != "The card has insufficient funds.\n" {
			t.Errorf("declined card: %d %q", status, w.Body)
		}
	}
	// The key of one step means nothing for another.
	if w, _ := ask(t.Context(), s, Ship, "k", good); w.Body.String() != `{"id":"ship-000007"}`+"\n" {
		t.Errorf("ship: %q", w.Body)
	}
	got := s.Book.Totals()
	if got.Done[Charge] != 1 || got.Done[Ship] != 1 || got.Duplicates != 4 || got.Requests != 7 || got.Orders[declined.ID].Declined == "" {
		t.Errorf("got %+v", got)
	}
	// Another key is another charge, and the book shows it.
	ask(t.Context(), s, Charge, "other", good)
	if got := s.Book.Totals().Orders[good.ID]; got.Done[Charge] != 2 || got.ChargedCents != 23800 {
		t.Errorf("charged twice: %+v", got)
	}
}

func TestSameKeyAtTheSameTimeIsDoneOnce(t *testing.T) {
	s := newService(t, Behaviour{})
	var group sync.WaitGroup
	for i := range 32 {
		group.Go(func() {
			if _, status := ask(t.Context(), s, Charge, strconv.Itoa(i%4), Orders(4)[i%4]); status != 200 {
				t.Errorf("status %d", status)
			}
		})
	}
	group.Wait()
	if got := s.Book.Totals(); got.Done[Charge] != 4 || got.Duplicates != 28 || got.Requests != 32 || len(s.InFlight()) > 0 {
		t.Errorf("got %+v", got)
	}
}

func TestWrongRequestsAreRejected(t *testing.T) {
	s := newService(t, Behaviour{Unavailable: 1}) // a wrong request is wrong on any day
	for _, c := range []struct{ path, key, body string }{
		{"/refund", "k", `{"id":"A"}`}, {"/charge", "", `{"id":"A"}`}, {"/charge", "k", "{"}, {"/charge", "k", "{}"},
		{"/charge", "k", `{"id":"` + strings.Repeat("A", 70_000) + `"}`},
	} {
		r := httptest.NewRequest("POST", c.path, strings.NewReader(c.body))
		r.Header.Set("Idempotency-Key", c.key)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != 400 {
			t.Errorf("%v: %d %s", c, w.Code, w.Body)
		}
	}
	if got := s.Book.Totals(); got.Requests != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestCapacityIsPerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, Behaviour{Capacity: 3})
		// Of those refused, three are told to come in one second, the rest in two.
		want := "200 200 200 4291 4291 4291 4292 4292"
		for range 2 {
			var answers []string
			for range 8 {
				w, status := ask(t.Context(), s, Reserve, "k", Orders(1)[0])
				answers = append(answers, strconv.Itoa(status)+w.Header().Get("Retry-After"))
			}
			if got := strings.Join(answers, " "); got != want {
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
			_, status := ask(t.Context(), s, Reserve, "k", Orders(1)[0])
			if out := i >= 20 && i < 30; (status != 200) != out {
				t.Errorf("request %d: status %d", i, status)
			}
			count[status]++
			time.Sleep(100 * time.Millisecond)
		}
		if count[200] != 40 || count[503] != 5 || count[0] != 5 || s.Book.Totals().InOutage != 10 {
			t.Errorf("statuses %v; want half of the outage 503 and half reset (0)", count)
		}
		// A service that is started again in the middle of it knows the time.
		again := &Service{Book: s.Book, Behaviour: s.Behaviour}
		if _, status := ask(t.Context(), again, Reserve, "k", Orders(1)[0]); status != 200 {
			t.Errorf("after a restart: status %d", status)
		}
	})
}

func TestHangEndsWhenTheClientGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, Behaviour{Hang: 1})
		for i := range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			began := time.Now()
			if _, status := ask(ctx, s, Charge, strconv.Itoa(i), Orders(20)[i]); status != 0 || time.Since(began) != 3*time.Second {
				t.Errorf("a hanging request gives %d after %s", status, time.Since(began))
			}
			cancel()
		}
		got := s.Book.Totals()
		if got.LostAnswers < got.Done[Charge] || got.Done[Charge] == 0 || got.Done[Charge] == 20 {
			t.Errorf("got %+v; want 20 hanging, some after their work", got)
		}
	})
}

func TestABadDayIsTheSameEachTimeAndNotTooBad(t *testing.T) {
	count := map[answer]int{}
	for n := range int64(10_000) {
		f := BadDay.fate(n)
		if f != BadDay.fate(n) || f.delay > time.Second {
			t.Fatalf("request %d: %+v", n, f)
		}
		count[f.answer]++
	}
	if failed := 10_000 - count[answerOK]; failed < 1600 || failed > 2000 || count[answerHang] == 0 {
		t.Errorf("%v", count)
	}
}

// TestTheBookSurvivesACut cuts the last line of a book at each byte.
func TestTheBookSurvivesACut(t *testing.T) {
	s := newService(t, Behaviour{Seed: 3, ResetAfterWork: 0.5})
	for i, step := range Steps {
		ask(t.Context(), s, step, "k", Orders(1)[0])
		ask(t.Context(), s, step, "k", Orders(1)[0])
		ask(t.Context(), s, Charge, strconv.Itoa(i), Orders(7)[6])
	}
	want, path := s.Book.Totals(), s.Book.file.Name()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := openBook(t, path).Totals(); !reflect.DeepEqual(got, want) || got.LostAnswers == 0 || got.Duplicates == 0 {
		t.Errorf("after a restart\ngot  %+v\nwant %+v", got, want)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	last := len(lines[len(lines)-2])
	for cut := 1; cut <= last; cut++ {
		torn := filepath.Join(t.TempDir(), "torn")
		if err := os.WriteFile(torn, whole[:len(whole)-cut], 0o600); err != nil {
			t.Fatal(err)
		}
		// What is written next stands on a line of its own.
		s := &Service{Book: openBook(t, torn)}
		ask(t.Context(), s, Reserve, "next", Orders(1)[0])
		if got := openBook(t, torn).Totals().Requests; got != want.Requests {
			t.Fatalf("%d bytes cut off: %d requests; want %d", cut, got, want.Requests)
		}
	}
	for name, text := range map[string]string{"novel": "It was a dark night.\n", "twice": lines[0] + lines[0], "gap": lines[0] + lines[2]} {
		damaged := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(damaged, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenBook(damaged); err == nil || !strings.Contains(err.Error(), "is damaged after its entry") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
