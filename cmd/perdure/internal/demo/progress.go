package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/shop"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/store"
)

// progress is how far a demo is, as it is shown.
type progress struct {
	orders   int
	settled  int
	declined int
	failed   int

	steps    int       // by the book of the service
	requests int       // that the service received
	running  int       // attempts in flight
	waiting  int       // calls that wait for their next attempt
	next     time.Time // when the first of the waiting goes on

	kills    int
	workers  []int // process IDs
	elapsed  time.Duration
	database string
}

func (p progress) done() int { return p.settled + p.declined + p.failed }

// line is the progress in one line.
func (p progress) line(now time.Time) string {
	s := fmt.Sprintf("%d of %s done (%d settled, %d declined), %s steps, %s in flight, %s, survived %s",
		p.done(), term.Plural(p.orders, "order", "orders"), p.settled, p.declined, term.Count(p.steps), term.Plural(p.running, "attempt", "attempts"),
		p.retrying(now), term.Plural(p.kills, "crash", "crashes"))
	if p.failed > 0 {
		s += fmt.Sprintf(", %d FAILED", p.failed)
	}
	return s
}

// retrying says how many calls wait for their next attempt.
func (p progress) retrying(now time.Time) string {
	if p.waiting == 0 {
		return "none waiting to retry"
	}
	s := fmt.Sprintf("%d waiting to retry", p.waiting)
	if !p.next.IsZero() {
		s += " (next " + term.Until(p.next, now) + ")"
	}
	return s
}

// look is what database and book say from outside.
type look struct {
	counts store.Counts
	sums   shop.Totals
}

// watch looks at database and book from time to time until ctx ends. What cannot
// be read now is read the next time.
func watch(ctx context.Context, engine *perdure.Engine, service string, looks chan<- look) {
	const every = 200 * time.Millisecond
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		counts, err := engine.Counts(ctx)
		var sums shop.Totals
		if err == nil {
			sums, err = shop.ReadSums(ctx, service)
		}
		if err == nil {
			select {
			case looks <- look{counts, sums}:
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// see takes over what was seen.
func (p *progress) see(l look) {
	p.steps, p.requests = stepsDone(l.sums), l.sums.Requests
	p.waiting = l.counts.Calls[store.Backoff]
	p.next = time.Time{}
	if l.counts.NextRetry != 0 {
		p.next = time.Unix(0, l.counts.NextRetry)
	}
}

// stepsDone counts the work that the service has done.
func stepsDone(t shop.Totals) int {
	n := 0
	for _, done := range t.Effects {
		n += done
	}
	return n
}
