package ident

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"
)

// NewRun returns a run ID, a UUID of version 7. Run IDs sort by creation time, which
// is now, in nanoseconds since 1970.
func NewRun(now int64) string {
	var b [16]byte
	_, _ = rand.Read(b[6:]) // never fails
	ms := uint64(now / 1e6)
	binary.BigEndian.PutUint32(b[:], uint32(ms>>16))
	binary.BigEndian.PutUint16(b[4:], uint16(ms))
	b[6], b[8] = b[6]&0x0f|7<<4, b[8]&0x3f|2<<6
	text := make([]byte, 0, 36)
	for i := range b {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			text = append(text, '-')
		}
		text = hex.AppendEncode(text, b[i:i+1])
	}
	return string(text)
}

// IsRun reports whether a text has the form of a run ID.
func IsRun(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i := range len(text) {
		switch c := text[i]; i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return true
}

// RunFloor returns a text that is not greater than the ID of any run created at that
// time or later. A run ID may be ahead of the creation time of its run; see
// core.RunTimeAfter.
func RunFloor(at time.Time) string {
	ms := uint64(max(at.UnixMilli(), 0))
	return fmt.Sprintf("%08x-%04x", ms>>16&0xffffffff, ms&0xffff)
}

// NewToken returns a random name of 24 hexadecimal digits.
func NewToken() string {
	var b [12]byte
	_, _ = rand.Read(b[:])
	return fmt.Sprintf("%x", b)
}

// NewCommit returns a random positive number.
func NewCommit() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return int64(binary.BigEndian.Uint64(b[:])>>1) | 1
}
