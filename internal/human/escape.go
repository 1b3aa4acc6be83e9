package human

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape returns a text of others (a payload, an error, an ID) as one line that
// a terminal shows and does not obey: control characters, characters that turn
// the direction of writing, and broken bytes become visible escapes.
func Escape(s string) string { return EscapeFunc(s, Obeyed) }

// EscapeFunc is Escape for the characters that are obeyed.
func EscapeFunc(s string, obeyed func(rune) bool) string {
	if !strings.ContainsFunc(s, obeyed) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !obeyed(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// Obeyed reports whether a terminal, or the layout of a page, might do something else with a character
// than show it.
func Obeyed(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// Clip cuts a text to a number of characters and marks the cut. Zero and less is
// no limit.
func Clip(s string, limit int) string {
	if limit <= 0 || utf8.RuneCountInString(s) <= limit {
		return s
	}
	runes := []rune(s)
	return string(runes[:limit-1]) + "…"
}

// Lines splits a text of several lines, such as a stack, and escapes each. An empty
// text has none.
func Lines(s string) []string {
	if s == "" {
		return nil
	}
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, line := range lines {
		lines[i] = Escape(strings.ReplaceAll(strings.TrimSuffix(line, "\r"), "\t", "    "))
	}
	return lines
}
