package shop

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// Kind is a kind of work, and the path of the service that asks for it.
type Kind string

// The kinds of work, in the order in which an order needs them.
const (
	Reserve Kind = "reserve"
	Charge  Kind = "charge"
	Ship    Kind = "ship"
	Notify  Kind = "notify"
)

// Kinds are all of them.
var Kinds = []Kind{Reserve, Charge, Ship, Notify}

// Answer is how a request was answered.
type Answer string

// The answers.
const (
	AnswerOK          Answer = "ok"
	AnswerDeclined    Answer = "declined"     // 402: this card, never
	AnswerRejected    Answer = "rejected"     // 400 and the like: the request was wrong
	AnswerRateLimited Answer = "rate_limited" // 429
	AnswerUnavailable Answer = "unavailable"  // 503
	AnswerReset       Answer = "reset"        // the connection was reset
	AnswerHang        Answer = "hang"         // there was none until the client gave up
)

// Result is what the service answers when the work is done. The same key gets
// the same Result.
type Result struct {
	ID          string `json:"id"` // such as "charge-000017"
	Kind        Kind   `json:"kind"`
	Order       string `json:"order"`
	AmountCents int64  `json:"amount_cents,omitempty"` // of a charge
	Currency    string `json:"currency,omitempty"`     // of a charge
}

// Totals is the book in numbers.
type Totals struct {
	Requests    int              `json:"requests"`
	Answers     map[Answer]int   `json:"answers"`
	Effects     map[Kind]int     `json:"effects"`          // work done, once for each key
	Duplicates  int              `json:"duplicates"`       // requests whose key was known: answered, not done again
	LostAnswers int              `json:"lost_answers"`     // requests whose work was done and whose answer never arrived
	InOutage    int              `json:"in_outage"`        // requests that met the outage
	Orders      map[string]Tally `json:"orders,omitempty"` // what was done for each order
}

// Tally is what was done for one order: how often with different keys, which is
// how often it truly happened. More than 1 anywhere is a client's mistake.
type Tally struct {
	Reserved     int    `json:"reserved"`
	Charged      int    `json:"charged"`
	Shipped      int    `json:"shipped"`
	Notified     int    `json:"notified"`
	ChargedCents int64  `json:"charged_cents"`
	Declined     string `json:"declined,omitempty"` // why the card was declined
}

// Repeated are the orders for which something was done more than once, sorted.
func (t Totals) Repeated() []string {
	var ids []string
	for id, o := range t.Orders {
		if max(o.Reserved, o.Charged, o.Shipped, o.Notified) > 1 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// entry is one request in the journal. The book is the sum of its entries.
type entry struct {
	Number    int64     `json:"n"`
	At        time.Time `json:"at"`
	Kind      Kind      `json:"kind,omitempty"`
	Key       string    `json:"key,omitempty"`
	Order     string    `json:"order,omitempty"`
	Answer    Answer    `json:"answer"`
	Outage    bool      `json:"outage,omitempty"`
	Worked    bool      `json:"worked,omitempty"`    // the request reached the work
	Duplicate bool      `json:"duplicate,omitempty"` // and it had been done before

	// Of the first request with a key only: what came of it.
	Body     string  `json:"body,omitempty"` // the digest of the request
	Result   *Result `json:"result,omitempty"`
	Declined string  `json:"declined,omitempty"`
}

// outcome is what came of the first request with a key.
type outcome struct {
	body     string
	result   *Result
	declined string // why, if there is no result
}

// Book is what a service did. It is safe for concurrent use.
type Book struct {
	mu      sync.Mutex
	journal *journal // nil for a book in memory only
	number  int64    // of the last request
	first   time.Time
	known   map[string]outcome // by kind and key
	totals  Totals
}

// OpenBook opens the book that is kept in the file, and makes it if it is not
// there. An empty path gives a book in memory only. A file that is not such a
// book is refused and left alone; an unfinished last line, the trace of a crash,
// is dropped: its request was never answered.
func OpenBook(path string) (*Book, error) {
	b := &Book{known: map[string]outcome{}, totals: Totals{
		Answers: map[Answer]int{}, Effects: map[Kind]int{}, Orders: map[string]Tally{},
	}}
	if path == "" {
		return b, nil
	}
	var err error
	b.journal, err = openJournal(path, b.enter)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Close closes the file. The service must not be used afterwards.
func (b *Book) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.journal == nil {
		return nil
	}
	return b.journal.close()
}

// Totals is the book as it is now.
func (b *Book) Totals() Totals {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.sums()
	t.Orders = maps.Clone(b.totals.Orders)
	return t
}

// Sums is Totals without Orders, for those who ask often.
func (b *Book) Sums() Totals {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sums()
}

func (b *Book) sums() Totals {
	t := b.totals
	t.Answers, t.Effects, t.Orders = maps.Clone(t.Answers), maps.Clone(t.Effects), nil
	return t
}

// begin gives a request its number and tells when the first request came, which
// may be this one.
func (b *Book) begin(now time.Time) (number int64, first time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.number++
	if b.first.IsZero() {
		b.first = now
	}
	return b.number, b.first
}

// note writes down a request for which no work was done.
func (b *Book) note(e entry) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.journal != nil {
		if err := b.journal.append(e, false); err != nil {
			return err
		}
	}
	b.enter(e)
	return nil
}

// work does the work of a request, unless its key is known, and writes it down.
// When it returns, the outcome is on the disk. A key that was used for another
// request is refused with errKeyReused, and nothing is written.
func (b *Book) work(e entry, o Order, body string) (out outcome, again bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	out, again = b.known[knownKey(e.Kind, e.Key)]
	switch {
	case again && out.body != body:
		return outcome{}, false, errKeyReused
	case !again:
		out = judge(e.Kind, e.Number, o)
		out.body = body
		e.Body, e.Result, e.Declined = out.body, out.result, out.declined
	}
	e.Worked, e.Duplicate = true, again
	if e.Answer == AnswerOK && out.declined != "" {
		e.Answer = AnswerDeclined
	}
	if b.journal != nil {
		// A repeated request changes nothing that must survive a power failure.
		if err := b.journal.append(e, !again); err != nil {
			return outcome{}, false, err
		}
	}
	b.enter(e)
	return out, again, nil
}

// enter adds an entry to the sums. It is what makes a book out of a journal.
func (b *Book) enter(e entry) {
	b.number = max(b.number, e.Number)
	if b.first.IsZero() || e.At.Before(b.first) {
		b.first = e.At
	}
	t := &b.totals
	t.Requests++
	t.Answers[e.Answer]++
	if e.Outage {
		t.InOutage++
	}
	if e.Duplicate {
		t.Duplicates++
	}
	if e.Worked && (e.Answer == AnswerReset || e.Answer == AnswerHang) {
		t.LostAnswers++
	}
	if e.Body != "" {
		b.known[knownKey(e.Kind, e.Key)] = outcome{body: e.Body, result: e.Result, declined: e.Declined}
	}
	tally := t.Orders[e.Order]
	switch {
	case e.Declined != "":
		tally.Declined = e.Declined
	case e.Result != nil:
		t.Effects[e.Kind]++
		tally.add(e.Result)
	default:
		return
	}
	t.Orders[e.Order] = tally
}

func (t *Tally) add(r *Result) {
	switch r.Kind {
	case Reserve:
		t.Reserved++
	case Charge:
		t.Charged++
		t.ChargedCents += r.AmountCents
	case Ship:
		t.Shipped++
	case Notify:
		t.Notified++
	}
}

func knownKey(kind Kind, key string) string { return string(kind) + "\x00" + key }
