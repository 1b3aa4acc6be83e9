package human

import (
	"strconv"
	"strings"
	"time"
)

// Moment reads a time as people write it: how long ago it is (90m, 24h, 7d), or in full.
func Moment(text string, now time.Time) (t time.Time, ok bool) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, true
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.Add(-time.Duration(n) * 24 * time.Hour), true
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), true
	}
	return time.Time{}, false
}
