package postgres

import (
	"encoding/binary"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"
)

// Columns are written by hand: each commit sends one array for each column of what it
// writes. The driver makes a value of each element, asks for its encoder and lets its buffer
// grow by and by; that was a seventh of what a commit allocates. The bytes are the same.

// writeColumns lets a connection write lists of texts and numbers by hand.
func writeColumns(types *pgtype.Map) {
	for _, oid := range []uint32{pgtype.TextArrayOID, pgtype.Int8ArrayOID} {
		if t, is := types.TypeForOID(oid); is {
			if codec, is := t.Codec.(*pgtype.ArrayCodec); is {
				types.RegisterType(&pgtype.Type{Name: t.Name, OID: oid, Codec: columnCodec{codec}})
			}
		}
	}
}

// columnCodec is the codec of an array, with plans of its own for columns.
type columnCodec struct{ *pgtype.ArrayCodec }

// PlanEncode implements pgtype.Codec.
func (c columnCodec) PlanEncode(types *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if format == pgtype.BinaryFormatCode {
		switch value.(type) {
		case []string:
			if c.ElementType.OID == pgtype.TextOID {
				return textColumn{}
			}
		case []int64:
			if c.ElementType.OID == pgtype.Int8OID {
				return numberColumn{}
			}
		}
	}
	return c.ArrayCodec.PlanEncode(types, oid, format, value)
}

const arrayHead = 5 * 4 // bytes

// appendHead begins an array of one dimension, with room for the bytes of its elements.
func appendHead(buf []byte, of uint32, length, size int) []byte {
	buf = slices.Grow(buf, arrayHead+size)
	for _, n := range [...]uint32{1, 0, of, uint32(length), 1} { // dimensions, NULLs, type, length, first index
		buf = binary.BigEndian.AppendUint32(buf, n)
	}
	return buf
}

// textColumn writes a []string.
type textColumn struct{}

// Encode implements pgtype.EncodePlan.
func (textColumn) Encode(value any, buf []byte) ([]byte, error) {
	column := value.([]string)
	if column == nil {
		return nil, nil
	}
	size := 0
	for _, s := range column {
		size += 4 + len(s)
	}
	buf = appendHead(buf, pgtype.TextOID, len(column), size)
	for _, s := range column {
		buf = append(binary.BigEndian.AppendUint32(buf, uint32(len(s))), s...)
	}
	return buf, nil
}

// numberColumn writes a []int64.
type numberColumn struct{}

// Encode implements pgtype.EncodePlan.
func (numberColumn) Encode(value any, buf []byte) ([]byte, error) {
	column := value.([]int64)
	if column == nil {
		return nil, nil
	}
	buf = appendHead(buf, pgtype.Int8OID, len(column), (4+8)*len(column))
	for _, n := range column {
		buf = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(buf, 8), uint64(n))
	}
	return buf, nil
}
