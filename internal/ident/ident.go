package ident

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"strings"
	"time"
)

// NewRun returns a run ID, a UUID of version 7. Run IDs sort by creation time, which
// is now, in nanoseconds since 1970.
func NewRun(now int64) string {
	b := startingAt(uint64(now / 1e6))
	_, _ = rand.Read(b[6:]) // never fails
	b[6], b[8] = b[6]&0x0f|7<<4, b[8]&0x3f|2<<6
	return RunOf(b)
}

// startingAt returns the bytes of a run ID that begin with a time in milliseconds.
func startingAt(ms uint64) (b [16]byte) {
	binary.BigEndian.PutUint32(b[:], uint32(ms>>16))
	binary.BigEndian.PutUint16(b[4:], uint16(ms))
	return b
}

// IsRun reports whether a text has the form of a run ID.
func IsRun(text string) bool {
	_, is := RunBytes(text)
	return is
}

const digits = "0123456789abcdef"

var (
	// digitValues are the values of the digits, and 0xff for every other character.
	digitValues = func() (v [256]byte) {
		for c := range v {
			v[c] = byte(strings.IndexByte(digits, byte(c)))
		}
		return v
	}()
	// places are where the two digits of each byte stand in the text of a run ID, between hyphens.
	places = [16]int{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34}
)

// RunBytes returns the bytes that a run ID is the text of, if a text has that form. They
// have the order of the texts.
func RunBytes(text string) (b [16]byte, is bool) {
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return b, false
	}
	for i, at := range places {
		high, low := digitValues[text[at]], digitValues[text[at+1]]
		if high|low > 15 {
			return b, false
		}
		b[i] = high<<4 | low
	}
	return b, true
}

// RunOf returns the run ID of its bytes.
func RunOf(b [16]byte) string {
	text := [36]byte{8: '-', 13: '-', 18: '-', 23: '-'}
	for i, at := range places {
		text[at], text[at+1] = digits[b[i]>>4], digits[b[i]&15]
	}
	return string(text[:])
}

// RunFloor returns a text of the form of a run ID that is not greater than the ID of any
// run created at that time or later. A run ID may be ahead of the creation time of its run;
// see core.RunTimeAfter.
func RunFloor(at time.Time) string {
	return RunOf(startingAt(uint64(max(at.UnixMilli(), 0))))
}

// Above is Below in the other direction.
func Above(id string) string {
	b, is := RunBytes(id)
	if !is {
		return id + "\x01"
	}
	for i := len(b) - 1; i >= 0; i-- {
		if b[i]++; b[i] != 0 {
			return RunOf(b)
		}
	}
	return id + "\x01"
}

// Below returns a text that is less than a run ID, with no run ID between them. It has the form of
// one if that has it, so that it has the same place among them however they are stored.
func Below(id string) string {
	b, is := RunBytes(id)
	switch {
	case !is:
		return id[:max(len(id)-1, 0)]
	case b == [16]byte{}:
		return ""
	}
	for i := len(b) - 1; i >= 0; i-- {
		if b[i]--; b[i] != 0xff {
			break
		}
	}
	return RunOf(b)
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
