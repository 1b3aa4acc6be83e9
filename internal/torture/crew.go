package torture

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/rpc"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/witness"
)

// crew is the processes that work, side by side: on a shared database two nodes and two workers
// of the queue, each behind a network of its own; else one that does everything.
type crew struct {
	place   Place
	book    *witness.Book
	command func() *exec.Cmd
	random  *rand.Rand     // decides what is done
	fate    *rand.Rand     // decides what depends on the machine, too
	limits  map[string]int // of attempts of the queue, by label

	members []*member
	over    <-chan struct{} // closed when what is stuck is given up
	lives   int
	found   []witness.Finding

	mu   sync.Mutex // what is shown while it changes
	done Troubles
	now  Progress
	open []*Process // that clients may ask
}

// member is one place in the crew.
type member struct {
	*Process
	worker   bool
	networks []*Network
	opened   <-chan error // answers once
	frozen   bool
	build    string
}

// begin starts all processes.
func (c *crew) begin(ctx context.Context) error {
	size := 1
	if c.place.shared() {
		size = 4
	}
	for i := range size {
		m := &member{worker: i >= 2}
		for _, s := range c.place.Servers {
			n, err := NewProxy(s)
			if err != nil {
				return err
			}
			m.networks = append(m.networks, n)
		}
		c.members = append(c.members, m)
		if err := c.bear(m); err != nil {
			return err
		}
	}
	for _, m := range c.members {
		if err := <-m.opened; err != nil && ctx.Err() == nil {
			return fmt.Errorf("a process of the torture cannot work: %w", err)
		}
	}
	return nil
}

// bear begins the next life of a member.
func (c *crew) bear(m *member) error {
	c.lives++
	s := Setup{Book: c.book.Address(), Database: c.place.Database, Postings: c.place.Postings, Lease: lease, Queue: 4, Log: slog.LevelWarn}
	kind, before := "node", m.build
	if c.place.shared() {
		s.Database, s.Queue = c.place.Through(m.networks), 0
	}
	if m.worker {
		s.Worker, s.Queue, kind = true, 3, "worker"
	} else if m.build = c.nextBuild(m); before != "" && before != m.build {
		c.count(func(t *Troubles) { t.Deploys++ })
	}
	s.Build = m.build
	if c.fate.IntN(2) == 0 { // it takes the place of its predecessor immediately
		s.Name = fmt.Sprint(kind, " ", slices.Index(c.members, m))
	}
	label := fmt.Sprintf("%s %d.%d", kind, slices.Index(c.members, m), c.lives)
	if s.Queue > 0 {
		c.limits[label] = s.Queue
	}
	p, err := Spawn(label, c.command(), IsComplaint)
	if err != nil {
		return err
	}
	opened := make(chan error, 1)
	go func() {
		opened <- p.Open(s)
		close(opened)
	}()
	m.Process, m.opened, m.frozen = p, opened, false
	c.publish()
	return nil
}

// nextBuild draws the build of a node's next life.
func (c *crew) nextBuild(m *member) string {
	if m.build == "" { // at first there are both
		return []string{witness.OldBuild, witness.NewBuild}[slices.Index(c.members, m)%2]
	}
	return []string{witness.OldBuild, witness.NewBuild}[c.fate.IntN(2)]
}

// publish says whom clients may ask.
func (c *crew) publish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = nil
	for _, m := range c.members {
		if m.Process != nil && !m.worker {
			c.open = append(c.open, m.Process)
		}
	}
}

func (c *crew) count(f func(*Troubles)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.done)
}

func (c *crew) find(kind witness.Kind, format string, args ...any) {
	c.found = append(c.found, witness.Finding{Kind: kind, What: fmt.Sprintf(format, args...)})
}

// bury makes sure that nobody but us ended a process, and notes what it said that none may say.
func (c *crew) bury(m *member) {
	select {
	case <-m.Dead:
		c.find(witness.Wrong, "%s has ended by itself: %v\n%s", m.Label, m.Err, lastWords(m.Said()))
	default:
	}
	m.Kill()
	c.listen(m)
}

func (c *crew) listen(m *member) {
	for _, line := range m.Complaints() {
		if !strings.Contains(line, fits) {
			c.find(witness.Wrong, "%s says: %s", m.Label, line)
		}
	}
}

// fits is what a node says while no node of the other build is there.
const fits = "the code does not fit the history"

func lastWords(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

// relieve ends the troubles of all, and waits until all are open: one that met a trouble at its
// start is started again, as whoever runs it would. Both builds are there then, if there is more
// than one node, so that no run is without a node that it fits.
func (c *crew) relieve() {
	for _, m := range c.members {
		c.relieveOne(m)
	}
	for c.place.shared() && c.members[0].build == c.members[1].build {
		m := c.members[c.fate.IntN(2)]
		c.bury(m)
		c.must(c.bear(m))
		c.relieveOne(m)
	}
}

func (c *crew) relieveOne(m *member) {
	for _, n := range m.networks {
		n.Relieve()
	}
	if m.frozen {
		c.must(m.Thaw())
		m.frozen = false
	}
	for end := time.Now().Add(patience); ; {
		select {
		case err := <-m.opened:
			if err == nil {
				return
			}
			if time.Now().After(end) {
				c.find(witness.Wrong, "%s does not start to work: %v", m.Label, err)
				return
			}
		case <-time.After(time.Until(end)):
			c.find(witness.Wrong, "%s has not started to work within %s", m.Label, patience)
			return
		}
		m.Kill()
		c.listen(m)
		time.Sleep(lease / 10)
		c.must(c.bear(m))
	}
}

// must notes what cannot happen on a machine that works.
func (c *crew) must(err error) {
	if err != nil {
		c.find(witness.Wrong, "the torture itself failed: %v", err)
	}
}

// leave lets all processes end in good order.
func (c *crew) leave() {
	for _, m := range c.members {
		if err := c.leaveOne(m); err != nil {
			c.find(witness.Wrong, "%s ended with %v", m.Label, err)
		}
		c.listen(m)
	}
}

// leaveOne lets a process end in good order.
func (c *crew) leaveOne(m *member) error {
	left := make(chan error, 1)
	go func() { left <- m.Leave(lease) }()
	select {
	case err := <-left:
		return err
	case <-time.After(patience):
		m.Kill()
		return errors.Join(errors.New("it did not leave"), <-left)
	}
}

// end leaves no process and no network behind.
func (c *crew) end() {
	for _, m := range c.members {
		if m.Process != nil {
			m.Kill()
		}
		for _, n := range m.networks {
			n.Close()
		}
	}
}

func (c *crew) stage(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Stage = name
}

func (c *crew) judged(runs int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Judged = runs
}

func (c *crew) progress() Progress {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.now
	p.Done = c.done
	return p
}

// relay lets clients ask the nodes, too.
type relay struct{ *crew }

func (r relay) some() *Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open[rand.IntN(len(r.open))]
}

func (r relay) Start(shape, id string, v int) (string, error) {
	return ask(r, func(p *Process) (string, error) { return p.Start(shape, id, v) })
}

func (r relay) Signal(id string, n int) error {
	_, err := ask(r, func(p *Process) (struct{}, error) { return struct{}{}, p.Signal(id, n) })
	return err
}

func (r relay) Result(id string) (int, error) {
	return ask(r, func(p *Process) (int, error) { return p.Result(id) })
}

// ask asks some process. It waits no longer for the answer when what is stuck is given up.
func ask[T any](r relay, call func(*Process) (T, error)) (answer T, err error) {
	type reply struct {
		answer T
		err    error
	}
	replied := make(chan reply, 1)
	go func() {
		var a reply
		a.answer, a.err = call(r.some())
		replied <- a
	}()
	select {
	case a := <-replied:
		return a.answer, a.err
	case <-r.over:
		return answer, errStuck
	}
}

// refused reports whether the process answered, and not the pipe.
func refused(err error) bool {
	_, is := errors.AsType[rpc.ServerError](err)
	return is
}
