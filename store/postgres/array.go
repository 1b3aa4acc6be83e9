package postgres

import (
	"encoding/binary"

	"github.com/jackc/pgx/v5/pgtype"
)

// Array columns are encoded by hand: each commit sends one array for each column that it
// writes. The driver boxes each element, looks up its encoder and grows its buffer step by
// step, which was a seventh of a commit's allocations. The bytes are the same.

// writeColumns makes a connection encode lists of texts, run IDs and numbers by hand, in its buffers.
func writeColumns(types *pgtype.Map, in *buffers) {
	for _, oid := range []uint32{pgtype.TextArrayOID, pgtype.ByteaArrayOID, pgtype.Int8ArrayOID} {
		if t, is := types.TypeForOID(oid); is {
			if codec, is := t.Codec.(*pgtype.ArrayCodec); is {
				types.RegisterType(&pgtype.Type{Name: t.Name, OID: oid, Codec: columnCodec{codec, in}})
			}
		}
	}
}

// columnCodec is the codec of an array, with its own plans for columns.
type columnCodec struct {
	*pgtype.ArrayCodec
	in *buffers
}

// PlanEncode implements pgtype.Codec.
func (c columnCodec) PlanEncode(types *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if format == pgtype.BinaryFormatCode {
		switch value.(type) {
		case []string:
			if c.ElementType.OID == pgtype.TextOID {
				return textColumn{c.in}
			}
		case runIDs:
			if c.ElementType.OID == pgtype.ByteaOID {
				return runIDColumn{c.in}
			}
		case []int64:
			if c.ElementType.OID == pgtype.Int8OID {
				return numberColumn{c.in}
			}
		}
	}
	return c.ArrayCodec.PlanEncode(types, oid, format, value)
}

const arrayHead = 5 * 4 // bytes

// appendHead appends the header of a one-dimensional array and reserves space for its
// elements.
func (b *buffers) appendHead(buf []byte, of uint32, length, size int) []byte {
	buf = b.grow(buf, arrayHead+size)
	for _, n := range [...]uint32{1, 0, of, uint32(length), 1} { // dimensions, NULLs, type, length, first index
		buf = binary.BigEndian.AppendUint32(buf, n)
	}
	return buf
}

// textColumn encodes a []string.
type textColumn struct{ in *buffers }

// Encode implements pgtype.EncodePlan.
func (c textColumn) Encode(value any, buf []byte) ([]byte, error) {
	column := value.([]string)
	if column == nil {
		return nil, nil
	}
	size := 0
	for _, s := range column {
		size += 4 + len(s)
	}
	buf = c.in.appendHead(buf, pgtype.TextOID, len(column), size)
	for _, s := range column {
		buf = append(binary.BigEndian.AppendUint32(buf, uint32(len(s))), s...)
	}
	return buf, nil
}

// runIDColumn encodes runIDs.
type runIDColumn struct{ in *buffers }

// Encode implements pgtype.EncodePlan.
func (c runIDColumn) Encode(value any, buf []byte) ([]byte, error) {
	column := value.(runIDs)
	if column == nil {
		return nil, nil
	}
	buf = c.in.appendHead(buf, pgtype.ByteaOID, len(column), (4+runSize)*len(column)) // names may take more
	for _, id := range column {
		head := len(buf)
		buf = appendRun(append(buf, 0, 0, 0, 0), id)
		binary.BigEndian.PutUint32(buf[head:], uint32(len(buf)-head-4))
	}
	return buf, nil
}

// numberColumn encodes a []int64.
type numberColumn struct{ in *buffers }

// Encode implements pgtype.EncodePlan.
func (c numberColumn) Encode(value any, buf []byte) ([]byte, error) {
	column := value.([]int64)
	if column == nil {
		return nil, nil
	}
	buf = c.in.appendHead(buf, pgtype.Int8OID, len(column), (4+8)*len(column))
	for _, n := range column {
		buf = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(buf, 8), uint64(n))
	}
	return buf, nil
}
