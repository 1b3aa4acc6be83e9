package clustertest

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// proxy is the network between a node and the server. It passes everything on,
// unless it is told otherwise.
type proxy struct {
	listener net.Listener
	socket   string // of the server

	mu     sync.Mutex
	change *sync.Cond
	links  map[*link]bool

	silent bool               // nothing passes, in either direction
	deaf   bool               // nothing passes to the client
	closed bool               // nobody listens
	hold   func(b *batch) int // how many bytes of a batch pass before the rest of it waits
	lose   func() lot         // asked at each COMMIT that the server answers

	waiting int // so many batches wait
	durable int // so many transactions the server committed
	lost    int // so many of these answers were lost
	refused int // so many commits the server refused, because a partition has another owner
}

// lot is what becomes of an answer.
type lot int

const (
	arrives lot = iota
	cut         // the connection is cut instead
	silence     // nothing is heard any more, until the connection is cut somewhat later
)

// link is a connection through the proxy.
type link struct {
	client net.Conn
	server net.Conn // nil until something may pass
	dead   bool
}

func newProxy(t *testing.T, socket string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, socket: socket, links: map[*link]bool{}}
	p.change = sync.NewCond(&p.mu)
	t.Cleanup(func() {
		l.Close()
		p.reset()
	})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

// dsn is how to connect to a database through the proxy.
func (p *proxy) dsn(database string) string {
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", p.listener.Addr(), database)
}

func (p *proxy) serve(c net.Conn) {
	l := &link{client: c}
	p.mu.Lock()
	closed := p.closed
	p.links[l] = true
	p.mu.Unlock()
	if closed || p.dial(l) != nil {
		p.cut(l) // as if nobody listened
		return
	}
	var both sync.WaitGroup
	both.Go(func() {
		p.up(l)
		p.cut(l)
	})
	both.Go(func() {
		p.down(l)
		p.cut(l)
	})
	both.Wait()
}

// dial connects a link with the server, which knows nothing of a connection
// before the network lets something pass.
func (p *proxy) dial(l *link) error {
	if _, err := p.pass(l, &batch{}, -1); err != nil {
		return err
	}
	p.mu.Lock()
	socket := p.socket
	p.mu.Unlock()
	s, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.dead {
		s.Close()
		return errCut
	}
	l.server = s
	return nil
}

var errCut = errors.New("the connection is cut")

// up passes on what the client says.
func (p *proxy) up(l *link) error {
	said := batches{r: bufio.NewReader(l.client), prepared: map[string]string{}}
	for {
		b, err := said.next()
		if err != nil {
			return err
		}
		for passed := 0; passed < len(b.raw); {
			n, err := p.pass(l, b, passed)
			if err != nil {
				return err
			}
			if _, err := l.server.Write(b.raw[passed:n]); err != nil {
				return err
			}
			passed = n
		}
	}
}

// down passes on what the server says.
func (p *proxy) down(l *link) error {
	r, w := bufio.NewReader(l.server), bufio.NewWriter(l.client)
	for {
		m, err := readMessage(r, false)
		if err != nil {
			return err
		}
		if _, err := p.pass(l, nil, 0); err != nil {
			return err
		}
		switch p.fate(m) {
		case cut:
			return errCut
		case silence:
			time.Sleep(500 * time.Millisecond)
			return errCut
		}
		if _, err := w.Write(m.raw); err != nil {
			return err
		}
		if r.Buffered() == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
}

// pass waits until more of a batch may pass than did before, and answers how much.
// Without a batch it waits until anything may.
func (p *proxy) pass(l *link, b *batch, passed int) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !l.dead {
		switch {
		case p.silent || p.deaf && b == nil:
			p.change.Wait()
		case b == nil:
			return 0, nil
		case p.hold == nil:
			return len(b.raw), nil
		case p.hold(b) > passed:
			return p.hold(b), nil
		default:
			p.waiting++
			p.change.Wait()
			p.waiting--
		}
	}
	return 0, errCut
}

// fate decides what becomes of a message of the server.
func (p *proxy) fate(m message) lot {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.refuses() {
		p.refused++
	}
	if !m.committed() {
		return arrives
	}
	p.durable++
	if p.lose == nil {
		return arrives
	}
	f := p.lose()
	if f != arrives {
		p.lost++
	}
	return f
}

// set changes what the proxy does.
func (p *proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	p.change.Broadcast()
}

// holdBack keeps batches back for which the condition holds.
func (p *proxy) holdBack(condition func(b *batch) bool) {
	p.set(func() {
		p.hold = func(b *batch) int {
			if condition(b) {
				return 0
			}
			return len(b.raw)
		}
	})
}

// holdHalf keeps back what follows a statement in its batch.
func (p *proxy) holdHalf(sql string) {
	p.set(func() {
		p.hold = func(b *batch) int {
			for _, s := range b.statements {
				if strings.Contains(s.sql, sql) {
					return s.end
				}
			}
			return len(b.raw)
		}
	})
}

// letGo lets pass what was held back.
func (p *proxy) letGo() { p.set(func() { p.hold = nil }) }

// mute lets nothing pass any more; what is sent meanwhile arrives when the
// proxy speaks again, as in a network that retransmits.
func (p *proxy) mute() { p.set(func() { p.silent = true }) }

// deafen lets nothing pass to the client any more.
func (p *proxy) deafen() { p.set(func() { p.deaf = true }) }

// speak lets everything pass again.
func (p *proxy) speak() { p.set(func() { p.silent, p.deaf = false, false }) }

// lead leads to another server from now on.
func (p *proxy) lead(socket string) {
	p.set(func() { p.socket = socket })
	p.reset()
}

// isHolding reports whether something is held back.
func (p *proxy) isHolding() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting > 0
}

// refuse cuts all connections and accepts no more.
func (p *proxy) refuse() {
	p.set(func() { p.closed = true })
	p.reset()
}

// accept accepts connections again.
func (p *proxy) accept() { p.set(func() { p.closed = false }) }

// commits is how many transactions the server committed so far.
func (p *proxy) commits() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.durable
}

// losses is how many answers were lost so far.
func (p *proxy) losses() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// refusals is how many commits were refused so far.
func (p *proxy) refusals() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused
}

// reset cuts all connections there are.
func (p *proxy) reset() {
	p.mu.Lock()
	var all []*link
	for l := range p.links {
		all = append(all, l)
	}
	p.mu.Unlock()
	for _, l := range all {
		p.cut(l)
	}
}

// cut ends a connection without ceremony.
func (p *proxy) cut(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.dead {
		return
	}
	l.dead = true
	delete(p.links, l)
	if c, ok := l.client.(*net.TCPConn); ok {
		c.SetLinger(0)
	}
	l.client.Close()
	if l.server != nil {
		l.server.Close()
	}
	p.change.Broadcast()
}
