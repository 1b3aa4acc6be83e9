package demo

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/perdure/perdure/cmd/perdure/internal/database"
)

// crew is the worker processes of a demo, side by side.
type crew struct {
	hands []*hand
	spawn func(h *hand) (*child, error)
	news  chan tiding
	over  chan struct{} // closed when nobody listens any more
}

// hand is a place in the crew. When its process dies another one takes it, under
// the same name.
type hand struct {
	name    string
	child   *child
	again   bool   // it had a process before
	running int    // attempts
	steps   int    // by its process
	before  int    // by those before that
	message string // why its process failed
}

// tiding is what the process of a hand reports, or that it ended.
type tiding struct {
	hand   *hand
	from   *child
	report report
	ended  bool
}

// newCrew makes a crew without any process. A worker that is alone needs no number.
func newCrew(workers int, spawn func(h *hand) (*child, error)) *crew {
	c := &crew{spawn: spawn, news: make(chan tiding), over: make(chan struct{})}
	for k := range workers {
		name := "worker"
		if workers > 1 {
			name += "-" + strconv.Itoa(k+1)
		}
		c.hands = append(c.hands, &hand{name: name})
	}
	return c
}

// start starts a process for a hand.
func (c *crew) start(h *hand) error {
	h.again = h.child != nil
	h.before, h.steps, h.running = h.before+h.steps, 0, 0
	var err error
	if h.child, err = c.spawn(h); err != nil {
		return err
	}
	go c.follow(h, h.child)
	return nil
}

// follow passes on what a process reports.
func (c *crew) follow(h *hand, from *child) {
	tell := func(t tiding) bool {
		select {
		case c.news <- t:
			return true
		case <-c.over:
			return false
		}
	}
	for r := range from.reports {
		if !tell(tiding{hand: h, from: from, report: r}) {
			return
		}
	}
	<-from.exited
	tell(tiding{hand: h, from: from, ended: true})
}

// stale reports whether a tiding is of a process that has a successor.
func (t tiding) stale() bool { return t.from != t.hand.child }

// running counts the attempts that run.
func (c *crew) running() int {
	n := 0
	for _, h := range c.hands {
		n += h.running
	}
	return n
}

// steps counts the steps that the crew has done.
func (c *crew) steps() int {
	n := 0
	for _, h := range c.hands {
		n += h.before + h.steps
	}
	return n
}

// victim draws one of those that have something to lose.
func (c *crew) victim() *hand {
	var busy []*hand
	for _, h := range c.hands {
		if h.running > 0 {
			busy = append(busy, h)
		}
	}
	return busy[rand.IntN(len(busy))]
}

// pids are the processes that work.
func (c *crew) pids() []int {
	var pids []int
	for _, h := range c.hands {
		if h.child != nil {
			pids = append(pids, h.child.pid())
		}
	}
	return pids
}

// end asks all processes to end, and kills those that take too long.
func (c *crew) end(grace time.Duration) {
	var all sync.WaitGroup
	for _, h := range c.hands {
		if h.child != nil {
			all.Go(func() { h.child.end(grace) })
		}
	}
	all.Wait()
}

// dismiss makes sure that no process is left and that nothing is told any more.
func (c *crew) dismiss() {
	close(c.over)
	for _, h := range c.hands {
		if h.child != nil {
			h.child.kill()
		}
	}
}

// databaseVar tells worker processes the database, which may have a password: what
// is on a command line everybody can see.
const databaseVar = "PERDURE_DEMO_DB"

// WorkerDatabase is the database that the parent told a worker process.
func WorkerDatabase(getenv func(string) string) (database.Name, error) {
	return database.Parse(getenv(databaseVar))
}

// spawnWorker starts a worker process.
func (d *demo) spawnWorker(h *hand) (*child, error) {
	args := []string{"demo", "worker", "--dir", string(d.dir), "--service", d.url, "--slots", strconv.Itoa(d.slots())}
	if d.database.Shared() {
		args = append(args, "--name", h.name)
	}
	return spawn(d.executable, h.name, d.dir.file(h.name+".log"), []string{databaseVar + "=" + d.database.Secret()}, args...)
}

// slots is how many requests one worker makes at once: all of them together more
// than the service can take, so that it has to say no; but for a few orders only a
// few, so that there is something to see.
func (d *demo) slots() int {
	all := min(max(len(d.input.orders)/8, 4), 16)
	return (all + d.opt.Workers - 1) / d.opt.Workers
}
