package torture

import (
	"bufio"
	"errors"
	"net"
	"strings"
	"sync"
	"time"
)

// Proxy is the network between a node and the server. It passes everything on,
// unless it is told otherwise. What it is told about batches and answers of COMMIT it does
// because it understands so much of PostgreSQL's protocol, without encryption.
type Proxy struct {
	listener net.Listener

	mu     sync.Mutex
	change *sync.Cond
	dial   func() (net.Conn, error) // makes a connection with the server
	links  map[*link]bool

	late   time.Duration      // what passes, in either direction, is late by this
	silent bool               // nothing passes, in either direction
	deaf   bool               // nothing passes to the client
	closed bool               // nobody listens
	hold   func(b *Batch) int // how many bytes of a batch pass before the rest of it waits
	lose   func() Lot         // asked at each COMMIT that the server answers

	waiting int // batches that wait
	durable int // transactions that the server committed
	lost    int // those of which the reply was lost
	refused int // commits that the server refused, because a partition has another owner
}

// Lot is what becomes of an answer.
type Lot int

// The lots.
const (
	Arrives Lot = iota
	Cut         // the connection is cut instead
	Silence     // nothing is heard any more, until the connection is cut somewhat later
)

// link is a connection through the proxy.
type link struct {
	client net.Conn
	server net.Conn // nil until something may pass
	dead   bool
}

// NewProxy opens a network that leads to a server.
func NewProxy(dial func() (net.Conn, error)) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, dial: dial, links: map[*link]bool{}}
	p.change = sync.NewCond(&p.mu)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p, nil
}

// Close ends the network.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.Reset()
	return err
}

// Address is where nodes find the server.
func (p *Proxy) Address() *net.TCPAddr { return p.listener.Addr().(*net.TCPAddr) }

func (p *Proxy) serve(c net.Conn) {
	l := &link{client: c}
	p.mu.Lock()
	closed := p.closed
	p.links[l] = true
	p.mu.Unlock()
	if closed || p.connect(l) != nil {
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

// connect connects a link with the server, which knows nothing of a connection
// before the network lets something pass.
func (p *Proxy) connect(l *link) error {
	if _, err := p.pass(l, &Batch{}, -1); err != nil {
		return err
	}
	p.mu.Lock()
	dial := p.dial
	p.mu.Unlock()
	s, err := dial()
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
func (p *Proxy) up(l *link) error {
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
			p.tarry()
			if _, err := l.server.Write(b.raw[passed:n]); err != nil {
				return err
			}
			passed = n
		}
	}
}

// down passes on what the server says.
func (p *Proxy) down(l *link) error {
	r, w := bufio.NewReader(l.server), bufio.NewWriter(l.client)
	for {
		m, err := readMessage(r, false)
		if err != nil {
			return err
		}
		if _, err := p.pass(l, nil, 0); err != nil {
			return err
		}
		if r.Buffered() == 0 {
			p.tarry()
		}
		switch p.fate(m) {
		case Cut:
			return errCut
		case Silence:
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

// tarry is how long what passes takes.
func (p *Proxy) tarry() {
	p.mu.Lock()
	late := p.late
	p.mu.Unlock()
	time.Sleep(late)
}

// pass waits until more of a batch may pass than did before, and returns how much.
// Without a batch it waits until anything may.
func (p *Proxy) pass(l *link, b *Batch, passed int) (int, error) {
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
func (p *Proxy) fate(m message) Lot {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.refuses() {
		p.refused++
	}
	if !m.committed() {
		return Arrives
	}
	p.durable++
	if p.lose == nil {
		return Arrives
	}
	f := p.lose()
	if f != Arrives {
		p.lost++
	}
	return f
}

// set changes what the proxy does.
func (p *Proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	p.change.Broadcast()
}

// HoldBack keeps batches back for which the condition holds.
func (p *Proxy) HoldBack(condition func(b *Batch) bool) {
	p.set(func() {
		p.hold = func(b *Batch) int {
			if condition(b) {
				return 0
			}
			return len(b.raw)
		}
	})
}

// HoldHalf keeps back what follows a statement in its batch.
func (p *Proxy) HoldHalf(sql string) {
	p.set(func() {
		p.hold = func(b *Batch) int {
			for _, s := range b.statements {
				if strings.Contains(s.sql, sql) {
					return s.end
				}
			}
			return len(b.raw)
		}
	})
}

// LetGo lets pass what was held back.
func (p *Proxy) LetGo() { p.set(func() { p.hold = nil }) }

// Mute lets nothing pass any more; what is sent meanwhile arrives when the
// proxy speaks again, as in a network that retransmits.
func (p *Proxy) Mute() { p.set(func() { p.silent = true }) }

// Deafen lets nothing pass to the client any more.
func (p *Proxy) Deafen() { p.set(func() { p.deaf = true }) }

// Speak lets everything pass again.
func (p *Proxy) Speak() { p.set(func() { p.silent, p.deaf = false, false }) }

// Lead leads to another server from now on.
func (p *Proxy) Lead(dial func() (net.Conn, error)) {
	p.set(func() { p.dial = dial })
	p.Reset()
}

// Delay makes what passes late, in either direction.
func (p *Proxy) Delay(by time.Duration) { p.set(func() { p.late = by }) }

// Lose asks at each COMMIT that the server answers what becomes of the answer; nil: it arrives.
func (p *Proxy) Lose(draw func() Lot) { p.set(func() { p.lose = draw }) }

// Relieve ends all troubles but what is held back.
func (p *Proxy) Relieve() {
	p.set(func() { p.silent, p.deaf, p.closed, p.lose, p.late = false, false, false, nil, 0 })
}

// IsHolding reports whether something is held back.
func (p *Proxy) IsHolding() bool { return p.count(&p.waiting) > 0 }

// Refuse cuts all connections and accepts no more.
func (p *Proxy) Refuse() {
	p.set(func() { p.closed = true })
	p.Reset()
}

// Accept accepts connections again.
func (p *Proxy) Accept() { p.set(func() { p.closed = false }) }

// Commits is how many transactions the server committed so far.
func (p *Proxy) Commits() int { return p.count(&p.durable) }

// Losses is how many answers were lost so far.
func (p *Proxy) Losses() int { return p.count(&p.lost) }

// Refusals is how many commits were refused so far.
func (p *Proxy) Refusals() int { return p.count(&p.refused) }

func (p *Proxy) count(n *int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return *n
}

// Reset cuts all connections there are.
func (p *Proxy) Reset() {
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
func (p *Proxy) cut(l *link) {
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
