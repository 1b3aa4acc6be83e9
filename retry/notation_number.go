package retry

import (
	"cmp"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// timeUnit is a unit of time in the notation.
type timeUnit struct {
	name string
	size uint64 // in nanoseconds
}

// units are those that can be read, the longest first: the parts of a sum stand
// in this order.
var units = []timeUnit{
	{"d", uint64(24 * time.Hour)}, {"h", uint64(time.Hour)}, {"m", uint64(time.Minute)}, {"s", uint64(time.Second)},
	{"ms", uint64(time.Millisecond)}, {"us", uint64(time.Microsecond)}, {"µs", uint64(time.Microsecond)},
	{"μs", uint64(time.Microsecond)}, {"ns", 1},
}

const (
	aDuration = "a duration such as 60 (seconds), 500ms, 1.5s, 1h30m or forever"
	aUnit     = "one of the units ms, s, m, h and d"
)

// duration reads a duration: a number of seconds, a sum of numbers with units,
// or forever.
func (s *scanner) duration() (time.Duration, error) {
	start := s.next()
	if s.keyword(foreverText) {
		return Forever, nil
	}
	var total uint64
	for longer := uint64(math.MaxUint64); ; s.space() {
		at := s.at
		whole, fraction, ok := s.decimal()
		if !ok {
			s.at = at
			return 0, s.fail(start, "is not a duration", aDuration)
		}
		size, named, err := s.unit(at, longer)
		if err != nil {
			return 0, err
		}
		var fits, exact bool
		if total, fits, exact = addTime(total, whole, fraction, size); !exact {
			return 0, s.fail(start, "is finer than a nanosecond", "a whole number of nanoseconds")
		}
		if !fits {
			return 0, s.fail(start, "is too long", "at most "+notationDuration(Forever-1)+", or forever")
		}
		longer = size
		if !named || !s.digitFollows() {
			return time.Duration(total), nil
		}
	}
}

// digitFollows reports whether the next word begins with a digit.
func (s *scanner) digitFollows() bool {
	ahead := *s
	ahead.space()
	return isDigit(rune(ahead.peek()))
}

// unit reads the unit of the number that began at an offset; it has to be
// shorter than the one before it. Without one it is the second, if the number
// stands alone.
func (s *scanner) unit(number int, longer uint64) (size uint64, named bool, err error) {
	first, behind := longer == math.MaxUint64, s.at
	at := s.next()
	name := s.while(unicode.IsLetter)
	if name == "" {
		if s.at = behind; first {
			return uint64(time.Second), false, nil
		}
		return 0, false, s.fail(number, "has no unit", aUnit+", as the number before it")
	}
	for _, u := range units {
		if u.name != name {
			continue
		}
		if u.size >= longer {
			return 0, false, s.fail(at, "does not come after a longer unit", "the parts of a sum from the longest unit to the shortest, each once")
		}
		return u.size, true, nil
	}
	return 0, false, s.fail(at, "is not a unit", aUnit)
}

// addTime adds whole.fraction times a unit to a sum of nanoseconds.
func addTime(total uint64, whole, fraction string, size uint64) (sum uint64, fits, exact bool) {
	fraction = strings.TrimRight(fraction, "0")
	// A day has 2^16 * 3^3 * 5^11 nanoseconds: more than 16 digits are finer.
	if len(fraction) > 16 {
		return 0, true, false
	}
	var part uint64
	if fraction != "" {
		digits, _ := strconv.ParseUint(fraction, 10, 64) // cannot fail: 16 digits
		scale := uint64(math.Pow10(len(fraction)))
		hi, lo := bits.Mul64(digits, size)
		quotient, rest := bits.Div64(hi, lo, scale) // digits < scale, so it fits
		if rest != 0 {
			return 0, true, false
		}
		part = quotient
	}
	count, err := strconv.ParseUint(whole, 10, 64)
	hi, lo := bits.Mul64(count, size)
	if err != nil || hi != 0 || lo > math.MaxInt64 {
		return 0, false, true
	}
	// Each of the three is below 2^63 + 2^47, so their sum cannot wrap twice.
	sum = lo + part
	if sum >= math.MaxInt64 || total >= math.MaxInt64-sum {
		return 0, false, true
	}
	return total + sum, true, true
}

// decimal reads digits, and more of them behind a point.
func (s *scanner) decimal() (whole, fraction string, ok bool) {
	if whole = s.while(isDigit); whole == "" {
		return "", "", false
	}
	if s.peek() != '.' {
		return whole, "", true
	}
	s.at++
	fraction = s.while(isDigit)
	return whole, fraction, fraction != ""
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// count reads a whole number up to a limit.
func (s *scanner) count(least, most int, problem, expected string) (int, error) {
	at := s.next()
	token := s.tokenAt(at)
	if !isDigits(token) {
		return 0, s.fail(at, problem, expected)
	}
	n, err := strconv.Atoi(token)
	if err != nil || n < least || n > most {
		return 0, s.fail(at, "is out of range", expected)
	}
	s.at += len(token)
	return n, nil
}

// factor reads a decimal number of 1 or more.
func (s *scanner) factor() (float64, error) {
	start := s.next()
	const expected = "a number of 1 or more, such as 1.5"
	if _, _, ok := s.decimal(); !ok {
		s.at = start
		return 0, s.fail(start, "is not a factor", expected)
	}
	c, err := strconv.ParseFloat(s.text[start:s.at], 64)
	if err != nil || c < 1 {
		s.at = start
		return 0, s.fail(start, "is out of range", expected)
	}
	return c, nil
}

// percent reads a percentage from 0 to 100 as a number from 0 to 1. The point is
// moved in the text, so that 7% is exactly the number that Go calls 0.07.
func (s *scanner) percent() (p float64, ok bool) {
	start := s.next()
	whole, fraction, ok := s.decimal()
	if !ok || !s.mark("%") {
		s.at = start
		return 0, false
	}
	p, err := strconv.ParseFloat(shiftPoint(whole, fraction, -2), 64)
	if err != nil || p > 1 {
		s.at = start
		return 0, false
	}
	return p, true
}

// shiftPoint moves the decimal point of whole.fraction to the right, or to the
// left by a negative number of places.
func shiftPoint(whole, fraction string, places int) string {
	if places < 0 {
		whole = strings.Repeat("0", -places) + whole
	} else {
		fraction += strings.Repeat("0", places)
	}
	digits, point := whole+fraction, len(whole)+places
	whole, fraction = cmp.Or(strings.TrimLeft(digits[:point], "0"), "0"), strings.TrimRight(digits[point:], "0")
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}
