package shop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/retry"
)

// startService serves the book over a true network connection.
func startService(t *testing.T, book *Book, b Behaviour) string {
	t.Helper()
	s, err := NewService(book, b)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	t.Cleanup(client.CloseIdleConnections)
	return server.URL
}

func TestPostReturnsTheResult(t *testing.T) {
	url := startService(t, openBook(t, ""), Behaviour{})
	var got Result
	if err := Post(t.Context(), url+"/", Charge, "k", goodOrder("A"), &got); err != nil {
		t.Fatal(err)
	}
	if want := (Result{ID: "charge-000001", Kind: Charge, Order: "A", AmountCents: 6580, Currency: "EUR"}); got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if err := Post(t.Context(), url, Notify, "k", goodOrder("A"), nil); err != nil {
		t.Error(err)
	}
	totals, err := ReadBook(t.Context(), url)
	if err != nil || totals.Effects[Charge] != 1 || totals.Orders["A"].Notified != 1 {
		t.Errorf("the book: %+v, %v", totals, err)
	}
	sums, err := ReadSums(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if sums.Orders != nil || sums.Requests != totals.Requests || sums.Effects[Charge] != totals.Effects[Charge] {
		t.Errorf("the sums of the book are %+v; the book is %+v", sums, totals)
	}
}

func TestStatusesBecomeTypedErrors(t *testing.T) {
	tests := []struct {
		name     string
		status   int
		after    string
		body     string
		types    []string
		terminal bool
		asked    bool
		delay    time.Duration
		text     string
	}{
		{name: "429", status: 429, types: []string{TypeRateLimited}, text: "ship: too many requests (429)"},
		{name: "429 with seconds", status: 429, after: "7", types: []string{TypeRateLimited}, asked: true, delay: 7 * time.Second, text: "ship: too many requests (429, Retry-After: 7)"},
		{name: "429 with a past date", status: 429, after: "Sun, 06 Nov 1994 08:49:37 GMT", types: []string{TypeRateLimited}, asked: true, text: "Sun, 06 Nov 1994"},
		{name: "429 with nonsense", status: 429, after: "soon", types: []string{TypeRateLimited}, text: "Retry-After: soon"},
		{name: "503", status: 503, body: `{"error":"x","message":"Away."}`, types: []string{TypeUnavailable}, text: "ship: unavailable (503): Away."},
		{name: "503 with seconds", status: 503, after: "2", types: []string{TypeUnavailable}, asked: true, delay: 2 * time.Second, text: "Service Unavailable"},
		{name: "500 without JSON", status: 500, body: "<html>", types: []string{TypeUnavailable}, text: "Internal Server Error"},
		{name: "402", status: 402, body: `{"message":"Never."}`, types: []string{TypeDeclined}, terminal: true, text: "card declined: Never."},
		{name: "400", status: 400, body: `{"message":"What?"}`, types: []string{TypeRejected}, terminal: true, text: "ship: rejected (400): What?"},
		{name: "404", status: 404, types: []string{TypeRejected}, terminal: true, text: "Not Found"},
		{name: "302", status: 302, types: []string{TypeRejected}, terminal: true, text: "Found"},
		{name: "204", status: 204, types: []string{TypeUnavailable}, text: "No Content"},
		{name: "200 without JSON", status: 200, body: "<html>", types: []string{TypeUnavailable}, text: "the answer cannot be read"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != "POST" || r.URL.Path != "/ship" || r.Header.Get("Idempotency-Key") != "the key" {
					t.Errorf("got %s %s %v", r.Method, r.URL, r.Header)
				}
				if test.after != "" {
					w.Header().Set("Retry-After", test.after)
				}
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte(test.body))
			}))
			defer server.Close()
			err := Post(t.Context(), server.URL, Ship, "the key", goodOrder("A"), new(Result))
			if err == nil {
				t.Fatal("no error")
			}
			f := retry.Classify(err)
			if !reflect.DeepEqual(f.Types, test.types) || f.Terminal != test.terminal || f.Asked != test.asked || f.After != test.delay {
				t.Errorf("classified as %+v", f)
			}
			if !strings.Contains(err.Error(), test.text) {
				t.Errorf("the text is %q; want %q in it", err, test.text)
			}
		})
	}
}

func TestErrorsSurviveARestart(t *testing.T) {
	for name, err := range map[string]error{
		TypeRateLimited: &RateLimitedError{Kind: Ship, RetryAfter: "3"},
		TypeUnavailable: &UnavailableError{Kind: Ship, Status: 503, Message: "Away."},
		TypeDeclined:    &DeclinedError{Order: "A", Message: "Never."},
		TypeRejected:    &RejectedError{Kind: Ship, Status: 400, Message: "What?"},
		TypeNetwork:     &NetworkError{Kind: Ship, Message: "connection reset by peer"},
	} {
		if got := retry.TypeName(err); got != name {
			t.Errorf("%T has the name %s; want %s", err, got, name)
		}
		text, fault := json.Marshal(err)
		if fault != nil {
			t.Fatal(fault)
		}
		again, fault := retry.DecodeRegistered(name, text)
		if fault != nil || !reflect.DeepEqual(again, err) {
			t.Errorf("%s comes back as %+v (%v)", text, again, fault)
		}
	}
}

func TestNobodyListensIsANetworkError(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	err := Post(t.Context(), server.URL, Charge, "k", goodOrder("A"), nil)
	network, ok := errors.AsType[*NetworkError](err)
	if !ok || !strings.Contains(err.Error(), "charge: no answer: ") || network.Unwrap() == nil {
		t.Errorf("got %v", err)
	}
	if f := retry.Classify(err); f.Type() != TypeNetwork || f.Terminal || f.Canceled {
		t.Errorf("classified as %+v", f)
	}
	if _, err := ReadBook(t.Context(), server.URL); err == nil {
		t.Error("a book was read where nobody listens")
	}
	if err := Post(t.Context(), "http://bad host", Charge, "k", goodOrder("A"), nil); !retry.IsTerminal(err) {
		t.Errorf("a wrong address gives %v; want a terminal error", err)
	}
}

// TestAnswerLostAfterTheWork is the honest hard case: the work was done and the
// client cannot know.
func TestAnswerLostAfterTheWork(t *testing.T) {
	book := openBook(t, "")
	good := startService(t, book, Behaviour{})
	if err := Post(t.Context(), good, Reserve, "r", goodOrder("A"), nil); err != nil {
		t.Fatal(err)
	}
	bad := startService(t, book, Behaviour{ResetAfterWork: 1})
	for range 3 {
		err := Post(t.Context(), bad, Charge, "c", goodOrder("A"), nil)
		if _, ok := errors.AsType[*NetworkError](err); !ok {
			t.Fatalf("got %v; want a network error", err)
		}
	}
	var result Result
	if err := Post(t.Context(), good, Charge, "c", goodOrder("A"), &result); err != nil || result.ID != "charge-000002" {
		t.Errorf("got %+v, %v; want the charge of request 2", result, err)
	}
	got := book.Totals()
	if got.Orders["A"].Charged != 1 || got.LostAnswers != 3 || got.Duplicates != 3 {
		t.Errorf("got %+v; want one charge and three lost answers", got)
	}
}

// TestNoHiddenRetries breaks a connection that has been used before, which is
// when the HTTP transport likes to try again by itself.
func TestNoHiddenRetries(t *testing.T) {
	book := openBook(t, "")
	calm, err := NewService(book, Behaviour{})
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls++; calls > 1 {
			_, _, _ = readRequest(w, r)
			reset(w)
			return
		}
		calm.ServeHTTP(w, r)
	}))
	defer server.Close()
	if err := Post(t.Context(), server.URL, Charge, "k", goodOrder("A"), nil); err != nil {
		t.Fatal(err)
	}
	if err := Post(t.Context(), server.URL, Charge, "k", goodOrder("A"), nil); err == nil {
		t.Fatal("a reset connection gives no error")
	}
	server.Close() // waits for the handlers
	if calls != 2 {
		t.Errorf("two posts made %d requests", calls)
	}
}

func TestEndOfTheContextIsNoNetworkError(t *testing.T) {
	url := startService(t, openBook(t, ""), Behaviour{Hang: 1})
	expired, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	canceled, stop := context.WithCancel(t.Context())
	stop()
	for want, ctx := range map[error]context.Context{context.DeadlineExceeded: expired, context.Canceled: canceled} {
		err := Post(ctx, url, Charge, "k", goodOrder("A"), nil)
		if _, network := errors.AsType[*NetworkError](err); network || !errors.Is(err, want) {
			t.Errorf("got %v; want %v", err, want)
		}
	}
	// While it hangs: the client leaves when the request has arrived.
	ctx, leave := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- Post(ctx, url, Charge, "k", goodOrder("A"), nil) }()
	for {
		totals, err := ReadBook(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		if totals.Answers[AnswerHang] > 0 {
			break
		}
	}
	leave()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestSampleOrdersPassTheService(t *testing.T) {
	orders, _, err := ReadOrders(strings.NewReader(SampleOrders), "orders.csv")
	if err != nil {
		t.Fatal(err)
	}
	s := newService(t, Behaviour{})
	declined := 0
	for _, o := range orders {
		w, status := ask(t.Context(), s, Charge, "charge "+o.ID, o)
		switch status {
		case 200:
		case 402:
			declined++
		default:
			t.Errorf("order %s: %d %s", o.ID, status, bytes.TrimSpace(w.Body.Bytes()))
		}
	}
	if got := s.book.Totals(); got.Effects[Charge]+declined != len(orders) || len(got.Repeated()) > 0 {
		t.Errorf("%d charged and %d declined of %d", got.Effects[Charge], declined, len(orders))
	}
}
