package postgres

import (
	"bytes"
	"encoding/hex"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/perdure/perdure/internal/ident"
)

// Columns of run IDs are bytes: a UUID takes 16 of them, where its text takes 36, in each row
// that belongs to a run and again in its key. Entities (gates, schedules, books of trials)
// have names in the same columns, which begin with a zero byte. The functions run_id and
// run_bytes of the schema do the same as those here.
//
// UUIDs are in the order of their texts, and names in that of theirs. Names come first, as
// UUIDs of version 7 begin with their time: since 1975 that is more than a zero and the "#"
// with which names begin.

// runID is a run ID as a parameter and as the destination of a column, "" for no run.
type runID string

// runIDs is a column of run IDs.
type runIDs []string

const runSize = 16 // of a UUID

// appendRun appends the stored form of a run ID. No two IDs have the same.
func appendRun(buf []byte, id string) []byte {
	if b, is := ident.RunBytes(id); is {
		return append(buf, b[:]...)
	}
	if id == "" {
		return buf
	}
	buf = append(append(buf, 0), id...)
	if 1+len(id) == runSize {
		buf = append(buf, 0) // it would be read as a UUID
	}
	return buf
}

// BytesValue implements pgtype.BytesValuer.
func (r runID) BytesValue() ([]byte, error) {
	return appendRun(make([]byte, 0, runSize), string(r)), nil
}

// ScanBytes implements pgtype.BytesScanner. It must not keep v.
func (r *runID) ScanBytes(v []byte) error {
	if len(v) == runSize {
		*r = runID(ident.RunOf([runSize]byte(v)))
	} else {
		*r = runID(bytes.Trim(v, "\x00"))
	}
	return nil
}

// TextValue implements pgtype.TextValuer: other drivers, and connections that do not ask for
// the types of parameters, send the server's notation.
func (r runID) TextValue() (pgtype.Text, error) {
	return pgtype.Text{String: bytePrefix + hex.EncodeToString(appendRun(nil, string(r))), Valid: true}, nil
}

// Dimensions implements pgtype.ArrayGetter, for connections without our codecs.
func (c runIDs) Dimensions() []pgtype.ArrayDimension {
	if c == nil {
		return nil
	}
	return []pgtype.ArrayDimension{{Length: int32(len(c)), LowerBound: 1}}
}

// Index implements pgtype.ArrayGetter.
func (c runIDs) Index(i int) any { return runID(c[i]) }

// IndexType implements pgtype.ArrayGetter.
func (c runIDs) IndexType() any { return runID("") }

// TextValue implements pgtype.TextValuer, as that of runID.
func (c runIDs) TextValue() (pgtype.Text, error) {
	text, err := types.Encode(pgtype.TextArrayOID, pgtype.TextFormatCode, column(len(c), func(i int) string {
		t, _ := runID(c[i]).TextValue() // has no error
		return t.String
	}), nil)
	return pgtype.Text{String: string(text), Valid: c != nil}, err
}

// runColumn is column for run IDs.
func runColumn(n int, id func(i int) string) runIDs { return column(n, id) }
