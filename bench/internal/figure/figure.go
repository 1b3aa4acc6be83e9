package figure

import (
	"fmt"
	"math"
	"strconv"
)

// Thousands writes an integer with commas.
func Thousands[N ~int | ~int64](n N) string {
	text := strconv.FormatInt(int64(n), 10)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// Significant rounds a number to some significant digits.
func Significant(v float64, digits int) string {
	if v == 0 {
		return "0"
	}
	unit := lastDigit(v, digits)
	v = math.Round(v/unit) * unit
	if math.Abs(v) >= 1000 {
		return Thousands(int64(math.Round(v)))
	}
	unit = lastDigit(v, digits) // 9.99 may have become 10
	decimals := max(0, -int(math.Round(math.Log10(unit))))
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// lastDigit is the value of the last digit that counts.
func lastDigit(v float64, digits int) float64 {
	return math.Pow(10, math.Floor(math.Log10(math.Abs(v))+1e-9)-float64(digits-1))
}

// Bytes writes a size.
func Bytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB"}
	v, i := float64(n), 0
	for v >= 1024 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	return fmt.Sprintf("%s %s", Significant(v, 3), units[i])
}
