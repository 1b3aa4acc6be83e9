package syntax

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// lexer cuts a text into tokens, when it is asked for them: the parser lets
// package retry read policies, and goes on behind them.
type lexer struct {
	file    *File
	src     string
	at      int
	begun   bool // the blanks before the line were read
	inLine  bool // a token of the line was read
	level   int  // of indentation, of the lines so far
	deeper  int  // levels to be opened, or closed if below zero
	strange int  // where the last character without a meaning ends
	nested  int  // brackets that are open: inside them lines do not end
	fail    func(span Span, code, hint, format string, args ...any)

	comments []ownLine // in lines of their own, not yet taken
	blank    bool      // the last line was empty
	inner    []Comment // between the words of a line that goes on, not yet taken
}

// ownLine is a comment in a line of its own.
type ownLine struct {
	Comment
	indent int // in blanks
}

// unitOfIndent is how many blanks make a level.
const unitOfIndent = 4

// next reads a token.
func (l *lexer) next() token {
	if l.deeper == 0 && !l.begun && l.nested == 0 {
		l.lineStart()
	}
	switch {
	case l.deeper > 0:
		l.deeper--
		l.level++
		return token{Span: Span{l.at, l.at}, kind: indent}
	case l.deeper < 0:
		l.deeper++
		l.level--
		return token{Span: Span{l.at, l.at}, kind: dedent}
	}
	l.begun = true
	comment := l.space()
	from := l.at
	switch {
	case l.at == len(l.src):
		if l.nested == 0 && l.inLine {
			l.begun, l.inLine = false, false
			return token{Span: Span{from, from}, kind: newline, comment: comment}
		}
		return token{Span: Span{from, from}, kind: endOfFile}
	case l.src[l.at] == '\n':
		l.at++
		l.begun, l.inLine = false, false
		return token{Span: Span{from, from}, kind: newline, comment: comment}
	}
	l.inLine = true
	t := l.word()
	if t.kind == newline || t.kind == endOfFile {
		return t // behind a character without a meaning
	}
	if t.To == 0 {
		t.Span = Span{from, l.at}
	}
	if t.text == "" {
		t.text = l.src[t.From:t.To]
	}
	return t
}

// lineStart passes empty lines and comments up to a line that has something, and
// notes how deep that is indented.
func (l *lexer) lineStart() {
	for {
		from := l.at
		for l.at < len(l.src) && l.src[l.at] == ' ' {
			l.at++
		}
		depth := l.at - from
		rest := l.src[l.at:]
		switch {
		case rest == "":
			l.begun, l.deeper = true, -l.level
			return
		case rest[0] == '\n' || rest[0] == '\r' || strings.TrimLeft(firstLine(rest), " \t\r") == "":
			l.blank = len(l.comments) > 0 || l.blank || from > 0
			l.at += len(firstLine(rest))
			if l.at < len(l.src) {
				l.at++
			}
		case rest[0] == '#':
			l.comments = append(l.comments, ownLine{Comment{Text: l.comment(), Blank: l.blank}, depth})
			l.blank = false
			if l.at < len(l.src) {
				l.at++ // the end of the line
			}
		default:
			l.indentation(from, depth)
			l.begun = true
			return
		}
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// indentation compares the blanks before a line with those before it.
func (l *lexer) indentation(from, depth int) {
	if l.src[l.at] == '\t' {
		at := l.at
		for l.at < len(l.src) && (l.src[l.at] == '\t' || l.src[l.at] == ' ') {
			depth++
			l.at++
		}
		l.fail(Span{at, l.at}, CodeSyntax, "Indent by four blanks a level.", "the line is indented by a tab")
		depth = (depth + unitOfIndent - 1) / unitOfIndent * unitOfIndent // a guess, to go on
		l.deeper = min(depth/unitOfIndent, l.level+1) - l.level
		return
	}
	level := depth / unitOfIndent
	switch {
	case depth%unitOfIndent != 0:
		l.fail(Span{from, l.at}, CodeSyntax, "Indent by four blanks a level: 0, 4, 8 ...", "the line is indented by %d blanks", depth)
		if level < l.level && depth%unitOfIndent > unitOfIndent/2 || level == l.level && l.level == 0 {
			level++ // a guess
		}
	case level > l.level+1:
		l.fail(Span{from, l.at}, CodeSyntax, "Indent it by "+strconv.Itoa((l.level+1)*unitOfIndent)+" blanks at most.",
			"the line is indented by %d blanks, which is more than one level deeper than the line before", depth)
	}
	l.deeper = min(level, l.level+1) - l.level
}

// space passes blanks and, inside brackets, line ends. It returns the comment at
// the end of a line.
func (l *lexer) space() (comment string) {
	for l.at < len(l.src) {
		switch c := l.src[l.at]; {
		case c == ' ' || c == '\t' || c == '\r' && strings.HasPrefix(l.src[l.at:], "\r\n"):
			l.at++
		case c == '\n' && l.nested > 0:
			l.at++
		case c == '#' && l.nested > 0:
			l.inner = append(l.inner, Comment{Text: l.comment()})
		case c == '#':
			comment = l.comment()
		default:
			return comment
		}
	}
	return comment
}

// comment reads up to the end of the line.
func (l *lexer) comment() string {
	line := firstLine(l.src[l.at:])
	l.at += len(line)
	return "#" + strings.TrimRight(line[1:], " \t\r")
}

// word reads what is no space.
func (l *lexer) word() token {
	rest := l.src[l.at:]
	c, size := utf8.DecodeRuneInString(rest)
	switch {
	case c == '_' || unicode.IsLetter(c):
		name := rest[:nameLength(rest)]
		l.at += len(name)
		if isKeyword[name] {
			return token{kind: keyword, text: name}
		}
		return token{kind: word, text: name}
	case c >= '0' && c <= '9':
		return l.number()
	case c == '"' || c == '\'':
		return l.string()
	}
	for _, m := range marks {
		if strings.HasPrefix(rest, m) {
			l.at += len(m)
			return l.bracket(token{kind: mark, text: m})
		}
	}
	from := l.at
	for strings.HasPrefix(l.src[l.at:], rest[:size]) {
		l.at += size
	}
	again := l.strange > 0 && !strings.Contains(l.src[l.strange:from], "\n") // one mistake is one fault
	l.strange = l.at
	if again {
		l.passStrange()
		return l.next()
	}
	l.fail(Span{from, l.at}, CodeSyntax, l.strangeHint(c), "%q has no meaning here", clip(l.src[from:l.at], 40))
	return l.next()
}

// passStrange passes characters without a meaning and the blanks between them. It is a loop:
// a line may have a million of them.
func (l *lexer) passStrange() {
	for l.at < len(l.src) {
		rest := l.src[l.at:]
		c, size := utf8.DecodeRuneInString(rest)
		if c == '_' || c == '\n' || c == '\r' || c == '#' || c == '"' || c == '\'' || c >= '0' && c <= '9' || unicode.IsLetter(c) ||
			slices.ContainsFunc(marks, func(m string) bool { return strings.HasPrefix(rest, m) }) {
			break
		}
		l.at += size
	}
	l.strange = l.at
}

// strangeHint is about a character that has no meaning.
func (l *lexer) strangeHint(c rune) string {
	switch {
	case c == '!' || c == '&' || c == '|':
		return "Logic is written in words: not, and, or."
	case c == '$' && strings.HasPrefix(l.src[l.at:], "("):
		return "What a command prints is (@shell.run(command=\"date\")).stdout."
	case c == '$':
		return "Variables have no sign in front, and stand in no text: \"a \" + str(x)."
	case c == '^' || c == '~':
		return "Numbers have no powers and no bits; multiply: x * x."
	case c == '?' && strings.HasPrefix(l.src[l.at-1:], "?") && l.at > 1 && l.src[l.at-2] == '?':
		return "A default for what is missing: get(x, \"key\", 0)."
	case c == '?' && strings.HasPrefix(l.src[l.at:], "."):
		return "A field that may be missing: get(x, \"key\") is None then."
	case c == '?':
		return "A choice is a statement with blocks: if, elif and else."
	case c == ';':
		return "Each statement has a line of its own."
	case c == '“' || c == '”' || c == '‘' || c == '’' || c == '`':
		return `Texts stand between " and " or ' and '.`
	}
	return "Remove it, or put it into a text."
}

// bracket counts the brackets that are open.
func (l *lexer) bracket(t token) token {
	switch t.text {
	case "(", "[", "{":
		l.nested++
	case ")", "]", "}":
		l.nested = max(l.nested-1, 0)
	}
	return t
}

// nameLength is how long the name at the beginning of a text is.
func nameLength(s string) int {
	for i, r := range s {
		if !isNamePart(r) || i == 0 && unicode.IsDigit(r) {
			return i
		}
	}
	return len(s)
}

// isNamePart reports whether a character may stand in a name.
func isNamePart(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// number reads a number.
func (l *lexer) number() token {
	from := l.at
	behindDigits := func(text string) string { return strings.TrimLeft(text, "0123456789") }
	rest := behindDigits(l.src[from:])
	float := false
	if fraction, point := strings.CutPrefix(rest, "."); point && behindDigits(fraction) != fraction {
		rest, float = behindDigits(fraction), true
	}
	if rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		exponent := rest[1:]
		if exponent != "" && (exponent[0] == '+' || exponent[0] == '-') {
			exponent = exponent[1:]
		}
		if behindDigits(exponent) != exponent {
			rest, float = behindDigits(exponent), true
		}
	}
	l.at = len(l.src) - len(rest)
	if tail := nameLength(l.src[l.at:]); tail > 0 {
		l.at += tail
		hint := "Numbers are written in digits, such as 1000, 2.5 or 1e6."
		if _, err := Duration(l.src[from:l.at]); err == nil {
			hint = `Durations outside of policies are texts: sleep "1m30s". Bare numbers are seconds.`
		}
		l.fail(Span{from, l.at}, CodeSyntax, hint, "%q is no number", clip(l.src[from:l.at], 40))
		return token{kind: intNumber}
	}
	span := Span{from, l.at}
	digitsText := l.src[from:l.at]
	if float {
		v, err := strconv.ParseFloat(digitsText, 64)
		if err != nil {
			l.fail(span, CodeSyntax, "The largest number is about 1.8e308.", "the number %s is too large", clip(digitsText, 40))
		}
		return token{kind: floatNumber, number: v}
	}
	if len(digitsText) > 1 && digitsText[0] == '0' {
		l.fail(span, CodeSyntax, "Write it without zeros in front.", "the number %s begins with a zero", clip(digitsText, 40))
	}
	v, err := strconv.ParseUint(digitsText, 10, 64)
	if err != nil || v > 1<<63 {
		l.fail(span, CodeSyntax, "Whole numbers go from -9223372036854775808 to 9223372036854775807. Write it as a text, or with a point if it need not be exact.", "the number %s is too large", clip(digitsText, 40))
		v = 0
	}
	return token{kind: intNumber, integer: v}
}

// string reads a text in quotes.
func (l *lexer) string() token {
	from, quote := l.at, l.src[l.at]
	l.at++
	var b strings.Builder
	for {
		if l.at == len(l.src) || l.src[l.at] == '\n' {
			l.fail(Span{from, l.at}, CodeSyntax, `A text ends in the line in which it begins. A line break in it is written \n.`, "the text has no end")
			return token{kind: text, value: b.String()}
		}
		c := l.src[l.at]
		switch {
		case c == quote:
			l.at++
			return token{kind: text, value: b.String()}
		case c == '\\':
			l.escape(&b)
		default:
			b.WriteByte(c)
			l.at++
		}
	}
}

// plainEscapes are the escapes of one letter.
var plainEscapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', '\\': '\\', '\'': '\'', '"': '"', '0': 0}

// escape reads what begins with a backslash.
func (l *lexer) escape(b *strings.Builder) {
	from := l.at
	l.at++
	if l.at == len(l.src) || l.src[l.at] == '\n' {
		return // no end, which string reports
	}
	c := l.src[l.at]
	if plain, ok := plainEscapes[c]; ok {
		b.WriteByte(plain)
		l.at++
		return
	}
	if c == 'u' || c == 'U' {
		if r, _, rest, err := strconv.UnquoteChar(l.src[from:], 0); err == nil {
			b.WriteRune(r)
			l.at = len(l.src) - len(rest)
			return
		}
	}
	_, size := utf8.DecodeRuneInString(l.src[l.at:])
	l.at += size
	l.fail(Span{from, l.at}, CodeSyntax, `The escapes are \n \t \r \\ \" \' \0 \uXXXX and \UXXXXXXXX. A backslash itself is written \\.`, "\"%s\" is no escape", l.src[from:l.at])
}

// jump goes on behind what the parser of policies has read. Comments in it are kept.
func (l *lexer) jump(to int) {
	quoted := false
	for l.at < to {
		switch c := l.src[l.at]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			l.at++
		case c == '#' && !quoted:
			l.inner = append(l.inner, Comment{Text: l.comment()})
			continue
		}
		l.at++
	}
	l.at = to
}

// back goes on at the beginning of the line of an offset, whatever is open.
func (l *lexer) back(offset int) {
	l.at = strings.LastIndexByte(l.src[:offset], '\n') + 1
	l.begun, l.inLine, l.nested, l.inner = false, false, 0, nil
}

// endLine goes on at the next line, whatever is open.
func (l *lexer) endLine() {
	if l.begun {
		l.at += len(firstLine(l.src[l.at:]))
		if l.at < len(l.src) {
			l.at++
		}
	}
	l.begun, l.inLine, l.nested, l.inner = false, false, 0, nil
}
