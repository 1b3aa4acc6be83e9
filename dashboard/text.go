package dashboard

import (
	"bytes"
	"fmt"
	"html/template"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/view"
)

// visible makes characters visible that would not just show themselves: control characters,
// those that change the direction of writing, and invalid bytes. It processes the complete
// page, so no template can bypass it.
func visible(page []byte) []byte {
	if !bytes.ContainsFunc(page, obeyed) && utf8.Valid(page) {
		return page
	}
	return []byte(human.EscapeFunc(string(page), obeyed))
}

// obeyed reports whether a character would affect the layout of a page.
func obeyed(r rune) bool { return r != '\n' && r != '\t' && human.Obeyed(r) }

// functions are the functions for templates. The templates escape what they return. Lists show
// values of package view, so that a row needs a struct of its own only for what is computed.
func (s *sheet) functions() template.FuncMap {
	at := func(format func(time.Time, time.Time) *stamp) func(any) *stamp {
		return func(v any) *stamp {
			switch t := v.(type) {
			case time.Time:
				return format(t, s.now)
			case *time.Time:
				if t != nil {
					return format(*t, s.now)
				}
			}
			return nil
		}
	}
	ago, until := at(agoStamp), at(untilStamp)
	return template.FuncMap{
		"ago": ago, "until": until, "at": at(atStamp), "when": func(f wording.Fact) *stamp {
			if f.Due {
				return until(f.At)
			}
			return ago(f.At)
		},
		"count": count, "plural": human.Plural, "duration": human.Duration, "took": took, "minus": func(a, b int) int { return a - b },
		"clip":  func(n int, s string) string { return human.Clip(s, n) },
		"glyph": glyph, "tone": tone, "link": link, "run": runLink, "gate": gateLink, "schedule": scheduleLink, "about": aboutRecord,
		"fold": func(text string) folded { return fold(text, "") }, "typed": wording.Typed, "byandwhy": wording.ByAndWhy, "waitname": wording.WaitName, "waitwhy": func(w *waitingRow) string { return wording.WhyWaiting(w.Waiting) },
		"slots": wording.GateLimit, "key": func(name string) string { return wording.Key(name, 0) }, "breaker": wording.Breaker, "times": wording.Times,
		"serves": servesOf, "hour": human.Hour, "atgate": wording.AtGate, "callerror": func(c *sumRow) string { return wording.Error(&c.CallAttempts) },
		"whynote": func(r *view.ControlRecord) string { return strings.Join(nonEmpty(r.Why, r.Note), "; ") }, "builds": wording.Builds, "untyped": wording.Untyped, "fromto": func(recorded, trial int) string { return wording.FromTo(recorded, trial, "→") },
		"classtone": func(c *view.TrialClass) string { return string(wording.TrialTone(c)) }, "limited": wording.AttemptLimit, "lasts": wording.Lasts, "startsat": wording.StartsAt,
		"value": value, "lasted": wording.Lasted, "stepof": wording.StepOf, "went": wording.Went, "planned": wording.Planned, "starts": startsChart, "ends": endsChart, "startbuttons": startButtons, "openruns": openRuns, "trialrows": wording.TrialRows, "trialsaved": trialSaved,
	}
}

// count formats a number of any size.
func count(n any) string {
	if n, is := n.(int64); is {
		return human.Count(int(n))
	}
	return human.Count(n.(int))
}

// took formats the time between two times; "" if one of them is not known.
func took(from, to *time.Time) string {
	if from == nil || to == nil {
		return ""
	}
	return human.Duration(max(0, to.Sub(*from)))
}

// value returns the attribute with the value of a hidden field. Characters that visible
// would change are written as character references, so that the value comes back unchanged.
func value(text string) template.HTMLAttr {
	var b strings.Builder
	b.WriteString(`value="`)
	for _, r := range text {
		if human.Obeyed(r) {
			fmt.Fprintf(&b, "&#%d;", r)
		} else {
			b.WriteString(template.HTMLEscapeString(string(r)))
		}
	}
	b.WriteByte('"')
	return template.HTMLAttr(b.String()) // values of users are escaped
}

// stamp is a time on a page: the text, and the time itself.
type stamp struct {
	Text string // such as "3 s ago", or the time of day
	Full string // in the server's time zone, to the millisecond
	ISO  string
	// Kind says how the script updates Text: ago, until, or empty for not at all.
	Kind string
	Late bool // it should have happened and has not
}

// agoStamp formats a past time as how long ago it was.
func agoStamp(t, now time.Time) *stamp {
	if t.IsZero() {
		return nil
	}
	return &stamp{Text: human.Ago(t, now), Full: human.Time(t), ISO: iso(t), Kind: "ago"}
}

// untilStamp formats a future time as a countdown.
func untilStamp(t, now time.Time) *stamp {
	if t.IsZero() {
		return nil
	}
	return &stamp{human.Until(t, now), human.Time(t), iso(t), "until", human.Overdue(t, now)}
}

// atStamp formats a time. It includes the day unless that is today.
func atStamp(t, now time.Time) *stamp {
	format := "2006-01-02 15:04:05.000"
	if t.Local().Format(time.DateOnly) == now.Local().Format(time.DateOnly) {
		format = "15:04:05.000"
	}
	return &stamp{Text: t.Local().Format(format), Full: human.Time(t), ISO: iso(t)}
}

// Whole is the text without a fraction of a second that is none: nominal times rarely have one.
func (s *stamp) Whole() string { return strings.TrimSuffix(s.Text, ".000") }

func iso(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// folded is a text of users that may be long: what the page shows of it, and where the
// whole text is.
type folded struct {
	Head string       // one line
	Text string       // shown when opened; empty if Head is everything
	Size string       // such as "1.0 MB"; empty if the text is complete
	All  template.URL // a page with the whole text; empty if the text is complete
}

const (
	headRunes = 160  // of the line that is always shown
	foldBytes = 4096 // of the text on the page
)

// fold folds a text. all is the page with the whole text.
func fold(text string, all template.URL) folded {
	f := folded{Head: oneLine(text)}
	if f.Head == text {
		return f
	}
	f.Text = text
	if len(text) > foldBytes {
		f.Text, f.Size, f.All = clipBytes(text, foldBytes)+"…", size(len(text)), all
	}
	return f
}

// oneLine returns the beginning of a text, with single blanks between its words.
func oneLine(text string) string {
	return human.Clip(strings.Join(strings.Fields(clipBytes(text, foldBytes)), " "), headRunes)
}

// clipBytes cuts a text at a character boundary.
func clipBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// size formats a number of bytes.
func size(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
