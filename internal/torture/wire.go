package torture

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
)

// message is one of PostgreSQL's protocol, version 3.
type message struct {
	kind byte // 0: the first one of a connection, which has none
	raw  []byte
	body []byte // without kind and length
}

// maxMessage is the limit that PostgreSQL itself has.
const maxMessage = 1 << 30

var errNoMessage = errors.New("what came is not a message of PostgreSQL's protocol")

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
	size := int(binary.BigEndian.Uint32(head[len(head)-4:])) // counts itself
	if size < 4 || size > maxMessage {
		return m, errNoMessage
	}
	m.raw = append(head, make([]byte, size-4)...)
	m.body = m.raw[len(head):]
	_, err := io.ReadFull(r, m.body)
	return m, err
}

// word is the text up to the next zero byte, and what follows.
func word(b []byte) (string, []byte) {
	text, rest, _ := bytes.Cut(b, []byte{0})
	return string(text), rest
}

// Batch is what a client sends at once: all up to the message that asks the server
// for its answers.
type Batch struct {
	raw        []byte
	statements []statement
}

// statement is one that a batch has executed.
type statement struct {
	sql string
	end int // the bytes of the batch up to and including this statement
}

// batches reads what a client sends.
type batches struct {
	r        *bufio.Reader
	begun    bool
	prepared map[string]string // statements by name
}

func (s *batches) next() (*Batch, error) {
	b := &Batch{}
	for {
		m, err := readMessage(s.r, !s.begun)
		if err != nil {
			return nil, err
		}
		s.begun = true
		b.raw = append(b.raw, m.raw...)
		switch m.kind {
		case 'P': // parse
			name, rest := word(m.body)
			s.prepared[name], _ = word(rest)
		case 'B': // bind
			_, rest := word(m.body)
			name, _ := word(rest)
			b.statements = append(b.statements, statement{sql: s.prepared[name]})
		case 'E': // execute what was bound
			if n := len(b.statements); n > 0 {
				b.statements[n-1].end = len(b.raw)
			}
		case 'D', 'C': // describe, close
		default:
			return b, nil
		}
	}
}

// Runs reports whether the batch has a statement executed that contains the text,
// and the parameters of some contain the other one.
func (b *Batch) Runs(sql, parameter string) bool {
	for _, s := range b.statements {
		if strings.Contains(s.sql, sql) {
			return bytes.Contains(b.raw, []byte(parameter))
		}
	}
	return false
}

// committed reports whether the server says that a transaction is durable.
func (m message) committed() bool {
	if m.kind != 'C' {
		return false
	}
	tag, _ := word(m.body)
	return tag == "COMMIT"
}

// refuses reports whether the server refuses a commit, because somebody else owns
// a partition now.
func (m message) refuses() bool {
	return m.kind == 'E' && bytes.Contains(m.body, []byte("CPD001\x00")) && bytes.Contains(m.body, []byte("another owner"))
}
