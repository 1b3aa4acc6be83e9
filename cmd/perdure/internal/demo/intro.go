package demo

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/perdure/perdure/cmd/perdure/internal/term"
)

// DefaultDir is where a demo is kept if nobody says where.
const DefaultDir = "perdure-demo"

// DefaultKills is how often the worker is killed if nobody says how often.
const DefaultKills = 3

// introduce tells somebody who has never heard of perdure what there is to see.
func (d *demo) introduce() {
	s := &d.screen
	if d.state.Active > 0 {
		s.say("The demo in %s goes on where it was stopped:\n%d of %s are done, after %s and %s.\nTo begin anew: %s demo --fresh%s\n", d.dir, d.progress.done(),
			term.Plural(len(d.input.orders), "order", "orders"), term.Duration(d.state.Active),
			term.Plural(d.state.Kills, "crash", "crashes"), d.opt.Command, d.flags())
		return
	}
	orders := term.Plural(len(d.input.orders), "order", "orders")
	s.say("%s", s.term.Paint(fmt.Sprintf("%s to fulfil, by a program that is killed on purpose.", orders), term.Strong))
	s.say(`
Each order takes four steps: reserve the goods, charge the card, ship, notify the
customer. Each step is an HTTP request to a shop service that has a bad day: one
request in five fails, hangs or loses its answer, it takes no more than 150
requests a second, and once it is away for three seconds.

A worker process does the orders. perdure retries what fails and keeps every step
in a database file, so that a worker that is started again goes on where the dead
one was. %s At the end the service's own book
shows whether every card was charged exactly once.
`, d.killsAhead())
	for i, f := range d.input.faults {
		if i == maxFaultsShown {
			s.say("  and %d more", len(d.input.faults)-i)
			break
		}
		if i == 0 {
			s.say("%s of %s cannot be used and %s left out; the others go on:",
				term.Plural(len(d.input.faults), "line", "lines"), term.Escape(d.input.name), are(len(d.input.faults)))
		}
		s.say("  %s", term.Escape(f.String()))
	}
	if len(d.input.faults) > 0 {
		s.say("")
	}
}

const maxFaultsShown = 10

func are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// killsAhead says how often the worker will be killed.
func (d *demo) killsAhead() string {
	switch n := d.opt.Kills; n {
	case 0:
		return "Nobody kills it today (--kills 0)."
	case 1:
		return "It is killed with kill -9 once."
	case 2:
		return "It is killed with kill -9 twice."
	case 3:
		return "It is killed with kill -9 three times."
	default:
		return fmt.Sprintf("It is killed with kill -9 %d times.", n)
	}
}

// flags are those that name this demo again.
func (d *demo) flags() string {
	var b strings.Builder
	if d.opt.Input != "" {
		b.WriteString(" --input " + Quote(d.opt.Input))
	}
	if d.opt.Dir != DefaultDir {
		b.WriteString(" --dir " + Quote(d.opt.Dir))
	}
	if d.opt.Kills != DefaultKills {
		b.WriteString(" --kills " + strconv.Itoa(d.opt.Kills))
	}
	return b.String()
}

// Quote makes a text one word for a shell.
func Quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,+@=\\", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
