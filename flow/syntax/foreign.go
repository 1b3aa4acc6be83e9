package syntax

import "strings"

// foreign are words of other languages, and what is written here instead. Most begin
// a statement.
var foreign = map[string]string{
	"def":     "A function begins like this: fn main(input: [a, b], output: [result]):",
	"class":   "There are no classes; a dictionary keeps values by names.",
	"import":  "A file imports nothing: actions are called by their names, @http.get(url=u).",
	"from":    "A file imports nothing: actions are called by their names, @http.get(url=u).",
	"const":   "A name gets a value by x = 1, without a word before it.",
	"let":     "A name gets a value by x = 1, without a word before it.",
	"var":     "A name gets a value by x = 1, without a word before it.",
	"global":  "Functions share no names; give values to them as inputs.",
	"del":     "Names are not removed; a name can get another value, such as None.",
	"await":   "Every call is waited for; several at once are parallel(...) and spread.",
	"async":   "Several calls at once are parallel(...) and spread.",
	"wait":    "To wait: sleep 90, or sleep \"1m30s\".",
	"raise":   "To fail on purpose: fail(\"message\", \"ErrorType\").",
	"throw":   "To fail on purpose: fail(\"message\", \"ErrorType\").",
	"assert":  "To fail on purpose: if not ok: and below it fail(\"message\", \"ErrorType\").",
	"switch":  "Choices are made by if, elif and else.",
	"match":   "Choices are made by if, elif and else.",
	"catch":   "Errors are caught by except, behind the block of a try.",
	"finally": "What has to happen in any case stands behind the try, or in a function that both ways call.",
	"with":    "What has to happen in any case stands behind a try, or in a function that both ways call.",
	"print":   "To say something: @log(message=...).",
	"lambda":  "Functions have names: fn f(input: [x], output: [y]):",
	"is":      "Values are compared by == and !=.",
	"retry":   "A policy stands in brackets behind its action: @fetch(url=u) [retry: 3].",
	"timeout": "A policy stands in brackets behind its action: @fetch(url=u) [timeout: 2m].",
}

// foreignHint is about a token behind which nobody can say what the statement means:
// the token itself, the word before it, or the one with which the line begins may be
// of another language.
func (p *parser) foreignHint() string {
	line := strings.TrimLeft(p.file.lines.line(p.file.lines.number(p.tok.From)), " ")
	before := p.lex.src[:p.last]
	before = before[len(strings.TrimRightFunc(before, isNamePart)):]
	if nameLength(before) != len(before) {
		before = ""
	}
	for _, word := range []string{p.tok.text, before, line[:nameLength(line)]} {
		if hint := foreign[word]; hint != "" {
			return hint
		}
	}
	switch {
	case p.tok.is("{"):
		return "A block begins with a colon, and its lines are indented by four blanks."
	case p.tok.is("if"), p.tok.is("else"):
		return "A choice is a statement with blocks: if, elif and else."
	case p.tok.is(":"):
		return "Only if, elif, else, for, while, try, except, parallel and fn have a block."
	case p.tok.kind == text && before != "" && p.tok.From == p.last:
		return "Texts are joined by +: \"a \" + str(x)."
	case before != "" && (p.tok.kind == word || p.tok.kind == text || p.tok.kind == intNumber):
		return "Arguments stand in parentheses: f(x)."
	}
	return ""
}

// foreignOperand is about signs of other languages where an expression should be.
func (p *parser) foreignOperand() string {
	touches := p.last == p.tok.From && p.last > 0
	switch {
	case p.tok.is("=") && touches && strings.IndexByte("+-*/", p.lex.src[p.last-1]) >= 0:
		return "Write it out: x = x + 1."
	case p.tok.is("*") && touches && p.lex.src[p.last-1] == '*':
		return "There are no powers; multiply: x * x."
	case p.tok.is("/"), p.tok.is("//"):
		return "A comment begins with #."
	case p.tok.is("}"):
		return "A block ends where its indentation does."
	}
	return ""
}
