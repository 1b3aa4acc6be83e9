package view

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// AttemptRange selects a part of the attempts of a run, which are listed by call and
// number. The zero value selects all of them. A small part is read without the attempts
// before it, and without those after it if its calls have ended.
type AttemptRange struct {
	After AttemptPlace // only attempts behind this place; zero: from the first on
	Limit int          // at most this many, up to 1,000,000; 0: all
	Call  int64        // only attempts of the call with this number; 0: all
}

// CallRange selects a part of the calls of a run, which are listed by number. The zero value
// selects all of them.
type CallRange struct {
	After int64 // only calls with a higher number
	Limit int   // at most this many, up to 1,000,000; 0: all
}

// AttemptPlace is a place among the attempts of a run. Its text is "17.3" for the third
// attempt of call 17 and "17" for the end of call 17. The zero value, whose text is
// empty, is before the first.
type AttemptPlace struct {
	Call   int64
	Number int // of the attempt, from 1; EndOfCall: behind the last
}

// EndOfCall is the Number of the place after all attempts of a call.
const EndOfCall = math.MaxInt

// Place returns the key to continue a listing after this attempt.
func (a *Attempt) Place() AttemptPlace { return AttemptPlace{Call: a.Call, Number: a.Number} }

// String returns the text of the place.
func (p AttemptPlace) String() string { return placeText(p.Call, p.Number) }

// MarshalText returns the text of the place.
func (p AttemptPlace) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads the text of a place.
func (p *AttemptPlace) UnmarshalText(text []byte) error {
	var ok bool
	if p.Call, p.Number, ok = parsePlace(string(text)); !ok {
		return &InputError{What: fmt.Sprintf("place %q", text), Problem: "is not the number of a step or attempt; write the number of a call, and with a point that of an attempt, as in 17 or 17.3"}
	}
	return nil
}

// placeText is the text of a place: of the whole alone if the part is behind the last.
func placeText(whole int64, part int) string {
	switch {
	case whole == 0 && part == 0:
		return ""
	case part == math.MaxInt:
		return strconv.FormatInt(whole, 10)
	}
	return strconv.FormatInt(whole, 10) + "." + strconv.Itoa(part)
}

// parsePlace reads the text of a place.
func parsePlace(text string) (whole int64, part int, ok bool) {
	if text == "" {
		return 0, 0, true
	}
	first, second, both := strings.Cut(text, ".")
	part = math.MaxInt
	whole, err := strconv.ParseInt(first, 10, 64)
	if both && err == nil {
		part, err = strconv.Atoi(second)
	}
	return whole, part, err == nil && whole >= 0 && part >= 0
}
