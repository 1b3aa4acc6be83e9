package shop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"sync"
	"time"
)

// Step is a kind of work, and the path of the service that asks for it.
type Step string

// The steps of an order, in their order.
const (
	Reserve Step = "reserve"
	Charge  Step = "charge"
	Ship    Step = "ship"
	Notify  Step = "notify"
)

// Steps are all of them.
var Steps = []Step{Reserve, Charge, Ship, Notify}

// Receipt is what the service returns when the work is done. The same key gets the
// same receipt.
type Receipt struct {
	ID          string `json:"id"` // such as "charge-000017"
	AmountCents int64  `json:"amount_cents,omitempty"`
}

// Totals is the book in numbers.
type Totals struct {
	Requests    int
	Duplicates  int              // requests whose key was known: answered, not done again
	LostAnswers int              // requests whose work was done and whose answer never arrived
	InOutage    int              // requests that met the outage
	Done        map[Step]int     // work done, once for each key
	Orders      map[string]Tally // what was done for each order
}

// Tally is what was done for one order with different keys, which is how often it
// truly happened. More than 1 anywhere is a client's mistake.
type Tally struct {
	Done         map[Step]int
	ChargedCents int64
	Declined     string // why the card was declined
}

// entry is a request in the journal. The book is the sum of its entries.
type entry struct {
	Number int64     `json:"n"`
	At     time.Time `json:"at"`
	Step   Step      `json:"step"`
	Key    string    `json:"key"`
	Order  string    `json:"order"`
	Answer answer    `json:"answer"`
	Outage bool      `json:"outage,omitempty"`
	Worked bool      `json:"worked,omitempty"` // the request reached the work

	outcome // of the first request with its key that reached the work
}

// outcome is what comes of a piece of work: a receipt, or a reason for declining.
type outcome struct {
	Receipt  *Receipt `json:"receipt,omitempty"`
	Declined string   `json:"declined,omitempty"`
}

// Book is what a service did. It is safe for concurrent use.
type Book struct {
	mu     sync.Mutex
	file   *os.File
	number int64 // of the last request
	first  time.Time
	known  map[string]outcome // by step and key
	done   map[string]Receipt // by step and order; the first
	totals Totals
}

// OpenBook opens the book in a file, and creates it if need be. An unfinished last
// line, the trace of a crash, is dropped: its request was never answered.
func OpenBook(path string) (*Book, error) {
	b := &Book{known: map[string]outcome{}, done: map[string]Receipt{}, totals: Totals{Done: map[Step]int{}, Orders: map[string]Tally{}}}
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("the book cannot be read: %w", err)
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	for line := range bytes.Lines(data[:whole]) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil || e.Number != b.number+1 {
			return nil, fmt.Errorf("the book %s is damaged after its entry %d", path, b.number)
		}
		b.add(e)
	}
	if whole < len(data) {
		if err := os.Truncate(path, int64(whole)); err != nil {
			return nil, fmt.Errorf("the unfinished last line of the book cannot be removed: %w", err)
		}
	}
	if b.file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644); err != nil {
		return nil, fmt.Errorf("the book cannot be opened: %w", err)
	}
	return b, nil
}

// Close closes the file.
func (b *Book) Close() error { return b.file.Close() }

// Totals returns the book as it is now.
func (b *Book) Totals() Totals {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.totals
	t.Done, t.Orders = maps.Clone(t.Done), maps.Clone(t.Orders)
	for id, tally := range t.Orders {
		tally.Done = maps.Clone(tally.Done)
		t.Orders[id] = tally
	}
	return t
}

// find returns the receipt for a step of an order, whatever its key.
func (b *Book) find(step Step, order string) (Receipt, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r, done := b.done[string(step)+" "+order]
	return r, done
}

// since is how long ago the first request came.
func (b *Book) since(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.first.IsZero() {
		return 0
	}
	return now.Sub(b.first)
}

// enter writes a request down, after decide has filled in what happens to it by its
// number. If that reaches the work, and the key is new, it is done for order; when
// enter returns, it is on disk.
func (b *Book) enter(e entry, order Order, decide func(*entry)) (entry, outcome, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e.Number = b.number + 1
	decide(&e)
	out, again := b.known[e.workKey()]
	if e.Worked && !again {
		if e.Step == Charge {
			out.Declined = declineReason(order.Card)
		}
		if out.Declined == "" {
			out.Receipt = &Receipt{ID: fmt.Sprintf("%s-%06d", e.Step, e.Number)}
			if e.Step == Charge {
				out.Receipt.AmountCents = order.AmountCents
			}
		}
		e.outcome = out
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = b.file.Write(append(line, '\n'))
	}
	if err == nil && e.worked() {
		err = b.file.Sync()
	}
	if err != nil {
		return e, outcome{}, fmt.Errorf("the book cannot be written: %w", err)
	}
	b.add(e)
	return e, out, nil
}

func (e *entry) workKey() string { return string(e.Step) + " " + e.Key }

// worked reports whether the request was the first one that did its work.
func (e *entry) worked() bool { return e.Receipt != nil || e.Declined != "" }

// add adds an entry to the sums.
func (b *Book) add(e entry) {
	b.number = e.Number
	if b.first.IsZero() {
		b.first = e.At
	}
	t := &b.totals
	t.Requests++
	if e.Outage {
		t.InOutage++
	}
	if e.Worked && (e.Answer == answerReset || e.Answer == answerHang) {
		t.LostAnswers++
	}
	if !e.worked() {
		if e.Worked {
			t.Duplicates++
		}
		return
	}
	b.known[e.workKey()] = e.outcome
	tally := t.Orders[e.Order]
	if tally.Done == nil {
		tally.Done = map[Step]int{}
	}
	if e.Receipt != nil {
		t.Done[e.Step]++
		tally.Done[e.Step]++
		tally.ChargedCents += e.Receipt.AmountCents
		if work := string(e.Step) + " " + e.Order; tally.Done[e.Step] == 1 {
			b.done[work] = *e.Receipt
		}
	} else {
		tally.Declined = e.Declined
	}
	t.Orders[e.Order] = tally
}
