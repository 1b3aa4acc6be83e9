package postgres

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/storetest"
)

// pooler is a pooler in transaction mode: each transaction of a client gets the
// session that was free for the longest time, so that no two in a row are likely
// to be the same. It refuses what needs a session, and says so.
type pooler struct {
	t        *testing.T
	listener net.Listener
	sessions chan *session
}

// session is a connection to the server.
type session struct {
	net.Conn
	r *bufio.Reader
}

const sessions = 5

func newPooler(t *testing.T) *pooler {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &pooler{t: t, listener: l, sessions: make(chan *session, sessions)}
	for range sessions {
		p.sessions <- p.connect()
	}
	t.Cleanup(func() {
		l.Close()
		for range sessions {
			(<-p.sessions).Close()
		}
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

func (p *pooler) dsn() string {
	return fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=disable", p.listener.Addr())
}

// connect opens a session at the server.
func (p *pooler) connect() *session {
	p.t.Helper()
	c, err := net.Dial("unix", pgtest.Shared(p.t).Socket())
	if err != nil {
		p.t.Fatal(err)
	}
	s := &session{c, bufio.NewReader(c)}
	if _, err := c.Write(packet(0, "\x00\x03\x00\x00user\x00postgres\x00database\x00postgres\x00\x00")); err != nil {
		p.t.Fatal(err)
	}
	for {
		m, err := readMessage(s.r, false)
		if err != nil || m.kind == 'E' {
			p.t.Fatalf("the server does not greet: %q %v", m.raw, err)
		}
		if m.kind == 'Z' {
			return s
		}
	}
}

func packet(kind byte, body string) []byte {
	var b []byte
	if kind != 0 {
		b = append(b, kind)
	}
	return append(binary.BigEndian.AppendUint32(b, uint32(len(body)+4)), body...)
}

// greeting is what a client hears when it connects.
var greeting = bytes.Join([][]byte{
	packet('R', "\x00\x00\x00\x00"),
	packet('S', "client_encoding\x00UTF8\x00"), packet('S', "standard_conforming_strings\x00on\x00"), packet('S', "server_version\x0015.0\x00"),
	packet('K', "\x00\x00\x00\x01\x00\x00\x00\x01"),
	packet('Z', "I"),
}, nil)

// serve gives one client sessions.
func (p *pooler) serve(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	start, err := readMessage(r, true)
	if err != nil || binary.BigEndian.Uint32(start.body()) != 3<<16 {
		return // a request to cancel, of which we know nothing
	}
	if p.needsSession(start) {
		return
	}
	if _, err := c.Write(greeting); err != nil {
		return
	}
	for {
		m, err := readMessage(r, false)
		if err != nil || m.kind == 'X' {
			return
		}
		s := <-p.sessions
		whole := p.transaction(c, r, s, m)
		if !whole { // a client that is gone in the middle leaves a session that nobody can use
			s.Close()
			s = p.connect()
		}
		p.sessions <- s
		if !whole {
			return
		}
	}
}

// transaction passes messages on until the server says that no transaction is
// open and the client waits for nothing.
func (p *pooler) transaction(c net.Conn, r *bufio.Reader, s *session, m message) bool {
	for {
		for { // the client sends until it waits for an answer
			if p.needsSession(m) {
				return false
			}
			if _, err := s.Write(m.raw); err != nil {
				return false
			}
			if strings.ContainsRune("SQcf", rune(m.kind)) { // also the end of what it copies
				break
			}
			var err error
			if m, err = readMessage(r, false); err != nil {
				return false
			}
		}
		for m.kind != 'Z' && m.kind != 'G' { // or until the server waits for what is copied
			var err error
			if m, err = readMessage(s.r, false); err != nil {
				return false
			}
			if _, err := c.Write(m.raw); err != nil {
				return false
			}
		}
		if m.kind == 'Z' && m.body()[0] == 'I' {
			return true
		}
		var err error
		if m, err = readMessage(r, false); err != nil || m.kind == 'X' {
			return false
		}
	}
}

// needsSession reports whether a message wants something of a session that
// outlives its transaction.
func (p *pooler) needsSession(m message) bool {
	text := strings.ToUpper(string(bytes.TrimLeft(m.body(), "\x00 \n\t")))
	fault := ""
	switch {
	case m.kind == 'P' && m.body()[0] != 0:
		fault = "a statement is prepared"
	case m.kind == 0 && strings.Contains(text, "ENABLE_SEQSCAN"):
		fault = "something is set for the session"
	case (m.kind == 'P' || m.kind == 'Q') && (strings.HasPrefix(text, "LISTEN") || strings.HasPrefix(text, "SET ") && !strings.HasPrefix(text, "SET LOCAL") || strings.Contains(text, "ADVISORY")):
		fault = "a session is needed"
	}
	if fault != "" {
		p.t.Errorf("%s: %q", fault, m.raw)
	}
	return fault != ""
}

// TestE81_TransactionModePoolersWork runs the whole suite through one.
func TestE81_TransactionModePoolersWork(t *testing.T) {
	extent.OnlyAtNight(t, "TestE81_E83_PgBouncer plays behind a real one")
	p := newPooler(t)
	var r recycled
	storetest.Run(t, func(t *testing.T) store.Opener {
		return URL(p.dsn(), Schema(r.next(t)), Partitions(3), Pooled())
	})
}

// TestWhoForgetsThePoolerIsTold opens a database through one that knows no
// settings but PostgreSQL's most common.
func TestWhoForgetsThePoolerIsTold(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := readMessage(bufio.NewReader(c), true); err == nil {
				c.Write(packet('E', "SFATAL\x00VFATAL\x00C08P01\x00Munsupported startup parameter: jit\x00\x00"))
			}
			c.Close()
		}
	}()
	url := fmt.Sprintf("postgres://me@%s/x?sslmode=disable", l.Addr())
	for _, err := range []error{
		refuses(t, URL(url), "postgres.Pooled", "pooled=true", "unsupported startup parameter"),
		refuses(t, URL(url, Pooled()), "ignore_startup_parameters", "unsupported startup parameter"),
	} {
		if store.Unavailable(err) {
			t.Error("waiting would not help")
		}
	}
}

// TestE81_AURLSaysThatItLeadsThroughAPooler: whoever names a database by a text alone, as
// OpenURL and the command do, can use a pooler in transaction mode.
func TestE81_AURLSaysThatItLeadsThroughAPooler(t *testing.T) {
	opener, err := store.Named(newPooler(t).dsn() + "&pooled=true&schema=" + freshSchema())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{TB: t, opener: opener, node: "node-1"}
	w.handle = w.another()
	w.must(w.Join(t.Context(), w.describe(w.node)))
	w.claim()
	w.created()
	if _, err := store.Named("postgres://me:secret@host/x?pooled=maybe"); err == nil || !strings.Contains(err.Error(), `not "maybe"`) || strings.Contains(err.Error(), "secret") {
		t.Errorf("another value: %v", err)
	}
}
