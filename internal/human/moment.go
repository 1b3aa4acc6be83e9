package human

import (
	"strconv"
	"strings"
	"time"
)

// moments are the forms of a time. Time prints the second one; those without a zone are of the zone
// in which times are shown.
var moments = []string{time.RFC3339, "2006-01-02 15:04:05Z07:00", time.DateTime, "2006-01-02 15:04", time.DateOnly}

// Moment reads a time as people write it: how long ago it is (90m, 24h, 7d), today or yesterday,
// when they began, a date, or a time as it is shown.
func Moment(text string, now time.Time) (t time.Time, ok bool) {
	now = now.Local()
	switch text {
	case "today":
		return midnight(now, 0), true
	case "yesterday":
		return midnight(now, 1), true
	}
	for _, form := range moments {
		if t, err := time.ParseInLocation(form, text, now.Location()); err == nil {
			return t, true
		}
	}
	if d, ok := Span(text); ok && d >= 0 {
		return now.Add(-d), true
	}
	return time.Time{}, false
}

// Span reads a duration as people write it: 500ms, 1h30m or 7d.
func Span(text string) (d time.Duration, ok bool) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err == nil
	}
	d, err := time.ParseDuration(text)
	return d, err == nil
}

// midnight returns when the day began that was this number of days ago: a day may have 23 hours.
func midnight(now time.Time, days int) time.Time {
	y, m, d := now.Date()
	return time.Date(y, m, d-days, 0, 0, 0, 0, now.Location())
}
