package syntax

import "strings"

// statement reads a statement with its line end and its blocks. One that cannot be
// read becomes Bad, and a block below it is read all the same.
func (p *parser) statement(notes Notes) (s Statement) {
	return p.statementOf(notes, p.anyStatement)
}

func (p *parser) anyStatement(notes Notes) Statement {
	from := p.tok.From
	if p.tok.kind == keyword {
		switch p.tok.text {
		case "pass":
			s := &Pass{Notes: notes}
			p.single(&s.Span, &s.Notes)
			return s
		case "break":
			s := &Break{Notes: notes}
			p.single(&s.Span, &s.Notes)
			return s
		case "continue":
			s := &Continue{Notes: notes}
			p.single(&s.Span, &s.Notes)
			return s
		case "return":
			return p.returns(notes)
		case "sleep":
			s := &Sleep{Notes: notes}
			p.advance()
			s.For = p.expression()
			if p.tok.kind == word {
				p.unexpected("the end of the line", "A duration with its unit is a text: sleep \"1m30s\". A bare number is seconds.")
			}
			s.Span = Span{from, p.last}
			p.lineEnd(&s.Notes)
			return s
		case "for":
			return p.forLoop(notes)
		case "while":
			s := &While{Notes: notes, Body: &Block{}}
			p.advance()
			s.Condition = p.expression()
			s.Span = Span{from, p.last}
			p.blockOf(&s.Notes, s.Body)
			return s
		case "if":
			return p.ifElse(notes)
		case "try":
			return p.tryExcept(notes)
		case "elif", "else":
			p.fail(p.tok.Span, "It stands right behind the block of an if, indented like that.", "%q has no if before it", p.tok.text)
		case "except":
			p.fail(p.tok.Span, "It stands right behind the block of a try, indented like that.", "\"except\" has no try before it")
		case "fn":
			p.fail(p.tok.Span, "Functions stand one after the other, not indented.", "a function stands inside of a block")
		}
	}
	return p.simple(notes)
}

// single reads a statement of one word.
func (p *parser) single(span *Span, notes *Notes) {
	*span = p.tok.Span
	p.advance()
	p.lineEnd(notes)
}

func (p *parser) returns(notes Notes) Statement {
	s := &Return{Span: p.tok.Span, Notes: notes}
	p.advance()
	if p.tok.kind != newline {
		s.Value = p.expression()
		if p.tok.is(",") {
			p.unexpected("the end of the line", "Return several values as a list: return [a, b].")
		}
	}
	s.To = p.last
	p.lineEnd(&s.Notes)
	return s
}

// simple reads an assignment, an action, a parallel block or another expression.
func (p *parser) simple(notes Notes) Statement {
	from := p.tok.From
	if s := p.parallelBlock(from, nil, notes); s != nil {
		return s
	}
	x := p.expression()
	name, isName := x.(*Name)
	if !isName || !p.tok.is(",") && !p.tok.is("=") {
		s := &Do{Span: Span{from, p.last}, Notes: notes, Value: x}
		p.lineEnd(&s.Notes)
		return s
	}
	targets := []Ident{{name.Span, name.Name}}
	for p.more(len(targets)) {
		targets = append(targets, p.ident("another name to be assigned to"))
	}
	p.want("=", "Several names before a \"=\" take the elements of a list: a, b = f().")
	if s := p.parallelBlock(from, targets, notes); s != nil {
		return s
	}
	s := &Assign{Notes: notes, Targets: targets, Value: p.expression()}
	s.Span = Span{from, p.last}
	if p.tok.is("=") {
		p.unexpected("the end of the line", "One value is assigned at a time; write a second line. To compare, write ==.")
	}
	if _, number := s.Value.(*Int); number && p.tok.is(",") && p.tok.To < len(p.lex.src) && p.lex.src[p.tok.To] != ' ' {
		p.unexpected("the end of the line", "A number has no commas: 1000. Several values are a list: [1, 2].")
	}
	if p.tok.is(",") {
		p.unexpected("the end of the line", "Several values are a list: a, b = [1, 2].")
	}
	p.lineEnd(&s.Notes)
	return s
}

// parallelBlock reads "parallel:" with its calls, if that is what stands there.
func (p *parser) parallelBlock(from int, targets []Ident, notes Notes) Statement {
	if !p.tok.is("parallel") || !p.colonFollows() {
		return nil
	}
	s := &ParallelBlock{Notes: notes, Targets: targets, Body: &Block{}}
	p.advance()
	p.fan(&s.Fan)
	s.Span = Span{from, p.last}
	p.blockOfLines(&s.Notes, s.Body, func(n Notes) Statement { return p.statementOf(n, p.parallelLine) })
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
func (p *parser) statementOf(notes Notes, read func(Notes) Statement) (s Statement) {
	from := p.tok.Span
	p.ops = 0
	if !p.guard(func() { s = read(notes) }) {
		if p.tok.kind == indent {
			p.strayBlock()
		}
		return &Bad{Span: from, Notes: notes}
	}
	return s
}

const parallelHint = "A parallel block has one call in each line: @fetch(url=u), or f(x). Its results are a list: a, b = parallel:"

// parallelLine reads a call in a parallel block.
func (p *parser) parallelLine(notes Notes) Statement {
	if p.tok.kind == keyword {
		p.fail(p.tok.Span, parallelHint, "%s has no meaning in a parallel block", p.tok.shows())
	}
	from := p.tok.From
	s := &Do{Notes: notes, Value: p.expression()}
	s.Span = Span{from, p.last}
	if p.tok.is("=") || p.tok.is(",") {
		p.fail(p.tok.Span, parallelHint, "a parallel block has no assignments")
	}
	if !isCall(s.Value) {
		p.fail(s.Span, parallelHint, "this is neither an action nor the call of a function")
	}
	p.lineEnd(&s.Notes)
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

func (p *parser) forLoop(notes Notes) Statement {
	s := &For{Span: p.tok.Span, Notes: notes, Body: &Block{}}
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
	s.To = p.last
	p.blockOf(&s.Notes, s.Body)
	return s
}

func (p *parser) ifElse(notes Notes) Statement {
	s := &If{Span: p.tok.Span, Notes: notes, Body: &Block{}}
	p.advance()
	s.Condition = p.expression()
	s.To = p.last
	p.blockOf(&s.Notes, s.Body)
	for p.elif() {
		c := &Elif{Span: p.tok.Span, Notes: p.notes(), Body: &Block{}}
		if p.clause(func() { p.condition(c) }) {
			s.Elifs = append(s.Elifs, c)
		}
	}
	if p.tok.is("else") {
		c := &Else{Span: p.tok.Span, Notes: p.notes(), Body: &Block{}}
		if p.clause(func() {
			p.advance()
			p.blockOf(&c.Notes, c.Body)
		}) {
			s.Else = c
		}
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

// condition reads elif, its condition and its block.
func (p *parser) condition(c *Elif) {
	p.advance()
	c.Condition = p.expression()
	c.To = p.last
	p.blockOf(&c.Notes, c.Body)
}

// clause reads a clause of a statement; one that cannot be read does not end the
// statement.
func (p *parser) clause(read func()) bool {
	if p.guard(read) {
		return true
	}
	if p.tok.kind == indent {
		p.strayBlock()
	}
	return false
}

func (p *parser) tryExcept(notes Notes) Statement {
	s := &Try{Span: p.tok.Span, Notes: notes, Body: &Block{}}
	p.advance()
	if p.tok.is("[") {
		s.To = p.policy(&s.Policied)
	}
	p.blockOf(&s.Notes, s.Body)
	clauses := 0
	for ; p.tok.is("except"); clauses++ {
		c := &Except{Span: p.tok.Span, Notes: p.notes(), Body: &Block{}}
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
	c.To = p.last
	p.blockOf(&c.Notes, c.Body)
}

// typeName reads the name of an error type: a word, words with dots, or a text.
func (p *parser) typeName() Ident {
	if p.tok.kind == text && p.tok.value != "" {
		id := Ident{p.tok.Span, p.tok.value}
		p.advance()
		return id
	}
	return p.dotted("an error type")
}

// dotted reads words with dots between them.
func (p *parser) dotted(expected string) Ident {
	part := func() Ident {
		if p.tok.kind == keyword { // the names of actions and types are not ours to choose
			id := Ident{p.tok.Span, p.tok.text}
			p.advance()
			return id
		}
		return p.ident(expected)
	}
	id := part()
	for p.tok.is(".") {
		p.advance()
		next := part()
		id.Name += "." + next.Name
		id.To = next.To
	}
	return id
}
