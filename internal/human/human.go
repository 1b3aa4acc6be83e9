package human

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a duration for people, with about two digits that matter: 340ms,
// 1.2s, 45s, 3m04s, 2h05m, 3d04h. Less than a microsecond is 0s. Negative ones
// have a minus.
func Duration(d time.Duration) string {
	if d < 0 {
		if d == -d { // the one that has no positive
			d++
		}
		return "-" + Duration(-d)
	}
	const day = 24 * time.Hour
	switch {
	case d < time.Microsecond:
		return "0s"
	case d < time.Millisecond:
		return fmt.Sprintf("%dµs", d/time.Microsecond)
	case d < time.Second:
		return fmt.Sprintf("%dms", d/time.Millisecond)
	case d < 10*time.Second:
		tenths := int64(d / (100 * time.Millisecond))
		if tenths%10 == 0 {
			return fmt.Sprintf("%ds", tenths/10)
		}
		return fmt.Sprintf("%d.%ds", tenths/10, tenths%10)
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/day, d%day/time.Hour)
}

// Took is how long something took; nothing if nothing ended.
func Took(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return Duration(d)
}

// When says how far a time is from now: "in 1.2s", "3m04s ago", "now".
func When(t, now time.Time) string {
	d := t.Sub(now)
	switch {
	case d >= time.Millisecond:
		return "in " + Duration(d)
	case d <= -time.Millisecond:
		return Duration(-d) + " ago"
	}
	return "now"
}

// Ago is When for a time that is not to come: what another clock puts into the future is now.
func Ago(t, now time.Time) string {
	if t.After(now) {
		return When(now, now)
	}
	return When(t, now)
}

// overdue is how long after its time a thing still happens now: that takes a moment.
const overdue = 5 * time.Second

// Until is the countdown to what is to happen at a time: "in 1.2s", "now", or, if no one
// has done it since, "5m05s overdue".
func Until(t, now time.Time) string {
	switch {
	case now.Before(t):
		return When(t, now)
	case Overdue(t, now):
		return Duration(now.Sub(t)) + " overdue"
	}
	return "now"
}

// Overdue reports whether what was to happen at a time is late.
func Overdue(t, now time.Time) bool { return now.Sub(t) >= overdue }

// Time is a time in the zone of the machine, which it names, to the millisecond.
func Time(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05.000Z07:00") }

// Clock is a time where there is little room: its day is named unless that is today.
func Clock(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04:05.000Z07:00")
	}
	return t.Format("01-02 15:04:05Z07:00")
}

// Hour is an hour of a day.
func Hour(t time.Time) string { return t.Local().Format("01-02 15:04Z07:00") }

// Count is a number with its thousands set apart: 1,234.
func Count(n int) string {
	if n < 0 {
		return "-" + Count(-n)
	}
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return Count(n/1000) + fmt.Sprintf(",%03d", n%1000)
}

// Plural is a count with its noun: "1 order", "1,200 orders".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Exact is a duration to the millisecond, where Duration would round more: for what is
// compared. Shorter ones are exact.
func Exact(d time.Duration) string {
	if d >= time.Millisecond {
		d = d.Round(time.Millisecond)
	}
	return Trimmed(d)
}

// Trimmed is a duration as Go prints it, without zero parts at the end: 1h, not 1h0m0s.
func Trimmed(d time.Duration) string {
	text := d.String()
	if short, is := strings.CutSuffix(text, "m0s"); is {
		text = short + "m"
	}
	if short, is := strings.CutSuffix(text, "h0m"); is {
		text = short + "h"
	}
	return text
}

// Sentence is the text of an error as a sentence, without the names of our packages, which
// mean nothing to a person. A name or a path at the beginning stays as it is.
func Sentence(text string) string {
	text = strings.TrimPrefix(strings.TrimPrefix(text, "perdure: "), "perdure.Open: ")
	if text == "" {
		return "Unknown error."
	}
	word, _, _ := strings.Cut(text, " ")
	if !strings.ContainsFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }) {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	_, line, copied := strings.Cut(text, ": perdure ")
	copied = copied && !strings.ContainsAny(line, ",;)") // it ends with a command line
	if !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "?") && !copied {
		text += "."
	}
	return text
}
