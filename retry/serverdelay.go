package retry

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// httpDates are the three date formats of RFC 9110, section 5.6.7; all are in
// GMT.
var httpDates = []string{"Mon, 02 Jan 2006 15:04:05 GMT", "Monday, 02-Jan-06 15:04:05 GMT", time.ANSIC}

// parseRetryAfter reads the value of an HTTP Retry-After header (RFC 9110,
// section 10.2.3): a whole number of seconds, or a date, from which it subtracts
// now. A delay too long for a Duration is the longest one. It reports false for
// anything else, such as an empty value or a negative number, and for a date that
// has passed: it asks for no delay, and the policy's backoff must not shrink to
// nothing because of a page that is kept too long or a clock that is wrong.
func parseRetryAfter(value string, now time.Time) (delay time.Duration, ok bool) {
	value = strings.TrimSpace(value)
	if isDigits(value) {
		seconds, err := strconv.ParseUint(value, 10, 64)
		if err != nil || seconds > math.MaxInt64/uint64(time.Second) {
			return math.MaxInt64, true
		}
		return time.Duration(seconds) * time.Second, true
	}
	for _, layout := range httpDates {
		if at, err := time.Parse(layout, value); err == nil {
			return at.Sub(now), at.After(now)
		}
	}
	return 0, false
}

// AfterHTTP is After with the delay of a response's Retry-After header. If the value is
// absent, unreadable or a date in the past, it returns err unchanged. now is the time to which a date is
// compared; use the response's own Date if the clocks of both sides may differ.
//
//	retry.AfterHTTP(err, resp.Header.Get("Retry-After"), time.Now())
func AfterHTTP(err error, retryAfter string, now time.Time) error {
	if delay, ok := parseRetryAfter(retryAfter, now); ok {
		return After(err, delay)
	}
	return err
}

// isDigits reports whether s is a number without a sign.
func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
