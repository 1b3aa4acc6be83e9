package retry

import (
	"math"
	"math/bits"
	"time"
)

// wide is the positive number mantissa * 2^exp with a mantissa of 128 bits,
// hi:lo, whose top bit is set.
//
// Why not float64: the schedule must not decrease with the attempt number, for
// coefficients as near to 1 as float64 has them and for attempt numbers up to
// 2^31. math.Pow is off by some units in its last place, which near 1 is more
// than one step of the schedule. Each truncated product here is off by less
// than 2^-126, so c^n for n < 2^31 is off by less than 2^-94, while one step
// is at least 2^-52. And integers are the same on every architecture, whether
// or not its compiler fuses a multiplication with an addition.
type wide struct {
	hi, lo uint64
	exp    int64
}

// wideFromUint converts v, which must not be zero.
func wideFromUint(v uint64) wide {
	shift := bits.LeadingZeros64(v)
	return wide{hi: v << shift, exp: -64 - int64(shift)}
}

// wideFromFloat converts f, which must be finite and positive.
func wideFromFloat(f float64) wide {
	fraction, exp := math.Frexp(f) // fraction in [0.5, 1) with 53 bits
	return wide{hi: uint64(math.Ldexp(fraction, 64)), exp: int64(exp) - 128}
}

// mul returns the product, its mantissa truncated to 128 bits.
func (a wide) mul(b wide) wide {
	h1, l1 := bits.Mul64(a.hi, b.hi)
	h2, l2 := bits.Mul64(a.hi, b.lo)
	h3, l3 := bits.Mul64(a.lo, b.hi)
	h4, _ := bits.Mul64(a.lo, b.lo)

	// Add up the columns; the lowest one is below what is kept.
	low, c1 := bits.Add64(l2, l3, 0)
	low, c2 := bits.Add64(low, h4, 0)
	mid, c3 := bits.Add64(l1, h2, c1)
	mid, c4 := bits.Add64(mid, h3, c2)
	high := h1 + c3 + c4

	exp := a.exp + b.exp + 128
	if high>>63 == 0 { // the product of two numbers in [1, 2) is below 4
		high = high<<1 | mid>>63
		mid = mid<<1 | low>>63
		exp--
	}
	return wide{hi: high, lo: mid, exp: exp}
}

// pow returns a^n for n >= 1 by squaring.
func (a wide) pow(n int) wide {
	result, square, set := a, a, false
	for ; ; square = square.mul(square) {
		if n&1 == 1 {
			if set {
				result = result.mul(square)
			} else {
				result, set = square, true
			}
		}
		if n >>= 1; n == 0 {
			return result
		}
	}
}

// duration rounds a number of nanoseconds, at least 1, to the nearest integer;
// what does not fit becomes the largest Duration.
func (a wide) duration() time.Duration {
	if a.exp > -65 { // 2^63 or more
		return math.MaxInt64
	}
	drop := min(-a.exp-64, 63) // fraction bits in hi
	whole, half := a.hi>>drop, a.hi>>(drop-1)&1
	if sum := whole + half; sum <= math.MaxInt64 {
		return time.Duration(sum)
	}
	return math.MaxInt64
}

// scale returns d * c^n for d > 0, a finite c >= 1 and n >= 1, rounded to the
// nanosecond and capped at the largest Duration.
func scale(d time.Duration, c float64, n int) time.Duration {
	return wideFromUint(uint64(d)).mul(wideFromFloat(c).pow(n)).duration()
}
