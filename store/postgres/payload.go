package postgres

import (
	"bytes"
	"encoding/hex"
	"unicode/utf8"
	"unsafe"
)

// bytePrefix begins a column whose bytes are no text.
const bytePrefix = `\x`

// payload is how opaque bytes are written: as they are if they are text, so that
// the tables can be read, else as PostgreSQL itself writes a bytea. The string
// may share the bytes, which are not changed while a statement has it.
func payload(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 || bytes.HasPrefix(b, []byte(bytePrefix)) {
		return bytePrefix + hex.EncodeToString(b)
	}
	return unsafe.String(&b[0], len(b))
}

// opaque reads such a column. No bytes and no value are the same.
type opaque []byte

// ScanBytes implements pgtype.BytesScanner; v is not ours to keep.
func (o *opaque) ScanBytes(v []byte) error {
	switch {
	case len(v) == 0:
		*o = nil
	case bytes.HasPrefix(v, []byte(bytePrefix)):
		b := make([]byte, hex.DecodedLen(len(v)-len(bytePrefix)))
		if _, err := hex.Decode(b, v[len(bytePrefix):]); err != nil {
			return err
		}
		*o = b
	default:
		*o = bytes.Clone(v)
	}
	return nil
}
