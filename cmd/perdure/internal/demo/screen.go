package demo

import (
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure/cmd/perdure/internal/term"
)

// screen shows how the demo goes on: on a terminal a panel that is redrawn below
// the news, elsewhere a line a second.
type screen struct {
	lines term.Panel
	term  term.Terminal
	last  time.Time
}

// How often progress is shown on a terminal, and elsewhere.
const (
	redrawEvery = 100 * time.Millisecond
	lineEvery   = time.Second
)

// say writes lines that stay.
func (s *screen) say(format string, args ...any) {
	s.lines.Say(fmt.Sprintf(format, args...))
}

// news writes a line that stays, with the time at which it happened.
func (s *screen) news(elapsed time.Duration, format string, args ...any) {
	s.say("%s  %s", s.term.Paint(clock(elapsed), term.Faint), fmt.Sprintf(format, args...))
}

// show draws the progress, if it is time to.
func (s *screen) show(p progress, now time.Time) {
	if !s.term.Moves {
		if now.Sub(s.last) >= lineEvery {
			s.last = now
			s.news(p.elapsed, "%s", p.line(now))
		}
		return
	}
	if now.Sub(s.last) < redrawEvery {
		return
	}
	s.last = now
	s.lines.Draw(s.panel(p, now))
}

// clear removes the panel.
func (s *screen) clear() { s.lines.Clear() }

// panel is the progress in a few lines, none wider than the terminal: one that
// breaks could not be erased.
func (s *screen) panel(p progress, now time.Time) []string {
	orders := fmt.Sprintf("%d settled, %d declined, ", p.settled, p.declined)
	if p.failed > 0 {
		orders += fmt.Sprintf("%d FAILED, ", p.failed)
	}
	orders += fmt.Sprintf("%d to go", p.orders-p.done())
	worker, workers := "worker", "none: it is being started"
	switch n := len(p.workers); {
	case n == 1:
		workers = fmt.Sprintf("process %d", p.workers[0])
	case n > 4:
		worker, workers = "workers", fmt.Sprintf("%d processes", n)
	case n > 1:
		worker, workers = "workers", "processes "+strings.Trim(fmt.Sprint(p.workers), "[]")
	}
	rows := []struct{ label, text string }{
		{"orders", bar(p.done(), p.orders) + "  " + orders},
		{"steps", fmt.Sprintf("%s done, with %s to the service", term.Count(p.steps), term.Plural(p.requests, "request", "requests"))},
		{"attempts", fmt.Sprintf("%d in flight, %s", p.running, p.retrying(now))},
		{worker, fmt.Sprintf("%s, %s survived so far", workers, term.Plural(p.kills, "crash", "crashes"))},
		{"database", p.database},
		{"time", clock(p.elapsed)},
	}
	columns := s.term.Width()
	if columns == 0 {
		columns = 80
	}
	lines := []string{""}
	for _, r := range rows {
		label := fmt.Sprintf("  %-8s  ", r.label)
		text := term.Clip(r.text, max(columns-len(label)-1, 1))
		lines = append(lines, s.term.Paint(label, term.Faint)+text)
	}
	return lines
}

// bar is how much of a whole is done.
func bar(done, all int) string {
	const width = 16
	full := width
	if all > 0 {
		full = min(width*done/all, width)
	}
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "]"
}

// clock is a time since the start, all of one width.
func clock(d time.Duration) string { return fmt.Sprintf("%5.1fs", d.Seconds()) }
