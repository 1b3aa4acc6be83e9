package postgres

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// message is one message of PostgreSQL's protocol: its type, 0 for the first of a
// client, and all of its bytes.
type message struct {
	kind byte
	raw  []byte
}

// body is what follows type and length.
func (m message) body() []byte {
	if m.kind == 0 {
		return m.raw[4:]
	}
	return m.raw[5:]
}

func readMessage(r *bufio.Reader, first bool) (message, error) {
	var m message
	head := make([]byte, 4, 5)
	if !first {
		head = head[:5]
	}
	if _, err := io.ReadFull(r, head); err != nil {
		return m, err
	}
	if !first {
		m.kind = head[0]
	}
	size := int(binary.BigEndian.Uint32(head[len(head)-4:]))
	m.raw = append(head, make([]byte, size-4)...)
	_, err := io.ReadFull(r, m.raw[len(head):])
	return m, err
}

// side says who sends.
type side string

const (
	client side = "the client's"
	server side = "the server's"
)

// proxy stands between a store and the server. It can cut a connection at a
// chosen message, or stop to pass anything on.
type proxy struct {
	listener net.Listener
	socket   string

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	side  side // whose messages are counted
	count int  // so many pass, and then the connection is cut; -1: all pass
	cut   bool // it was
	mute  chan struct{}
}

// newProxy puts a proxy before the server of this test binary.
func newProxy(t *testing.T, socket string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, socket: socket, conns: map[net.Conn]struct{}{}, count: -1}
	t.Cleanup(func() {
		l.Close()
		p.cutAll()
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

func (p *proxy) dsn(database string) string {
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", p.listener.Addr(), database)
}

// cutting are the messages that make a difference: a client's first one, and
// those that make the server do something; a server's answers to these.
const cutting = "\x00QES" + "RDCZ"

// cutAt cuts the connection on which the message of one side is sent that follows
// so many others of those that count, from now on.
func (p *proxy) cutAt(s side, after int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.side, p.count, p.cut = s, after, false
}

// disarm lets everything pass again and reports whether something was cut.
func (p *proxy) disarm() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count = -1
	return p.cut
}

// cutAll cuts all connections there are.
func (p *proxy) cutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
	clear(p.conns)
}

// silence makes the proxy take everything and pass nothing on, as a network does
// that loses every packet.
func (p *proxy) silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mute = make(chan struct{})
}

// pass reports whether the next message may pass.
func (p *proxy) pass(s side, kind byte) bool {
	p.mu.Lock()
	mute := p.mute
	p.mu.Unlock()
	if mute != nil {
		<-mute // for ever
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count < 0 || p.side != s || strings.IndexByte(cutting, kind) < 0 {
		return true
	}
	if p.count == 0 {
		p.count, p.cut = -1, true
		return false
	}
	p.count--
	return true
}

func (p *proxy) serve(c net.Conn) {
	s, err := net.Dial("unix", p.socket)
	if err != nil {
		c.Close()
		return
	}
	p.mu.Lock()
	p.conns[c], p.conns[s] = struct{}{}, struct{}{}
	p.mu.Unlock()
	end := func() {
		c.Close()
		s.Close()
	}
	go func() {
		defer end()
		p.relay(c, s, client)
	}()
	defer end()
	p.relay(s, c, server)
}

func (p *proxy) relay(from, to net.Conn, s side) {
	r := bufio.NewReader(from)
	for first := s == client; ; first = false {
		m, err := readMessage(r, first)
		if err != nil || !p.pass(s, m.kind) {
			return
		}
		if _, err := to.Write(m.raw); err != nil {
			return
		}
	}
}
