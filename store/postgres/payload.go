package postgres

import (
	"bytes"
	"encoding/hex"
	"unicode/utf8"
	"unsafe"
)

// bytePrefix begins a column whose bytes are not text.
const bytePrefix = `\x`

// payload returns the stored form of opaque bytes: unchanged if they are text, so that the
// tables can be read, otherwise in PostgreSQL's notation for bytea. The string may share
// the bytes, which must not change while a statement uses it.
func payload(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 || bytes.HasPrefix(b, []byte(bytePrefix)) {
		return bytePrefix + hex.EncodeToString(b)
	}
	return unsafe.String(&b[0], len(b))
}

// opaque reads such a column. It does not distinguish no bytes from no value.
type opaque []byte

// ScanBytes implements pgtype.BytesScanner. It must not keep v.
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
