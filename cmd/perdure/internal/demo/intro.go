package demo

import (
	"strconv"
	"strings"

	"github.com/perdure/perdure/cmd/perdure/internal/database"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/human"
)

// The defaults of Options.
const (
	DefaultDir    = "perdure-demo"
	DefaultOrders = 300
	DefaultKills  = 3
)

// DefaultWorkers is how many worker processes there are by default.
func DefaultWorkers(db database.Name) int {
	if db.Shared() {
		return 2
	}
	return 1
}

// introduce says what there is to see, to people who see perdure for the first time.
func (d *demo) introduce() {
	s, orders := &d.screen, human.Plural(len(d.orders), "order", "orders")
	if d.state.Active > 0 {
		s.Say("The demo in %s continues where it was stopped:\n%d of %s are done, after %s and %s.\nTo begin again: %s demo --fresh%s\n", d.dir, d.progress().done(),
			orders, human.Duration(d.state.Active), human.Plural(d.state.Kills, "crash", "crashes"), d.opt.Command, d.flags())
		return
	}
	s.Say("%s", term.Painted{Text: orders + " to fulfil, by a program that is killed on purpose.", Colour: term.Strong})
	s.Say(`
Each order takes four steps: reserve the goods, charge the card, ship, notify the
customer. Each step is an HTTP request to a shop service that has a bad day: one
request in five fails, hangs or loses its answer, it takes no more than 150
requests a second, and once it is down for three seconds.
`)
	if kills := human.Plural(d.opt.Kills, "time", "times"); d.opt.Workers == 1 {
		s.Say(`A worker process fulfils the orders. perdure retries what fails and keeps every step
in a database, so that a worker that is started again continues where the dead one
was. It is killed with kill -9 %s.`, kills)
	} else {
		s.Say(`%d worker processes share the orders. perdure retries what fails and keeps every
step in a database, so that the others, and a worker that is started again, continue
where a dead one was. One of them, drawn by lot, is killed with kill -9 %s.`, d.opt.Workers, kills)
	}
	s.Say("At the end the service's own book shows whether every card was charged exactly once.\n")
	if !d.db.Shared() {
		return
	}
	s.Say("The database is %s.\nThe demo creates the schema %s there and touches nothing else.\nLook at it from another terminal while the demo runs:\n\n  %s nodes --db %s\n",
		d.state.Server, d.state.Schema, d.opt.Command, human.ShellWord(d.db.String()))
	if old := d.state.before; old != nil && old.Schema != "" {
		s.Say("What the demo before it left in %s stays there. To remove it:\n\n  %s\n", old.Schema, old.dropping())
	}
}

// flags are those that name this demo again.
func (d *demo) flags() string {
	var b strings.Builder
	if d.opt.Orders != DefaultOrders {
		b.WriteString(" --orders " + strconv.Itoa(d.opt.Orders))
	}
	if d.opt.Dir != DefaultDir {
		b.WriteString(" --dir " + human.ShellWord(d.opt.Dir))
	}
	if d.opt.Database.Shared() {
		b.WriteString(" --db " + human.ShellWord(d.opt.Database.String()))
	}
	if d.opt.Workers != DefaultWorkers(d.opt.Database) {
		b.WriteString(" --workers " + strconv.Itoa(d.opt.Workers))
	}
	if d.opt.Kills != DefaultKills {
		b.WriteString(" --kills " + strconv.Itoa(d.opt.Kills))
	}
	return b.String()
}
