package syntax

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of a flow file.
const (
	MaxSize      = 1 << 20 // bytes of the text
	MaxNesting   = 200     // brackets, blocks and fields inside one another
	MaxOperators = 1000    // in one statement
	MaxNames     = 1000    // in a row: inputs, outputs, variables to be assigned to, error types, arguments
	MaxFaults    = 100     // in its text; after so many nothing more is looked at
)

// Parse reads a flow file. The name is for diagnostics. The error is of type
// Diagnostics and has all faults; the tree then is as much as could be read, with a
// Bad statement for each that could not, and is nil only if the text is beyond
// MaxSize or no UTF-8.
func Parse(name, text string) (*File, error) {
	f := &File{Name: name, Text: text}
	if len(text) > MaxSize {
		return nil, Diagnostics{{File: name, Line: 1, Column: 1, Width: 1, Code: CodeLimit,
			Text: fmt.Sprintf("the file has more than %d bytes", MaxSize), Hint: "A flow file has at most 1 MiB. Keep data elsewhere, and read it by an action."}}
	}
	f.lines = newLines(text)
	if !utf8.ValidString(text) {
		at := 0
		for r, size := utf8.DecodeRuneInString(text); r != utf8.RuneError || size != 1; r, size = utf8.DecodeRuneInString(text[at:]) {
			at += size
		}
		return nil, Diagnostics{f.Diagnose(Span{at, at + 1}, CodeSyntax, "Save the file as UTF-8.", "the byte 0x%02x is no UTF-8", text[at])}
	}
	p := &parser{file: f}
	p.lex = &lexer{file: f, src: text, fail: p.report}
	if strings.HasPrefix(text, "\uFEFF") {
		p.lex.at = len("\uFEFF")
	}
	p.program()
	return f, f.withoutEchoes(p.faults.Sort()).Err()
}

// parser makes a tree of tokens. A fault ends the statement in which it is, by a
// panic with a bailout; statement goes on with the next line.
type parser struct {
	file   *File
	lex    *lexer
	tok    token
	last   int // the end of the token before tok
	faults Diagnostics
	depth  int    // of brackets, blocks and operators before an operand
	ops    int    // operators of the statement so far
	open   []Span // the brackets that are open
}

// bailout ends a statement, or, if it is fatal, the whole file. Placed says that
// the parser is where it shall go on.
type bailout struct{ fatal, placed bool }

// report notes a fault.
func (p *parser) report(span Span, code, hint, format string, args ...any) {
	if len(p.faults) == MaxFaults {
		p.faults = append(p.faults, p.file.TooManyFaults(span))
		panic(bailout{fatal: true})
	}
	p.faults = append(p.faults, p.file.Diagnose(span, code, hint, format, args...))
}

// fail notes a fault and ends the statement.
func (p *parser) fail(span Span, hint, format string, args ...any) {
	p.report(span, CodeSyntax, hint, format, args...)
	panic(bailout{})
}

// unexpected is the fault that a token is not the right one.
func (p *parser) unexpected(expected, hint string) {
	if s := p.lex.strange; s > 0 && p.file.lines.number(s) == p.file.lines.number(p.tok.From) {
		panic(bailout{}) // the fault is the character, not what is left without it
	}
	if n := len(p.open); n > 0 && (p.tok.kind == endOfFile || p.file.lines.number(p.tok.From) > p.file.lines.number(max(p.last-1, 0))) {
		span := p.open[n-1]
		p.report(span, CodeSyntax, "Close it where it ends.", "the bracket %q is not closed", p.file.Text[span.From:span.To])
		if p.tok.kind != endOfFile {
			p.lex.back(p.tok.From)
			p.advance()
			panic(bailout{placed: true})
		}
		panic(bailout{})
	}
	p.fail(p.tok.Span, hint, "%s stands where %s should", p.tok.shows(), expected)
}

func (p *parser) advance() {
	p.last = p.tok.To
	p.tok = p.lex.next()
}

// take advances past a certain mark or keyword, if it is there.
func (p *parser) take(s string) bool {
	if !p.tok.is(s) {
		return false
	}
	p.advance()
	return true
}

// want advances past a mark or keyword that has to be there.
func (p *parser) want(s, hint string) {
	if !p.take(s) {
		p.unexpected("\""+s+"\"", hint)
	}
}

// deeper counts one more level and returns what counts it down.
func (p *parser) deeper() func() {
	if p.depth++; p.depth > MaxNesting {
		p.report(p.tok.Span, CodeLimit, "Give inner parts names, or make functions of them.", "this is nested more than %d levels deep", MaxNesting)
		panic(bailout{fatal: true})
	}
	return func() { p.depth-- }
}

// more advances past the comma behind so many names or arguments, if there is one.
func (p *parser) more(n int) bool {
	if !p.take(",") {
		return false
	}
	if n >= MaxNames {
		p.report(p.tok.Span, CodeLimit, "Give them as one list or dictionary.", "there are more than %d names or arguments in a row", MaxNames)
		panic(bailout{fatal: true})
	}
	return true
}

// enter advances past an opening bracket; leave past its closing one.
func (p *parser) enter() {
	p.open = append(p.open, p.tok.Span)
	p.advance()
}

func (p *parser) leave(closing, expected string) {
	if !p.tok.is(closing) {
		hint := ""
		switch {
		case p.tok.is("="):
			hint = "To compare, write ==; a condition has no brackets around it: if x == 1:"
		case p.tok.is("for") && closing == "}":
			hint = "A dictionary is made by a loop: d = d + {key: value}."
		}
		p.unexpected(expected+" or \""+closing+"\"", hint)
	}
	p.open = p.open[:len(p.open)-1]
	p.advance()
}

// elements reads what stands in brackets with commas between. Row says that there
// are names or arguments, of which there may be MaxNames.
func (p *parser) elements(closing, expected string, row bool, element func()) {
	p.enter()
	for n := 1; !p.tok.is(closing); n++ {
		element()
		if row && !p.more(n) || !row && !p.take(",") {
			break
		}
	}
	p.leave(closing, "\",\" and another "+expected)
}

// guard runs f and catches a bailout that is not fatal. It reports whether f came
// to its end.
func (p *parser) guard(f func()) (ok bool) {
	depth, open := p.depth, len(p.open)
	defer func() {
		switch v := recover().(type) {
		case nil:
		case bailout:
			if v.fatal {
				panic(v)
			}
			p.depth, p.open = depth, p.open[:open]
			if !v.placed {
				p.resume()
			}
		default:
			panic(v)
		}
	}()
	f()
	return true
}

// resume goes on with the line after a fault.
func (p *parser) resume() {
	switch p.tok.kind {
	case newline:
		p.lex.nested = 0
		p.advance()
	case endOfFile, indent, dedent:
		if p.lex.nested > 0 {
			p.lex.endLine()
			p.advance()
		}
	default:
		if p.lex.inLine || p.lex.nested > 0 {
			p.lex.endLine()
			p.advance()
		}
	}
}

// program reads the file.
func (p *parser) program() {
	defer func() {
		if v := recover(); v != nil {
			if b, is := v.(bailout); !is || !b.fatal {
				panic(v)
			}
		}
	}()
	p.guard(p.advance)
	var body []Statement
	for p.tok.kind != endOfFile {
		line := p.line()
		switch {
		case p.tok.is("fn"):
			fn := p.function(line)
			p.file.Functions = append(p.file.Functions, fn)
		case p.gateFollows():
			if len(p.file.Functions)+len(body) > 0 {
				p.report(p.tok.Span, CodePlace, "Put it before the first function or statement.", "a gate is declared at the top of the file")
			}
			p.gate(line)
		case p.tok.kind == indent:
			p.report(p.lineSpan(), CodeSyntax, p.strayHint("Only what stands in a block is indented."), "the line is indented, but no block begins before it")
			body = append(body, p.strayBlock().Statements...)
		case p.tok.kind == dedent:
			p.advance() // of a block that was given up
		default:
			body = append(body, p.statement(line))
		}
	}
	p.file.Tail = p.tail(0)
	switch {
	case len(body) > 0 && len(p.file.Functions) > 0:
		if at := body[0].Range(); strings.HasPrefix(p.lex.src[at.From:], "@") && p.file.lines.number(at.From)+1 == p.file.lines.number(p.file.Functions[0].From) {
			line := p.file.lines.number(at.From)
			p.faults = slices.DeleteFunc(p.faults, func(d Diagnostic) bool { return d.Line == line })
			p.report(at, CodePlace, "A policy stands behind the call of a function: f(x) [retry: 3].", "a function has no decorators")
			break
		}
		p.report(body[0].Range(), CodePlace, "Put it into a function, such as fn main(input: [], output: []):. Only a file without functions may have bare statements.", "a statement stands outside of the functions")
	case len(body) > 0:
		p.file.Implicit = true
		span := Span{body[0].Range().From, body[len(body)-1].Range().To}
		p.file.Functions = []*Function{{Line: Line{Span: span}, Name: Ident{Name: "main"}, Body: &Block{Span: span, Statements: body}}}
	case len(p.file.Functions) == 0 && len(p.faults) == 0:
		p.report(Span{}, CodeSyntax, "Write a statement such as @log(message=\"hello\"), or a function fn main(input: [], output: []):.", "the file has no statement")
	}
}

// lineSpan is the line of the token, as far as it is not blank.
func (p *parser) lineSpan() Span {
	n := p.file.lines.number(p.tok.From)
	line := p.file.lines.line(n)
	start := p.file.lines.starts[n-1]
	return Span{start + len(line) - len(strings.TrimLeft(line, " \t")), start + len(line)}
}

// strayHint is about a line that is indented for no reason.
func (p *parser) strayHint(otherwise string) string {
	if span := p.lineSpan(); strings.HasPrefix(p.lex.src[span.From:], "[") {
		return "A policy begins in the line in which its action ends; inside of its brackets it may go on in the next."
	}
	return otherwise
}

// strayBlock reads an indented block where none should be.
func (p *parser) strayBlock() *Block {
	b := &Block{Span: p.tok.Span}
	p.indented(b, p.statement)
	return b
}

// line begins the line at which the parser is.
func (p *parser) line() Line { return Line{p.tok.Span, p.notes()} }

// end reads the end of the line of a statement.
func (p *parser) end(line *Line) {
	line.To = p.last
	p.lineEnd(&line.Notes)
}

// notes takes the comments before the line at which the parser is.
func (p *parser) notes() (n Notes) {
	if len(p.lex.comments) == 0 {
		n.Blank = p.lex.blank
		p.lex.blank = false
		return n
	}
	for _, c := range p.lex.comments {
		n.Lead = append(n.Lead, c.Comment)
	}
	n.Blank, n.Lead[0].Blank = n.Lead[0].Blank, false
	n.Split = p.lex.blank
	p.lex.comments, p.lex.blank = nil, false
	return n
}

// tail takes the comments that belong to a block that ends: those that are
// indented as deep as it is.
func (p *parser) tail(level int) (out []Comment) {
	n := 0
	for n < len(p.lex.comments) && p.lex.comments[n].indent >= level*unitOfIndent {
		out = append(out, p.lex.comments[n].Comment)
		n++
	}
	p.lex.comments = p.lex.comments[n:]
	return out
}

// lineEnd reads the end of a line into the notes of its statement.
func (p *parser) lineEnd(n *Notes) {
	if p.tok.kind != newline {
		if p.tok.is("=") || p.tok.is("[") {
			p.unexpected("the end of the line", "Only names can be assigned to. A changed list or dictionary is a new one: d = d + {\"key\": value}.")
		}
		p.unexpected("the end of the line", p.foreignHint())
	}
	n.Trail = p.tok.comment
	if len(p.lex.inner) > 0 {
		n.Lead = append(n.Lead, p.lex.inner...)
		p.lex.inner = nil
	}
	p.last = p.tok.To
	p.tok = p.lex.next()
}

// function reads a function.
func (p *parser) function(line Line) *Function {
	fn := &Function{Line: line, Body: &Block{}}
	ok := p.guard(func() {
		const form = "A function begins like this: fn main(input: [a, b], output: [result]):"
		p.advance()
		fn.Name = p.ident("the name of the function")
		if !p.tok.is("(") {
			p.unexpected("\"(\"", form)
		}
		p.enter()
		fn.Inputs = p.header("input", form)
		p.want(",", form)
		fn.Outputs = p.header("output", form)
		p.take(",")
		p.leave(")", "the end of the outputs")
		p.blockOf(&fn.Line, fn.Body)
	})
	fn.Broken = !ok
	if !ok && p.tok.kind == indent {
		fn.Body = p.strayBlock()
	}
	fn.To = max(fn.To, fn.Body.To)
	return fn
}

// header reads input: [names] or output: [names].
func (p *parser) header(what, form string) []Ident {
	if p.tok.kind != word || p.tok.text != what {
		p.unexpected("\""+what+":\"", form)
	}
	p.advance()
	p.want(":", form)
	if !p.tok.is("[") {
		p.unexpected("\"[\"", form)
	}
	names := []Ident{}
	p.elements("]", "name", true, func() {
		names = append(names, p.ident("a name"))
		if p.tok.is(":") || p.tok.is("=") {
			p.unexpected("\",\" and another name or \"]\"", "Inputs and outputs have names only: they take values of any kind, and all of them are given.")
		}
	})
	return names
}

// ident reads a name that is declared or assigned to.
func (p *parser) ident(expected string) Ident {
	if p.tok.kind != word {
		hint := ""
		if p.tok.kind == keyword {
			hint = "A keyword cannot be a name; a longer word that begins with it can, such as " + strings.ToLower(p.tok.text) + "_1."
		}
		p.unexpected(expected, hint)
	}
	return p.named(p.tok.text)
}

// anyWord reads a name that is not the program's to choose, so it may be a keyword.
func (p *parser) anyWord(expected string) Ident {
	if p.tok.kind == keyword {
		return p.named(p.tok.text)
	}
	return p.ident(expected)
}

// quoted reports whether a name in quotes stands there.
func (p *parser) quoted() bool { return p.tok.kind == text && p.tok.value != "" }

// named advances past a token that is a name.
func (p *parser) named(name string) Ident {
	id := Ident{p.tok.Span, name}
	p.advance()
	return id
}

// blockOf reads ":", the end of the line and the block below it.
func (p *parser) blockOf(owner *Line, b *Block) { p.blockOfLines(owner, b, p.statement) }

func (p *parser) blockOfLines(owner *Line, b *Block, read func(Line) Statement) {
	owner.To = p.last
	if !p.tok.is(":") {
		hint := "A block begins with a colon."
		if foreign := p.foreignHint(); foreign != "" && p.tok.kind != newline {
			hint = foreign
		} else if p.tok.is("=") {
			hint = "To compare, write ==."
		}
		p.unexpected("\":\"", hint)
	}
	p.advance()
	if p.tok.kind != newline {
		p.unexpected("the end of the line", "The block stands in the lines below, indented by four blanks.")
	}
	p.lineEnd(&owner.Notes)
	if p.tok.kind != indent {
		p.report(Span{p.last, p.last}, CodeSyntax, "Indent what belongs to it by four blanks, or write pass if it shall do nothing.", "a block is missing behind the colon")
		return
	}
	p.indented(b, read)
}

// indented reads the lines of a block, from its indentation to its end.
func (p *parser) indented(b *Block, read func(Line) Statement) {
	defer p.deeper()()
	level := p.lex.level
	p.advance()
	b.From = p.tok.From
	for p.tok.kind != dedent && p.tok.kind != endOfFile {
		if p.tok.kind == indent {
			p.report(p.lineSpan(), CodeSyntax, p.strayHint("Statements of one block are indented alike."), "the line is indented deeper than the one before, but no block begins there")
			b.Statements = append(b.Statements, p.strayBlock().Statements...)
			continue
		}
		b.Statements = append(b.Statements, read(p.line()))
	}
	b.To = p.last
	if n := len(b.Statements); n > 0 {
		b.To = b.Statements[n-1].Range().To
	}
	b.Tail = p.tail(level)
	if p.tok.kind == dedent {
		p.advance()
	}
}
