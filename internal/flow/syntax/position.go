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

// lines knows where the lines of a text begin, and how many characters there are
// up to some places: a line may be the whole text, and a hundred faults may be in
// it.
type lines struct {
	text   string
	starts []int
	runes  []int // before each multiple of runeStride
}

// runeStride is how many bytes have to be gone through at most to count characters.
const runeStride = 1 << 10

func newLines(text string) *lines {
	l := &lines{text: text, starts: []int{0}, runes: []int{0}}
	for at := runeStride; at <= len(text); at += runeStride {
		l.runes = append(l.runes, l.runes[len(l.runes)-1]+runeStarts(text[at-runeStride:at]))
	}
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return l
		}
		at += i + 1
		l.starts = append(l.starts, at)
	}
}

// runeStarts is how many characters begin in a part of a text, which may begin and
// end in the middle of one.
func runeStarts(part string) (n int) {
	for i := range len(part) {
		if utf8.RuneStart(part[i]) {
			n++
		}
	}
	return n
}

// before is how many characters begin before an offset.
func (l *lines) before(offset int) int {
	known := offset / runeStride
	return l.runes[known] + runeStarts(l.text[known*runeStride:offset])
}

// number is the line of an offset, from 1.
func (l *lines) number(offset int) int {
	return sort.SearchInts(l.starts, offset+1)
}

// position is an offset as people count.
func (l *lines) position(offset int) Position {
	offset = min(max(offset, 0), len(l.text))
	n := l.number(offset)
	return Position{Line: n, Column: 1 + l.before(offset) - l.before(l.starts[n-1])}
}

// line is the text of a line without its end.
func (l *lines) line(number int) string {
	from, to := l.starts[number-1], len(l.text)
	if number < len(l.starts) {
		to = l.starts[number]
	}
	return strings.TrimRight(l.text[from:to], "\r\n")
}
