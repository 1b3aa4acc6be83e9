package syntax

import (
	"sort"
	"strings"
	"unicode/utf8"
)

// Span is a part of a text, in bytes from its beginning: From belongs to it, To
// does not.
type Span struct{ From, To int }

// Range returns the span itself; nodes that embed one are Nodes by it.
func (s Span) Range() Span { return s }

// Position is a place in a text as people count: lines and columns from 1, columns
// in characters.
type Position struct{ Line, Column int }

// lines knows where the lines of a text begin.
type lines struct {
	text   string
	starts []int
}

func newLines(text string) *lines {
	l := &lines{text: text, starts: []int{0}}
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return l
		}
		at += i + 1
		l.starts = append(l.starts, at)
	}
}

// number is the line of an offset, from 1.
func (l *lines) number(offset int) int {
	return sort.SearchInts(l.starts, offset+1)
}

// position is an offset as people count.
func (l *lines) position(offset int) Position {
	offset = min(max(offset, 0), len(l.text))
	n := l.number(offset)
	return Position{Line: n, Column: 1 + utf8.RuneCountInString(l.text[l.starts[n-1]:offset])}
}

// line is the text of a line without its end.
func (l *lines) line(number int) string {
	from, to := l.starts[number-1], len(l.text)
	if number < len(l.starts) {
		to = l.starts[number]
	}
	return strings.TrimRight(l.text[from:to], "\r\n")
}
