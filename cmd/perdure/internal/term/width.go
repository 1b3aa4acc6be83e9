package term

import "github.com/clipperhouse/displaywidth"

// Width returns how many columns of a terminal an escaped text takes: two for a Chinese character
// or an emoji, none for a combining mark.
func Width(s string) int { return displaywidth.String(s) }

// Clip cuts a text to a number of columns and marks the cut. Zero and less is no limit.
func Clip(s string, columns int) string {
	if columns <= 0 {
		return s
	}
	return displaywidth.TruncateString(s, columns, "…")
}

// ClipMiddle cuts a text to a number of columns as Clip does, but keeps its end, by which names
// that begin alike are told apart.
func ClipMiddle(s string, columns int) string {
	if columns <= 0 || Width(s) <= columns {
		return s
	}
	end := (columns - 1) * 3 / 4
	tail := s
	for g := displaywidth.StringGraphemes(s); Width(tail) > end && g.Next(); {
		tail = tail[len(g.Value()):]
	}
	head, _ := Cut(s, columns-1-end)
	return head + "…" + tail
}

// Cut cuts a text into what fits into a number of columns and the rest.
func Cut(s string, columns int) (head, rest string) {
	at, width := 0, 0
	for g := displaywidth.StringGraphemes(s); g.Next(); at += len(g.Value()) {
		if width += g.Width(); width > columns {
			break
		}
	}
	return s[:at], s[at:]
}
