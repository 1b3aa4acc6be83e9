package postgres

import (
	"bytes"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"
	"pgregory.net/rapid"
)

// line is what the driver does for the batches of a connection, and what it sends.
type line struct {
	types   *pgtype.Map
	builder pgx.ExtendedQueryBuilder
	to      *pgproto3.Frontend
	sent    bytes.Buffer
	own     *buffers // nil: the driver's alone
}

func newLine(own *buffers) *line {
	l := &line{types: pgtype.NewMap(), own: own}
	l.to = pgproto3.NewFrontend(nil, &l.sent)
	if own != nil {
		writeColumns(l.types, own)
	}
	return l
}

// send sends a batch of statements, as pgx.Conn does.
func (l *line) send(t rapid.TB, batch [][]any) {
	if l.own != nil {
		l.own.lend(l.to)
		defer l.own.takeBack()
	}
	for _, args := range batch {
		sd := &pgconn.StatementDescription{}
		for _, arg := range args {
			switch arg.(type) {
			case []string:
				sd.ParamOIDs = append(sd.ParamOIDs, pgtype.TextArrayOID)
			case []int64:
				sd.ParamOIDs = append(sd.ParamOIDs, pgtype.Int8ArrayOID)
			default:
				sd.ParamOIDs = append(sd.ParamOIDs, pgtype.TextOID)
			}
		}
		if err := l.builder.Build(l.types, sd, args); err != nil {
			t.Fatal(err)
		}
		l.to.SendBind(&pgproto3.Bind{ParameterFormatCodes: l.builder.ParamFormats, Parameters: l.builder.ParamValues})
		l.to.SendExecute(&pgproto3.Execute{})
	}
	l.to.SendSync(&pgproto3.Sync{})
	if err := l.to.Flush(); err != nil {
		t.Fatal(err)
	}
}

// TestLentBuffersSendTheSame: whatever batches a connection sends, with its own buffers the driver
// sends the same bytes as with the driver's.
func TestLentBuffersSendTheSame(t *testing.T) {
	texts := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 6), func(n int) string { return strings.Repeat("é", 1<<(2*n)) }), 0, 20)
	arg := rapid.OneOf(
		rapid.Map(texts, func(s []string) any { return s }),
		rapid.Map(rapid.SliceOf(rapid.Int64()), func(n []int64) any { return n }),
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Just[any]([]string(nil)),
		rapid.Just[any]([]string{strings.Repeat("x", keptBuffer)}),
	)
	batches := rapid.SliceOfN(rapid.SliceOfN(rapid.SliceOfN(arg, 0, 5), 0, 5), 0, 6)
	rapid.Check(t, func(t *rapid.T) {
		theirs, ours := newLine(nil), newLine(&buffers{})
		for i, batch := range batches.Draw(t, "batches") {
			theirs.send(t, batch)
			ours.send(t, batch)
			if !bytes.Equal(theirs.sent.Bytes(), ours.sent.Bytes()) {
				t.Fatalf("after batch %d other bytes are sent", i)
			}
		}
		if cap(ours.own.params) > 2*keptBuffer || cap(ours.own.wire) > 2*keptBuffer {
			t.Fatalf("%d and %d bytes are kept", cap(ours.own.params), cap(ours.own.wire))
		}
	})
}

// TestBuffersAreLentToOurBatchesAlone: what a hook encodes with the types of its connection does
// not share memory.
func TestBuffersAreLentToOurBatchesAlone(t *testing.T) {
	l := newLine(&buffers{})
	for range 2 {
		l.send(t, [][]any{{[]string{strings.Repeat("x", 2*ownBuffer)}}})
	}
	encode := func(s string, into []byte) []byte {
		b, err := l.types.Encode(pgtype.TextArrayOID, pgtype.BinaryFormatCode, []string{s}, into)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	first := encode("first", nil)
	before := string(first)
	encode("later", nil)
	encode("later", make([]byte, 0, 1))
	l.own.lend(l.to)
	encode("later", nil)
	l.own.takeBack()
	if string(first) != before {
		t.Errorf("it was %q and is %q", before, first)
	}
}

// BenchmarkBatch is a batch of ten statements of a hundred rows each.
func BenchmarkBatch(b *testing.B) {
	column := make([]string, 100)
	for i := range column {
		column[i] = strings.Repeat("x", 50)
	}
	var batch [][]any
	for range 10 {
		batch = append(batch, []any{column, make([]int64, 100)})
	}
	for name, own := range map[string]*buffers{"driver": nil, "lent": {}} {
		b.Run(name, func(b *testing.B) {
			l := newLine(own)
			b.ReportAllocs()
			for b.Loop() {
				l.sent.Reset()
				l.send(b, batch)
			}
		})
	}
}
