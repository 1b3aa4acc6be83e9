package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/shop"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

// progress is how far a demo is.
type progress struct {
	orders, settled, declined int

	steps    int            // by the book of the service
	requests int            // that the service received
	inFlight map[string]int // requests, by worker
	waiting  int            // calls that wait for their next attempt
	next     time.Time      // when the first of the waiting continues

	kills   int
	workers []string // process IDs
	elapsed time.Duration
}

// progress says how far the demo is, by the book of the service.
func (d *demo) progress() progress {
	t := d.service.Book.Totals()
	p := progress{orders: len(d.orders), requests: t.Requests, inFlight: d.service.InFlight(), kills: d.state.Kills, elapsed: d.elapsed()}
	for _, tally := range t.Orders {
		switch {
		case tally.Declined != "":
			p.declined++
		case tally.Done[shop.Notify] > 0:
			p.settled++
		}
	}
	for _, n := range t.Done {
		p.steps += n
	}
	return p
}

// look adds what the database says. What cannot be read now is read the next time.
func (p *progress) look(ctx context.Context, engine *perdure.Engine) {
	counts, err := ops.Counts(ctx, engine, 0)
	if err != nil {
		return
	}
	p.waiting = counts.Calls[view.CallBackoff]
	if counts.NextRetry != nil {
		p.next = *counts.NextRetry
	}
}

func (p progress) done() int { return p.settled + p.declined }

// running counts the requests in flight.
func (p progress) running() (n int) {
	for _, running := range p.inFlight {
		n += running
	}
	return n
}

// lines are the progress for a person.
func (p progress) lines(now time.Time) []string {
	waiting := fmt.Sprintf("%d waiting to retry", p.waiting)
	if p.waiting > 0 && !p.next.IsZero() {
		waiting += " (next " + human.Until(p.next, now) + ")"
	}
	return []string{
		fmt.Sprintf("%d of %s done (%d settled, %d declined)", p.done(), human.Plural(p.orders, "order", "orders"), p.settled, p.declined),
		fmt.Sprintf("%s done with %s, %d in flight, %s", human.Plural(p.steps, "step", "steps"), human.Plural(p.requests, "request", "requests"), p.running(), waiting),
		fmt.Sprintf("survived %s; process %s", human.Plural(p.kills, "crash", "crashes"), strings.Join(p.workers, ", ")),
	}
}

// screen shows the progress: on a terminal as a panel that is redrawn below the
// news, elsewhere as a line a second.
type screen struct {
	term.Panel
	last time.Time
}

// redrawEvery is how often progress is shown on a terminal.
const redrawEvery = 100 * time.Millisecond

// news writes a line that stays, with the time at which it happened.
func (s *screen) news(elapsed time.Duration, text term.Painted) {
	s.Say("%s  %s", term.Painted{Text: clock(elapsed), Colour: term.Faint}, text)
}

// show shows the progress, if it is time to.
func (s *screen) show(p progress, now time.Time) {
	if !s.Terminal.Moves {
		if now.Sub(s.last) >= time.Second {
			s.last = now
			s.news(p.elapsed, term.Painted{Text: strings.Join(p.lines(now), ", ")})
		}
		return
	}
	panel := []string{"", clock(p.elapsed) + "  " + bar(p.done(), p.orders)}
	for _, line := range p.lines(now) {
		panel = append(panel, "        "+line)
	}
	s.Draw(panel)
}

// bar is how much of a whole is done.
func bar(done, all int) string {
	const width = 40
	full := min(width*done/max(all, 1), width)
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "]"
}

// clock is a time since the start, all of one width.
func clock(d time.Duration) string { return fmt.Sprintf("%5.1fs", d.Seconds()) }
