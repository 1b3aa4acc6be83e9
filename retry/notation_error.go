package retry

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// NotationError describes a mistake in a policy in text notation, and its place.
type NotationError struct {
	// Offset is where the bad token begins, in bytes from 0; Line and Column
	// say the same, counted from 1, Column in characters.
	Offset, Line, Column int

	// Token is the text at that place, cut if it is long, and empty at the end of the
	// text.
	Token string

	// Problem says what is wrong with it.
	Problem string

	// Expected says what is allowed there instead.
	Expected string
}

// Error is one line: LINE:COLUMN, the token, what is wrong and what was
// expected.
func (e *NotationError) Error() string {
	token := "the end of the text"
	if e.Token != "" {
		token = strconv.Quote(e.Token)
	}
	return fmt.Sprintf("%d:%d: %s %s; expected %s", e.Line, e.Column, token, e.Problem, e.Expected)
}

// longestToken is how much of a bad token an error shows, in characters.
const longestToken = 40

// fail makes the error for the token at an offset.
func (s *scanner) fail(at int, problem, expected string) error {
	before := s.text[:at]
	line := strings.LastIndexByte(before, '\n') + 1
	if at == len(s.text) {
		problem = "comes too soon"
	}
	return &NotationError{
		Offset: at, Line: 1 + strings.Count(before, "\n"), Column: 1 + utf8.RuneCountInString(before[line:]),
		Token: clip(s.tokenAt(at)), Problem: problem, Expected: expected,
	}
}

// tokenAt is what a reader sees as one token: a mark, a quoted name, or all up
// to the next mark or white space.
func (s *scanner) tokenAt(at int) string {
	rest := s.text[at:]
	switch {
	case rest == "":
		return ""
	case strings.HasPrefix(rest, "->"):
		return "->"
	case strings.IndexByte(marks, rest[0]) >= 0:
		return rest[:1]
	case rest[0] == '"':
		if quoted, err := strconv.QuotedPrefix(rest); err == nil {
			return quoted
		}
		rest, _, _ = strings.Cut(rest, "\n")
		return rest
	}
	if end := strings.IndexAny(rest, marks+" \t\r\n\"#"); end >= 0 {
		rest = rest[:max(end, 1)]
	}
	if arrow := strings.Index(rest, "->"); arrow > 0 {
		rest = rest[:arrow]
	}
	return rest
}

// clip cuts a long token.
func clip(token string) string {
	runes := 0
	for i := range token {
		if runes == longestToken {
			return token[:i] + "..."
		}
		runes++
	}
	return token
}
