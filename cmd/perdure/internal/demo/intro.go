package demo

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/perdure/perdure/cmd/perdure/internal/database"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
)

// DefaultDir is where a demo is kept if nobody says where.
const DefaultDir = "perdure-demo"

// DefaultKills is how often a worker is killed if nobody says how often.
const DefaultKills = 3

// DefaultWorkers is how many worker processes there are if nobody says how many.
func DefaultWorkers(db database.Name) int {
	if db.Shared() {
		return 2
	}
	return 1
}

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

%s At the end the service's own book
shows whether every card was charged exactly once.
`, d.workersAhead())
	d.schemaAhead()
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

// workersAhead says who does the orders, and how often that is to be survived.
func (d *demo) workersAhead() string {
	kills := "Nobody kills one today (--kills 0)."
	if d.opt.Workers == 1 {
		if d.opt.Kills > 0 {
			kills = fmt.Sprintf("It is killed with kill -9 %s.", often(d.opt.Kills))
		}
		return fmt.Sprintf(`A worker process does the orders. perdure retries what fails and keeps every step
in a database, so that a worker that is started again goes on where the dead one
was. %s`, kills)
	}
	if d.opt.Kills > 0 {
		kills = fmt.Sprintf("With kill -9 one of them, drawn by lot, is killed\n%s.", often(d.opt.Kills))
	}
	return fmt.Sprintf(`%d worker processes share the orders. perdure retries what fails and keeps every
step in a database, so that the others, and a worker that is started again, go on
where a dead one was. %s`, d.opt.Workers, kills)
}

// often is how often something happens.
func often(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	case 3:
		return "three times"
	}
	return fmt.Sprintf("%d times", n)
}

// schemaAhead says what the demo does to a database that may not be its own.
func (d *demo) schemaAhead() {
	if !d.database.Shared() {
		return
	}
	s := &d.screen
	s.say("The database is %s.\nThe demo makes the schema %s there and touches nothing else.\nLook at it from another terminal while the demo runs:\n\n  %s nodes --db %s\n",
		d.state.Server, d.state.Schema, d.opt.Command, term.Quote(d.database.String()))
	if old := d.state.before; old != nil && old.Schema != "" {
		s.say("What the demo before it left in %s stays there. To remove it:\n\n  %s\n", old.Schema, dropping(old.Server, old.Schema))
	}
}

// flags are those that name this demo again.
func (d *demo) flags() string {
	var b strings.Builder
	if d.opt.Input != "" {
		b.WriteString(" --input " + term.Quote(d.opt.Input))
	}
	if d.opt.Dir != DefaultDir {
		b.WriteString(" --dir " + term.Quote(d.opt.Dir))
	}
	if d.opt.Database.Shared() {
		b.WriteString(" --db " + term.Quote(d.opt.Database.String()))
	}
	if d.opt.Workers != DefaultWorkers(d.opt.Database) {
		b.WriteString(" --workers " + strconv.Itoa(d.opt.Workers))
	}
	if d.opt.Kills != DefaultKills {
		b.WriteString(" --kills " + strconv.Itoa(d.opt.Kills))
	}
	return b.String()
}
