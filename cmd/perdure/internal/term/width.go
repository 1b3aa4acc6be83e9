package term

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// spacing are vowels that are of one character with what stands before them, as Unicode counts, and
// that terminals draw in a column of their own: SARA AM of Thai, and that of Lao.
const spacing = "\u0e33\u0eb3"

// Width returns how many columns of a terminal an escaped text takes: two for a Chinese character
// or an emoji, none for a combining mark.
func Width(s string) int {
	width := displaywidth.String(s)
	if !strings.ContainsAny(s, spacing) {
		return width
	}
	for g := displaywidth.StringGraphemes(s); g.Next(); {
		for at, r := range g.Value() {
			if at > 0 && strings.ContainsRune(spacing, r) {
				width++
			}
		}
	}
	return width
}

// Clip cuts a text to a number of columns and marks the cut. Zero and less is no limit.
func Clip(s string, columns int) string {
	if columns <= 0 || Width(s) <= columns {
		return s
	}
	head, _ := Cut(s, columns-1)
	return head + "…"
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
		if width += Width(g.Value()); width > columns {
			break
		}
	}
	return s[:at], s[at:]
}
