package postgres

import (
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
)

// buffers are what a connection encodes its statements into. The driver drops its own ones after
// each batch if that was longer than 1,024 bytes, or a parameter longer than 256, and grows new
// ones step by step: for a busy engine a third of all that is allocated. These live as long as
// the connection, and are lent to the driver: the bytes that it sends are the same.
type buffers struct {
	params []byte // of one statement
	wire   []byte // of one batch
	sent   int    // bytes of columns since wire was lent
	usual  int    // the most of these lately
	lent   bool   // the driver sends a batch of ours: what others encode must not share memory
}

const (
	ownBuffer  = 1 << 10 // the driver keeps buffers up to this
	keptBuffer = 1 << 20 // and these up to this
	wireExtra  = 1 << 12 // what a batch has beside its columns
)

// buffersOf returns the buffers of a connection, nil if it is not one of the store's.
func buffersOf(c *pgx.Conn) *buffers {
	b, _ := c.PgConn().CustomData()[buffersKey].(*buffers)
	return b
}

const buffersKey = "github.com/perdure/perdure/store/postgres buffers"

// keepBuffers gives a connection buffers that it keeps.
func keepBuffers(c *pgx.Conn) {
	b := &buffers{}
	c.PgConn().CustomData()[buffersKey] = b
	writeColumns(c.TypeMap(), b)
}

// grow returns buf with room for n more bytes: in the kept buffer, unless it is there already. The
// driver begins with a buffer of its own for each statement, and has sent the one before by then.
func (b *buffers) grow(buf []byte, n int) []byte {
	if b == nil || !b.lent || buf == nil {
		return slices.Grow(buf, n)
	}
	b.sent += n
	switch {
	case cap(buf)-len(buf) >= n:
		return buf
	case len(buf)+n > keptBuffer:
		return slices.Grow(buf, n)
	}
	if cap(b.params) < len(buf)+n {
		b.params = slices.Grow(make([]byte, 0, 2*cap(b.params)), len(buf)+n)
	}
	return append(b.params[:0], buf...)
}

// lend lends the driver the buffers for the next batch, until takeBack. They are as long as the
// batches were lately.
func (b *buffers) lend(to *pgproto3.Frontend) {
	b.lent = true
	b.usual = max(b.sent, b.usual-b.usual/16)
	b.sent = 0
	need := b.usual + b.usual/4 + wireExtra
	if cap(b.params) > 4*need {
		b.params = nil
	}
	if b.usual <= ownBuffer || need > keptBuffer {
		return
	}
	if cap(b.wire) < need || cap(b.wire) > 4*need {
		b.wire = make([]byte, 0, need)
	}
	to.Send((*loan)(b))
}

// takeBack ends a loan. The driver has sent what it encoded.
func (b *buffers) takeBack() { b.lent = false }

// loan is a message without content. Encoding it moves what the driver has not sent yet, usually
// nothing, into the lent buffer, to which the driver then appends.
type loan buffers

// Encode implements pgproto3.Message.
func (b *loan) Encode(dst []byte) ([]byte, error) { return append(b.wire[:0], dst...), nil }

// Decode implements pgproto3.Message. There is nothing to decode.
func (*loan) Decode([]byte) error { return nil }

// Frontend implements pgproto3.FrontendMessage.
func (*loan) Frontend() {}
