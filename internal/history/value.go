package history

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// This file compares values. Whoever repeats a request may write the same JSON in another
// way: other programs have another order of members, other spaces, other escapes and other
// spellings of a number.

// Equal reports whether two payloads hold the same value. Payloads in JSON are compared by
// value, all others by their bytes. Numbers are compared exactly, as decimals.
func (p Payload) Equal(q Payload) bool {
	switch {
	case p.Encoding != q.Encoding:
		return false
	case bytes.Equal(p.Data, q.Data):
		return true
	}
	return p.Encoding == EncodingJSON && bytes.Equal(p.canonical().Data, q.canonical().Data)
}

// canonical returns the payload in a form that is the same for equal values. It is that of
// encoding/json for a value of maps, slices, texts and numbers. Data that is not valid JSON
// is returned unchanged.
func (p Payload) canonical() Payload {
	if p.Encoding != EncodingJSON {
		return p
	}
	decoder := json.NewDecoder(bytes.NewReader(p.Data))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return p
	}
	data, err := json.Marshal(withNumbers(v))
	if err != nil {
		return p
	}
	return Payload{Encoding: EncodingJSON, Data: data}
}

// withNumbers writes all numbers of a decoded value in their canonical form.
func withNumbers(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = withNumbers(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = withNumbers(v[name])
		}
	case json.Number:
		return json.Number(canonicalNumber(string(v)))
	}
	return v
}

// Numbers from plainFrom to plainUntil zeros around their digits are written without an
// exponent, as encoding/json does.
const (
	plainFrom  = -6
	plainUntil = 21
)

// maxExponent is the greatest exponent of a number that is compared by value. A number
// beyond it equals only its own spelling.
const maxExponent = 1 << 30

// canonicalNumber returns the spelling that all JSON numbers of one value share.
func canonicalNumber(s string) string {
	mantissa, exponent := s, 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		n, err := strconv.Atoi(s[i+1:])
		if err != nil || n > maxExponent || n < -maxExponent {
			return s
		}
		mantissa, exponent = s[:i], n
	}
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	point := exponent + len(digits) - len(fraction) // of the decimal point, counted from the first digit
	digits = strings.TrimRight(digits, "0")
	if digits == "" {
		return "0"
	}
	sign := ""
	if negative {
		sign = "-"
	}
	switch {
	case point <= plainFrom || point > plainUntil:
		if point--; len(digits) > 1 {
			digits = digits[:1] + "." + digits[1:]
		}
		if point > 0 {
			return sign + digits + "e+" + strconv.Itoa(point)
		}
		return sign + digits + "e" + strconv.Itoa(point)
	case point <= 0:
		return sign + "0." + strings.Repeat("0", -point) + digits
	case point >= len(digits):
		return sign + digits + strings.Repeat("0", point-len(digits))
	}
	return sign + digits[:point] + "." + digits[point:]
}
