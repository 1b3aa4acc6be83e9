package retry

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// marks are the characters that end a word.
const marks = "[](),:"

// scanner is a place in a text. Its methods read from there and leave it behind
// what they read; where they fail it stays at the bad token.
type scanner struct {
	text string
	at   int
}

// peek is the next byte, 0 at the end of the text.
func (s *scanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

// blanks skips blanks in the line.
func (s *scanner) blanks() {
	for s.peek() == ' ' || s.peek() == '\t' {
		s.at++
	}
}

// space skips white space, line breaks and comments.
func (s *scanner) space() {
	for {
		switch s.peek() {
		case ' ', '\t', '\r', '\n':
			s.at++
		case '#':
			comment, _, _ := strings.Cut(s.text[s.at:], "\n")
			s.at += len(comment)
		default:
			return
		}
	}
}

// next skips white space and returns where the next token begins.
func (s *scanner) next() int {
	s.space()
	return s.at
}

// mark skips white space and then the mark, if it is there.
func (s *scanner) mark(mark string) bool {
	s.space()
	if !strings.HasPrefix(s.text[s.at:], mark) {
		return false
	}
	s.at += len(mark)
	return true
}

// while reads as long as the characters are of a kind.
func (s *scanner) while(kind func(rune) bool) string {
	start := s.at
	s.at = len(s.text) - len(strings.TrimLeftFunc(s.text[start:], kind))
	return s.text[start:s.at]
}

// word reads a word as error types and keys are written: a letter or _, then
// letters, digits, _, . and -, but no arrow.
func (s *scanner) word() string {
	start := s.at
	for s.at < len(s.text) && !strings.HasPrefix(s.text[s.at:], "->") {
		r, size := utf8.DecodeRuneInString(s.text[s.at:])
		if r == utf8.RuneError && size == 1 || !inWord(r, s.at > start) {
			break
		}
		s.at += size
	}
	return s.text[start:s.at]
}

// inWord reports whether a character belongs to a word, as its first or as a
// later one.
func inWord(r rune, later bool) bool {
	return r == '_' || unicode.IsLetter(r) || later && (r == '.' || r == '-' || unicode.IsDigit(r))
}

// isWord reports whether a text is one word.
func isWord(text string) bool {
	s := scanner{text: text}
	return text != "" && len(s.word()) == len(text)
}

// keyword reads a certain word, if it is the next.
func (s *scanner) keyword(want string) bool {
	start := s.at
	if s.word() == want {
		return true
	}
	s.at = start
	return false
}

// choice reads one of some words and returns its index, -1 if it is none.
func (s *scanner) choice(words []string) int {
	for i, word := range words {
		if word != "" && s.keyword(word) {
			return i
		}
	}
	return -1
}

// named is an error type in the text.
type named struct {
	name string
	at   int
}

// name reads the name of an error type: a word, or any text in double quotes
// with the escapes of Go.
func (s *scanner) name() (named, error) {
	at := s.next()
	const expected = `a name such as NetworkError, or one in double quotes`
	if s.peek() != '"' {
		if word := s.word(); word != "" {
			return named{word, at}, nil
		}
		return named{}, s.fail(at, "is not an error type", expected)
	}
	quoted, err := strconv.QuotedPrefix(s.text[at:])
	if err != nil {
		return named{}, s.fail(at, "has no end, or an escape that does not exist", "a name between double quotes")
	}
	name, err := strconv.Unquote(quoted)
	if err != nil || !validTypeName(name) {
		return named{}, s.fail(at, "is not an error type", "a name of UTF-8, not empty, without spaces and control characters")
	}
	s.at += len(quoted)
	return named{name, at}, nil
}

// names reads the error types up to a closing parenthesis, which it reads too.
func (s *scanner) names() ([]named, error) {
	var all []named
	for {
		n, err := s.name()
		if err != nil {
			return nil, err
		}
		all = append(all, n)
		switch {
		case s.mark(","):
		case s.mark(")"):
			return all, nil
		default:
			return nil, s.fail(s.at, "is in the way", `"," and another error type, or ")"`)
		}
	}
}

// list reads one error type, or several in parentheses.
func (s *scanner) list() ([]named, error) {
	if s.mark("(") {
		return s.names()
	}
	n, err := s.name()
	return []named{n}, err
}

// heading reads the error types at the beginning of a bracket with their arrow;
// there are none if the bracket begins with a key. It looks ahead: only the
// arrow tells a list of types from a list of keys.
func (s *scanner) heading() ([]named, error) {
	start := s.next()
	certain := s.peek() == '(' || s.peek() == '"'
	all, err := s.list()
	for err == nil && s.mark(",") {
		var n named
		n, err = s.name()
		all = append(all, n)
	}
	switch {
	case err == nil && s.mark("->"):
		return all, nil
	case err == nil && certain:
		return nil, s.fail(s.at, "is in the way", `"->" behind the error types`)
	case certain:
		return nil, err
	}
	s.at = start
	return nil, nil
}
