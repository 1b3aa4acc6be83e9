package syntax

import "strings"

// statement reads a statement with its line end and its blocks. One that cannot be
// read becomes Bad, and a block below it is read all the same.
func (p *parser) statement(line Line) Statement { return p.statementOf(line, p.anyStatement) }

func (p *parser) anyStatement(line Line) Statement {
	if p.tok.kind == keyword {
		switch p.tok.text {
		case "pass", "break", "continue":
			s := &Word{line, p.tok.text}
			p.advance()
			p.end(&s.Line)
			return s
		case "return":
			return p.returns(line)
		case "sleep":
			p.advance()
			s := &Sleep{line, p.expression()}
			if p.tok.kind == word {
				p.unexpected("the end of the line", "A duration with its unit is a text: sleep \"1m30s\". A bare number is seconds.")
			}
			p.end(&s.Line)
			return s
		case "for":
			return p.forLoop(line)
		case "while":
			return &While{*p.condition(line)}
		case "if":
			return p.ifElse(line)
		case "try":
			return p.tryExcept(line)
		case "elif", "else":
			p.fail(p.tok.Span, "It stands right behind the block of an if, indented like that.", "%q has no if before it", p.tok.text)
		case "except":
			p.fail(p.tok.Span, "It stands right behind the block of a try, indented like that.", "\"except\" has no try before it")
		case "fn":
			p.fail(p.tok.Span, "Functions stand one after the other, not indented.", "a function stands inside of a block")
		}
	}
	return p.simple(line)
}

func (p *parser) returns(line Line) Statement {
	s := &Return{Line: line}
	p.advance()
	if p.tok.kind != newline {
		s.Value = p.expression()
		if p.tok.is(",") {
			p.unexpected("the end of the line", "Return several values as a list: return [a, b].")
		}
	}
	p.end(&s.Line)
	return s
}

// simple reads an assignment, an action, a parallel block or another expression.
func (p *parser) simple(line Line) Statement {
	if s := p.parallelBlock(line, nil); s != nil {
		return s
	}
	x := p.expression()
	name, isName := x.(*Name)
	if !isName || !p.tok.is(",") && !p.tok.is("=") {
		s := &Do{line, x}
		p.end(&s.Line)
		return s
	}
	targets := []Ident{{name.Span, name.Name}}
	for p.more(len(targets)) {
		targets = append(targets, p.ident("another name to be assigned to"))
	}
	p.want("=", "Several names before a \"=\" take the elements of a list: a, b = f().")
	if s := p.parallelBlock(line, targets); s != nil {
		return s
	}
	s := &Assign{line, targets, p.expression()}
	if p.tok.is("=") {
		p.unexpected("the end of the line", "One value is assigned at a time; write a second line. To compare, write ==.")
	}
	if _, number := s.Value.(*Int); number && p.tok.is(",") && p.tok.To < len(p.lex.src) && p.lex.src[p.tok.To] != ' ' {
		p.unexpected("the end of the line", "A number has no commas: 1000. Several values are a list: [1, 2].")
	}
	if p.tok.is(",") {
		p.unexpected("the end of the line", "Several values are a list: a, b = [1, 2].")
	}
	p.end(&s.Line)
	return s
}

// parallelBlock reads "parallel:" with its calls, if that is what stands there.
func (p *parser) parallelBlock(line Line, targets []Ident) Statement {
	if !p.tok.is("parallel") || !p.colonFollows() {
		return nil
	}
	s := &ParallelBlock{Line: line, Targets: targets, Body: &Block{}}
	p.advance()
	p.fan(&s.Fan)
	p.blockOfLines(&s.Line, s.Body, func(line Line) Statement { return p.statementOf(line, p.parallelLine) })
	return s
}

// colonFollows looks behind the word at which the parser is.
func (p *parser) colonFollows() bool {
	for at := p.tok.To; at < len(p.lex.src); at++ {
		if c := p.lex.src[at]; c != ' ' && c != '\t' {
			return c == ':' || c == '['
		}
	}
	return false
}

// statementOf is statement for blocks in which only some kinds have a meaning.
func (p *parser) statementOf(line Line, read func(Line) Statement) (s Statement) {
	p.ops = 0
	if !p.clause(func() { s = read(line) }) {
		return &Bad{line}
	}
	return s
}

const parallelHint = "A parallel block has one call in each line: @fetch(url=u), or f(x). Its results are a list: a, b = parallel:"

// parallelLine reads a call in a parallel block.
func (p *parser) parallelLine(line Line) Statement {
	if p.tok.kind == keyword {
		p.fail(p.tok.Span, parallelHint, "%s has no meaning in a parallel block", p.tok.shows())
	}
	s := &Do{line, p.expression()}
	if p.tok.is("=") || p.tok.is(",") {
		p.fail(p.tok.Span, parallelHint, "a parallel block has no assignments")
	}
	if !isCall(s.Value) {
		p.fail(Span{line.From, p.last}, parallelHint, "this is neither an action nor the call of a function")
	}
	p.end(&s.Line)
	return s
}

// isCall reports whether an expression may be made in parallel with others.
func isCall(x Expr) bool {
	switch x.(type) {
	case *Action, *Call:
		return true
	}
	return false
}

func (p *parser) forLoop(line Line) Statement {
	s := &For{Line: line, Body: &Block{}}
	p.advance()
	const form = "A loop begins like this: for x in xs:, or for i in range(10):"
	if p.tok.is("(") {
		p.unexpected("the name of the element", form)
	}
	s.Targets = []Ident{p.ident("the name of the element")}
	for p.more(len(s.Targets)) {
		s.Targets = append(s.Targets, p.ident("another name"))
	}
	p.want("in", form)
	s.In = p.expression()
	p.blockOf(&s.Line, s.Body)
	return s
}

func (p *parser) ifElse(line Line) Statement {
	s := &If{[]*Clause{p.condition(line)}}
	for p.elif() {
		p.clause(func() { s.Clauses = append(s.Clauses, p.condition(p.line())) })
	}
	if p.tok.is("else") {
		p.clause(func() {
			c := &Clause{Line: p.line(), Body: &Block{}}
			p.advance()
			p.blockOf(&c.Line, c.Body)
			s.Clauses = append(s.Clauses, c)
		})
	}
	return s
}

// elif reports whether another condition of an if begins. It may be written as in
// other languages, which is one fault.
func (p *parser) elif() bool {
	switch {
	case p.tok.is("elif"):
		return true
	case p.tok.kind == word && (p.tok.text == "elseif" || p.tok.text == "elsif"):
	case p.tok.is("else") && strings.HasPrefix(strings.TrimLeft(p.lex.src[p.tok.To:], " "), "if "):
		p.report(p.tok.Span, CodeSyntax, "A further condition begins with elif.", "\"else if\" stands where \"elif\" should")
		p.advance()
		return true
	default:
		return false
	}
	p.report(p.tok.Span, CodeSyntax, "A further condition begins with elif.", "%q stands where \"elif\" should", p.tok.text)
	return true
}

// condition reads if, elif or while, the condition and the block.
func (p *parser) condition(line Line) *Clause {
	c := &Clause{Line: line, Body: &Block{}}
	p.advance()
	c.Condition = p.expression()
	p.blockOf(&c.Line, c.Body)
	return c
}

// clause reads a statement or a clause of one. If it cannot be read, the block below it is
// read all the same, and the parser goes on behind that.
func (p *parser) clause(read func()) bool {
	if p.guard(read) {
		return true
	}
	if p.tok.kind == indent {
		p.strayBlock()
	}
	return false
}

func (p *parser) tryExcept(line Line) Statement {
	s := &Try{Line: line, Body: &Block{}}
	p.advance()
	if p.tok.is("[") {
		p.policy(&s.Policied)
	}
	p.blockOf(&s.Line, s.Body)
	clauses := 0
	for ; p.tok.is("except"); clauses++ {
		c := &Except{Line: p.line(), Body: &Block{}}
		if p.clause(func() { p.except(c) }) {
			s.Handlers = append(s.Handlers, c)
		}
	}
	if clauses == 0 && s.Brackets == (Span{}) {
		p.report(s.Span, CodeSyntax, "Add one behind the block: except NetworkError as e:", tryAlone)
	}
	return s
}

func (p *parser) except(c *Except) {
	p.advance()
	switch {
	case p.tok.is("("):
		p.enter()
		for !p.tok.is(")") || len(c.Types) == 0 {
			c.Types = append(c.Types, p.typeName())
			if !p.more(len(c.Types)) {
				break
			}
		}
		p.leave(")", "\",\" and another error type")
	case !p.tok.is(":") && !p.tok.is("as"):
		c.Types = append(c.Types, p.typeName())
		for p.more(len(c.Types)) {
			c.Types = append(c.Types, p.typeName())
		}
	}
	if p.take("as") {
		as := p.ident("the name of the error")
		c.As = &as
	}
	p.blockOf(&c.Line, c.Body)
}

// typeName reads the name of an error type: a word, words with dots, or a text.
func (p *parser) typeName() Ident {
	if p.quoted() {
		return p.named(p.tok.value)
	}
	return p.dotted("an error type")
}

// dotted reads words with dots between them.
func (p *parser) dotted(expected string) Ident {
	id := p.anyWord(expected)
	for p.take(".") {
		next := p.anyWord(expected)
		id.Name += "." + next.Name
		id.To = next.To
	}
	return id
}
