package pgbubble

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// A connection of the driver belongs to its bubble. A session of the server need not: to begin
// one takes the server longer than most tests take it. So the last one to close a connection
// leaves the session, reset, to the next one who asks for the same.

// sessions are those that nobody uses, by the wishes with which they began.
var sessions = struct {
	sync.Mutex
	idle map[string][]*session
}{idle: map[string][]*session{}}

// session is one of the server.
type session struct {
	net.Conn
	begun string // with these wishes
	reply []byte // what the server said to it
	told  bool   // that is all
}

// dial returns a connection that takes a session when the driver says which it wants.
func dial(_ context.Context, network, address string) (net.Conn, error) {
	return &lent{network: network, address: address}, nil
}

// lent is a session, as the connection of one bubble.
type lent struct {
	network, address string

	mu      sync.Mutex // the driver reads and writes at the same time
	session *session   // nil before the first message
	reply   []byte     // of a session that was begun before, which the driver has yet to read
	said    frames
	asked   bool // something, since the server was ready
	reading bool
}

// startup is the version of the protocol in the message that begins a session. Another first
// message, such as that which cancels, begins none.
const startup = 196608

// wishes are the parameters of the message that begins a session; the driver says them in any order.
func wishes(message []byte) string {
	words := strings.Split(string(message[8:]), "\x00")
	var all []string
	for pair := range slices.Chunk(words, 2) {
		all = append(all, strings.Join(pair, "="))
	}
	slices.Sort(all)
	return strings.Join(all, "\x00")
}

var terminate = []byte{'X', 0, 0, 0, 4}

// Write sends what the driver says; the first time it finds a session for it. It does not send
// that the session is over, see Close.
func (c *lent) Write(message []byte) (int, error) {
	s, err := c.sessionFor(message)
	if err != nil {
		return 0, err
	}
	if s == nil {
		return len(message), nil
	}
	return s.Write(message)
}

// sessionFor returns where to send a message, nil if the server need not hear it.
func (c *lent) sessionFor(message []byte) (*session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != nil {
		if bytes.Equal(message, terminate) {
			return nil, nil
		}
		c.asked = true
		return c.session, nil
	}
	begins := len(message) >= 8 && binary.BigEndian.Uint32(message[4:]) == startup
	if begins {
		if c.session = takeIdle(wishes(message)); c.session != nil {
			c.reply, c.said.ready = c.session.reply, true
			return nil, nil
		}
	}
	conn, err := (&net.Dialer{}).Dial(c.network, c.address)
	if err != nil {
		return nil, err
	}
	c.session, c.asked = &session{Conn: conn}, true
	if begins {
		c.session.begun = wishes(message)
	}
	return c.session, nil
}

// takeIdle takes a session that was begun with these wishes, nil if there is none.
func takeIdle(begun string) *session {
	sessions.Lock()
	defer sessions.Unlock()
	idle := sessions.idle[begun]
	if len(idle) == 0 {
		return nil
	}
	last := len(idle) - 1
	sessions.idle[begun] = idle[:last]
	return idle[last]
}

// Read reads what the server says.
func (c *lent) Read(into []byte) (int, error) {
	c.mu.Lock()
	if n := copy(into, c.reply); n > 0 {
		c.reply = c.reply[n:]
		c.mu.Unlock()
		return n, nil
	}
	s := c.session
	c.reading = s != nil
	c.mu.Unlock()
	if s == nil {
		return 0, net.ErrClosed
	}
	n, err := s.Read(into)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reading = false
	if !s.told {
		s.reply = append(s.reply, into[:n]...)
	}
	c.said.take(into[:n])
	if c.said.ready {
		c.asked, s.told = false, true
	}
	return n, err
}

// Close leaves the session to the next one, if the server waits for what it is asked next.
func (c *lent) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.session
	if s == nil {
		return nil
	}
	c.session = nil
	if s.begun == "" || c.asked || c.reading || !c.said.ready || s.reset() != nil {
		return s.Conn.Close()
	}
	sessions.Lock()
	defer sessions.Unlock()
	sessions.idle[s.begun] = append(sessions.idle[s.begun], s)
	return nil
}

// discard is the message by which a session becomes as it was at first.
var discard = append([]byte{'Q', 0, 0, 0, 4 + 12}, "DISCARD ALL\x00"...)

// reset makes the session as it was at first.
func (s *session) reset() error {
	if err := s.SetDeadline(time.Time{}); err != nil {
		return err
	}
	if _, err := s.Write(discard); err != nil {
		return err
	}
	var read frames
	answer := make([]byte, 4096)
	for !read.ready {
		n, err := s.Conn.Read(answer)
		if err != nil {
			return err
		}
		if read.take(answer[:n]); read.failed {
			return errors.New("the session cannot be reset")
		}
	}
	return nil
}

// frames follows what the server says: messages of a letter, their length and as many bytes.
type frames struct {
	head   []byte // of the message that is being read
	left   int    // of its body
	ready  bool   // the last message said that the server is ready and in no transaction
	failed bool   // a message was an error
}

// take takes in what was read, in whatever pieces.
func (f *frames) take(said []byte) {
	for len(said) > 0 {
		f.ready = false
		if missing := 5 - len(f.head); missing > 0 {
			n := min(missing, len(said))
			f.head, said = append(f.head, said[:n]...), said[n:]
			if n < missing {
				return
			}
			f.left = int(binary.BigEndian.Uint32(f.head[1:])) - 4
		}
		n := min(f.left, len(said))
		body := said[:n]
		said, f.left = said[n:], f.left-n
		if f.left > 0 {
			return
		}
		switch f.head[0] {
		case 'Z':
			f.ready = body[0] == 'I'
		case 'E':
			f.failed = true
		}
		f.head = f.head[:0]
	}
}

func (c *lent) of(what func(net.Conn) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil {
		return nil
	}
	return what(c.session.Conn)
}

func (c *lent) SetDeadline(t time.Time) error {
	return c.of(func(conn net.Conn) error { return conn.SetDeadline(t) })
}

func (c *lent) SetReadDeadline(t time.Time) error {
	return c.of(func(conn net.Conn) error { return conn.SetReadDeadline(t) })
}

func (c *lent) SetWriteDeadline(t time.Time) error {
	return c.of(func(conn net.Conn) error { return conn.SetWriteDeadline(t) })
}

func (c *lent) LocalAddr() net.Addr  { return c.RemoteAddr() }
func (c *lent) RemoteAddr() net.Addr { return &net.UnixAddr{Name: c.address, Net: c.network} }
