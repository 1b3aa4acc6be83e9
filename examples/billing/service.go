package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
)

// bank is the billing service. Every fourth request gets no answer but 503, and one
// card is declined. A repeated request is recognised by its key.
type bank struct {
	mu       sync.Mutex
	requests int
	repeated int               // requests for what was done already
	payments map[string]string // by key
	book     []Invoice         // what was charged, in order
}

func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var i Invoice
	if err := json.NewDecoder(r.Body).Decode(&i); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests++
	switch {
	case b.requests%4 == 0:
		http.Error(w, "too busy", http.StatusServiceUnavailable)
	case i.ID == "dora":
		http.Error(w, "the card is declined", http.StatusPaymentRequired)
	default:
		_ = json.NewEncoder(w).Encode(b.charge(r.Header.Get("Idempotency-Key"), i))
	}
}

func (b *bank) charge(key string, i Invoice) string {
	if payment, again := b.payments[key]; again {
		b.repeated++
		return payment
	}
	if b.payments == nil {
		b.payments = map[string]string{}
	}
	b.book = append(b.book, i)
	b.payments[key] = fmt.Sprint("payment-", len(b.book))
	fmt.Println(b.payments[key], i.ID, i.Period, i.Cents)
	return b.payments[key]
}
