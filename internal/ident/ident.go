package ident

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"time"
)

// NewRun returns a run ID, a UUID of version 7. Run IDs sort by creation time, which
// is now, in nanoseconds since 1970.
func NewRun(now int64) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	ms := uint64(now / 1e6)
	hi := ms<<16 | 7<<12 | uint64(b[6]&0x0f)<<8 | uint64(b[7])
	lo := binary.BigEndian.Uint64(b[8:])&^(3<<62) | 2<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", hi>>32, hi>>16&0xffff, hi&0xffff, lo>>48, lo&0xffffffffffff)
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
