package postgres

import (
	"bytes"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
)

// TestColumnsAreWrittenAsTheDriverDoes: byte for byte, behind what is in the buffer, and other
// values than columns are left to the driver.
func TestColumnsAreWrittenAsTheDriverDoes(t *testing.T) {
	theirs, ours := pgtype.NewMap(), pgtype.NewMap()
	writeColumns(ours, &buffers{})
	long := string(bytes.Repeat([]byte("é"), 10_000))
	for _, c := range []struct {
		oid    uint32
		value  any
		driver bool
	}{
		{pgtype.TextArrayOID, []string{"a", "", long, "NULL", "{\"x\":\\"}, false},
		{pgtype.TextArrayOID, []string{}, false},
		{pgtype.TextArrayOID, []string(nil), false},
		{pgtype.TextArrayOID, []*string{nil, &long}, true},
		{pgtype.ByteaArrayOID, runIDs{"0192f000-0000-7000-8000-00000000002a", "", "#gate/0/stripe", "run-1", "of fifteen char", long}, false},
		{pgtype.ByteaArrayOID, runIDs{}, false},
		{pgtype.ByteaArrayOID, runIDs(nil), false},
		{pgtype.ByteaArrayOID, [][]byte{{1}, {}}, true},
		{pgtype.Int8ArrayOID, []int64{0, 1, -1, 1<<63 - 1, -1 << 63}, false},
		{pgtype.Int8ArrayOID, []int64{}, false},
		{pgtype.Int8ArrayOID, []int64(nil), false},
		{pgtype.Int8ArrayOID, []int{7}, true},
		{pgtype.Int4ArrayOID, []int64{7}, true},
		{pgtype.VarcharArrayOID, []string{"a"}, true},
		{pgtype.BoolArrayOID, []bool{true}, true},
	} {
		for _, format := range []int16{pgtype.BinaryFormatCode, pgtype.TextFormatCode} {
			before := []byte("before")
			want, err := theirs.Encode(c.oid, format, c.value, slices.Clone(before))
			if err != nil {
				t.Fatal(err)
			}
			got, err := ours.Encode(c.oid, format, c.value, slices.Clone(before))
			if err != nil || !bytes.Equal(got, want) || (got == nil) != (want == nil) {
				t.Errorf("%T in format %d: %v\n%q, want\n%q", c.value, format, err, got, want)
			}
		}
		var byHand bool
		switch ours.PlanEncode(c.oid, pgtype.BinaryFormatCode, c.value).(type) {
		case textColumn, runIDColumn, numberColumn:
			byHand = true
		}
		if byHand == c.driver {
			t.Errorf("%T of type %d: by hand %t", c.value, c.oid, byHand)
		}
		if a, b := theirs.FormatCodeForOID(c.oid), ours.FormatCodeForOID(c.oid); a != b {
			t.Errorf("type %d has format %d, want %d", c.oid, b, a)
		}
	}
}
