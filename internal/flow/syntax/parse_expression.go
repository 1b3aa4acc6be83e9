package syntax

import "strings"

// levels are the operators between two expressions, those that bind least first.
// All of them are left-associative. Between and and the comparisons stands not.
var levels = [][]string{
	{"or"},
	{"and"},
	{"==", "!=", "<", "<=", ">", ">=", "in", "not in"},
	{"+", "-"},
	{"*", "/", "//", "%"},
}

// The places of levels that others refer to.
const (
	levelOr, levelAnd, levelCompare = 0, 1, 2
	levelUnary                      = 5
	levelPostfix                    = 6
)

// expression reads an expression.
func (p *parser) expression() Expr {
	defer p.deeper()()
	return p.binary(levelOr)
}

// binary reads operators of a level and those that bind more.
func (p *parser) binary(level int) Expr {
	switch {
	case level == levelCompare && p.tok.is("not"):
		return p.not()
	case level == levelUnary:
		return p.unary()
	}
	from := p.tok.From
	x := p.binary(level + 1)
	for {
		op, span := p.operator(level)
		if op == "" {
			return x
		}
		if p.ops++; p.ops > MaxOperators {
			p.report(span, CodeLimit, "Give parts of it names.", "the statement has more than %d operators", MaxOperators)
			panic(bailout{fatal: true})
		}
		y := p.binary(level + 1)
		x = &Binary{Span: Span{from, p.last}, Op: op, OpPos: span, X: x, Y: y}
	}
}

// operator advances past an operator of a level, if there is one.
func (p *parser) operator(level int) (op string, span Span) {
	if p.tok.kind != mark && p.tok.kind != keyword {
		return "", Span{}
	}
	span = p.tok.Span
	if level == levelCompare && p.tok.is("not") {
		p.advance()
		p.want("in", "Between two expressions stands \"not in\"; \"not\" alone stands before one.")
		return "not in", Span{span.From, p.last}
	}
	for _, o := range levels[level] {
		if p.take(o) {
			return o, span
		}
	}
	return "", Span{}
}

// not reads not with what follows it, which may be a comparison: not a == b is
// not (a == b).
func (p *parser) not() Expr {
	defer p.deeper()()
	from := p.tok.From
	p.advance()
	x := p.binary(levelCompare)
	return &Unary{Span: Span{from, p.last}, Op: "not", X: x}
}

// unary reads what stands before an operand.
func (p *parser) unary() Expr {
	from := p.tok.From
	switch {
	case p.tok.is("not"):
		defer p.deeper()()
		p.advance()
		x := p.unary()
		return &Unary{Span: Span{from, p.last}, Op: "not", X: x}
	case p.tok.is("-"):
		defer p.deeper()()
		p.advance()
		if number := p.negative(from); number != nil {
			return number
		}
		x := p.unary()
		return &Unary{Span: Span{from, p.last}, Op: "-", X: x}
	case p.tok.is("+"):
		p.unexpected("an expression", "A number above zero has no sign. To count up, write x = x + 1.")
	}
	return p.postfix()
}

// negative reads a number behind a minus as one value, so that the smallest one can
// be written; nil if there is none, or something is applied to it.
func (p *parser) negative(from int) Expr {
	if p.tok.kind != intNumber && p.tok.kind != floatNumber || p.tok.To < len(p.lex.src) && (p.lex.src[p.tok.To] == '.' || p.lex.src[p.tok.To] == '[') {
		return nil
	}
	t := p.tok
	p.advance()
	span := Span{from, p.last}
	if t.kind == floatNumber {
		return &Float{span, -t.number}
	}
	return &Int{span, int64(-t.integer)}
}

// postfix reads an operand with .name and [index] behind it.
func (p *parser) postfix() Expr {
	from := p.tok.From
	x := p.operand()
	for n := 1; ; n++ {
		if n > MaxNesting {
			p.report(p.tok.Span, CodeLimit, "Give parts of it names.", "the expression has more than %d fields in a row", MaxNesting)
			panic(bailout{fatal: true})
		}
		switch {
		case p.tok.is("."):
			p.advance()
			x = &Field{X: x, Name: p.fieldName()}
			x.(*Field).Span = Span{from, p.last}
		case p.optionsFollow("limit", "errors"):
			return x
		case p.tok.is("["):
			p.enter()
			i := p.expression()
			if p.tok.is(":") && ofAction(x) {
				p.unexpected("\"]\"", "A policy stands right behind its action: (@fetch(url=u) [retry: 3]).json")
			}
			if p.tok.is(":") {
				p.unexpected("\"]\"", "There are no slices; the function slice(list, from, to) makes a part of a list or text.")
			}
			p.leave("]", "the end of the index")
			x = &Index{Span: Span{from, p.last}, X: x, I: i}
		case p.tok.is("("):
			hint := "Only functions are called, by their names."
			if f, is := x.(*Field); is && methodHint(f) != "" {
				hint = methodHint(f)
			} else if is {
				hint = "Values have no methods: functions are called with them, upper(x), and actions with an @, @http.get(url=u)."
			}
			p.unexpected("an operator or the end of the expression", hint)
		default:
			return x
		}
	}
}

// ofAction reports whether an expression is a part of the result of an action.
func ofAction(x Expr) bool {
	for {
		switch part := x.(type) {
		case *Action:
			return true
		case *Field:
			x = part.X
		case *Index:
			x = part.X
		default:
			return false
		}
	}
}

// fieldName reads the name of a field, which may be a keyword.
func (p *parser) fieldName() Ident {
	if p.tok.kind == text {
		p.unexpected("the name of a field", "Texts are joined by +.")
	}
	if p.tok.is(".") {
		p.unexpected("the name of a field", "Whole numbers from a up to b, which is not among them, are range(a, b).")
	}
	return p.anyWord("the name of a field")
}

// operand reads what operators are applied to.
func (p *parser) operand() Expr {
	t := p.tok
	switch t.kind {
	case intNumber:
		p.advance()
		if t.integer > 1<<63-1 {
			p.report(t.Span, CodeSyntax, "Whole numbers go from -9223372036854775808 to 9223372036854775807.", "the number %s is too large", t.text)
		}
		return &Int{t.Span, int64(t.integer)}
	case floatNumber:
		p.advance()
		return &Float{t.Span, t.number}
	case text:
		p.advance()
		if p.tok.kind == text {
			hint := "Texts are joined by +."
			if t.value == "" && p.tok.From == t.To {
				hint = "A text stands in one line, between \" and \". A comment begins with #."
			}
			p.unexpected("an operator or the end of the expression", hint)
		}
		return &String{t.Span, t.value}
	case word:
		p.advance()
		if p.tok.is("(") {
			return p.call(Ident{t.Span, t.text})
		}
		if t.text == "wait" && p.tok.kind == word && p.tok.text == "signal" {
			return p.wait(t.From)
		}
		return &Name{t.Span, t.text}
	}
	switch t.text {
	case "True", "False":
		p.advance()
		return &Bool{t.Span, t.text == "True"}
	case "None":
		p.advance()
		return &None{t.Span}
	case "(":
		p.enter()
		x := p.expression()
		if p.tok.is(",") {
			p.unexpected("\")\"", "Several values are a list: [a, b].")
		}
		p.leave(")", "an operator")
		return x
	case "[":
		return p.list()
	case "{":
		return p.dict()
	case "@":
		return p.action()
	case "spread":
		return p.spread()
	case "parallel":
		return p.parallel()
	}
	p.unexpected("an expression", p.operandHint())
	return nil
}

// operandHint is about what people write where an expression should be.
func (p *parser) operandHint() string {
	switch {
	case p.tok.is("fn"):
		return "Functions stand one after the other, not inside of expressions."
	case p.tok.is("sleep"):
		return "sleep is a statement: it has a line of its own and no value."
	case p.tok.kind == keyword:
		return "A keyword cannot be a name."
	case p.tok.kind == newline:
		return "An expression goes on in the next line only inside of brackets."
	}
	return p.foreignOperand()
}

func (p *parser) list() Expr {
	x := &List{Span: p.tok.Span}
	p.elements("]", "element", false, func() {
		x.Items = append(x.Items, p.expression())
		if p.tok.is(":") && likePolicy(p.lex.src[x.From+1:]) {
			p.unexpected("\",\" and another element or \"]\"", "A policy stands behind its action: @fetch(url=u) [retry: 3].")
		}
		if p.tok.is("for") {
			p.unexpected("\",\" and another element or \"]\"", "A list of results is made by spread xs: x -> @f(x=x), or by a loop: ys = ys + [y].")
		}
	})
	x.To = p.last
	return x
}

func (p *parser) dict() Expr {
	x := &Dict{Span: p.tok.Span}
	p.elements("}", "key", false, func() {
		key := p.expression()
		p.want(":", "A dictionary looks like this: {\"key\": value, \"other\": value}.")
		x.Entries = append(x.Entries, Entry{key, p.expression()})
	})
	x.To = p.last
	return x
}

// arguments reads the arguments of a call, from "(" to ")".
func (p *parser) arguments() (args []Arg) {
	p.elements(")", "argument", true, func() {
		x := p.expression()
		arg := Arg{Value: x}
		if name, is := x.(*Name); is && p.tok.is("=") {
			p.advance()
			arg = Arg{Name: Ident{name.Span, name.Name}, Value: p.expression()}
		}
		args = append(args, arg)
	})
	return args
}

// call reads the arguments of a function whose name was read.
func (p *parser) call(name Ident) Expr {
	x := &Call{Span: name.Span, Name: name, Args: p.arguments()}
	x.To = p.last
	if p.policyFollows() {
		x.To = p.policy(&x.Policied)
	}
	return x
}

// wait reads wait signal NAME with its timeout, behind the word wait.
func (p *parser) wait(from int) Expr {
	x := &Wait{Span: Span{From: from}}
	p.advance()
	if p.quoted() {
		x.Signal = p.named(p.tok.value)
	} else {
		x.Signal = p.ident("the name of a signal")
	}
	x.To = p.last
	if p.policyFollows() {
		x.To = p.policy(&x.Policied)
	}
	return x
}

// action reads an action with its policy.
func (p *parser) action() *Action {
	x := p.plainAction()
	if p.optionsFollow("gate") {
		p.gatesOf(x)
	}
	if p.optionsFollow("verify") {
		p.verifyOf(x)
	}
	if p.tok.is("[") {
		x.To = p.policy(&x.Policied)
	}
	return x
}

// plainAction reads an action with its arguments.
func (p *parser) plainAction() *Action {
	x := &Action{Span: p.tok.Span}
	p.advance()
	if p.tok.From != p.last {
		p.fail(p.tok.Span, "The name follows the @ at once: @http.get(url=u).", "there is a blank behind the @")
	}
	x.Name = p.dotted("the name of an action")
	if !p.tok.is("(") {
		p.unexpected("\"(\"", "An action is called with its arguments: @fetch(url=u), or @fetch() without any.")
	}
	p.elements(")", "argument", true, func() {
		arg := p.expression()
		name, is := arg.(*Name)
		if quoted, text := arg.(*String); text && (p.tok.is("=") || p.tok.is(":")) {
			p.fail(arg.Range(), "Names stand without quotes: @fetch(url=u).", "the name of the argument %s is in quotes", quoted.Value)
		}
		if !is || !p.tok.is("=") {
			p.fail(arg.Range(), "Give it a name: @fetch(url=u).", "the argument of an action has no name")
		}
		p.advance()
		x.Args = append(x.Args, Arg{Name: Ident{name.Span, name.Name}, Value: p.expression()})
	})
	x.To = p.last
	return x
}

// spread reads spread XS: X -> @action(...), or with a call of a function.
func (p *parser) spread() Expr {
	const form = "A spread looks like this: spread xs: x -> @fetch(url=x)"
	x := &Spread{Span: p.tok.Span}
	p.advance()
	x.Over = p.expression()
	p.fan(&x.Fan)
	p.want(":", form)
	x.As = p.ident("the name of the element")
	if p.tok.is("=") && strings.HasPrefix(p.lex.src[p.tok.To:], ">") {
		p.unexpected("\"->\"", "The arrow is written ->. "+form)
	}
	p.want("->", form)
	switch name := p.tok; {
	case p.tok.is("@"):
		x.Call = p.action()
	case p.tok.kind == word && strings.HasPrefix(p.lex.src[p.tok.To:], "("):
		p.advance()
		x.Call = p.call(Ident{name.Span, name.text})
	default:
		p.unexpected("an action or the call of a function", form)
	}
	x.To = p.last
	return x
}

// parallel reads parallel(call, call).
func (p *parser) parallel() Expr {
	x := &Parallel{Span: p.tok.Span}
	p.advance()
	if !p.tok.is("(") {
		p.unexpected("\"(\" or \":\"", "Several calls at once: parallel(@a(), @b()), or a block behind parallel:")
	}
	p.elements(")", "call", false, func() {
		call := p.expression()
		if !isCall(call) {
			p.fail(call.Range(), "parallel takes calls: parallel(@fetch(url=u), f(x)).", "this is neither an action nor the call of a function")
		}
		x.Calls = append(x.Calls, call)
	})
	x.To = p.last
	if p.optionsFollow("limit", "errors") {
		p.fan(&x.Fan)
		x.To = p.last
	}
	return x
}
