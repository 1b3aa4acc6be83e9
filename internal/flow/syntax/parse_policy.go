package syntax

import (
	"errors"
	"regexp"
	"strings"

	"github.com/perdure/perdure/retry"
)

// policy lets package retry read the brackets at which the parser is, and returns where
// they end.
func (p *parser) policy(x *Policied) int {
	from := p.tok.From
	p.lex.nested-- // the lexer has counted the bracket
	policy, end, err := retry.ParseAt(p.lex.src, from)
	if err == nil {
		x.Policy = &policy
	} else if to := p.variables(x, from); to > 0 {
		end = to
	} else {
		p.policyFault(from, err)
		end = p.brackets(from)
	}
	x.Brackets = Span{from, end}
	p.lex.jump(end)
	p.tok.To = end
	p.advance()
	if p.tok.is("[") && p.lex.nested > 0 {
		p.fail(p.tok.Span, "The brackets of a policy follow each other in one line; each of them may go on in the next: [retry: 3,", "a second part of the policy begins in another line")
	}
	return end
}

// Bounds of a policy with variables.
const (
	maxVariables  = 16
	maxPolicyText = 4096 // bytes
)

// path is a variable or a field of one.
var path = regexp.MustCompile(`^[\p{L}_][\p{L}\p{N}_]*(\.[\p{L}_][\p{L}\p{N}_]*)*`)

// variables reads a policy that has variables in the places of values, and returns where it
// ends; 0 if it is none.
func (p *parser) variables(x *Policied, from int) (end int) {
	text := []byte(p.lex.src[from:min(len(p.lex.src), from+maxPolicyText)])
	var vars []PolicyVar
	for len(vars) <= maxVariables {
		policy, to, err := retry.ParseAt(string(text), 0)
		if err == nil {
			source := p.lex.src[from : from+to]
			if strings.Contains(source, "#") {
				return 0 // a comment has no place to go
			}
			x.Policy, x.Vars, x.Text = &policy, vars, strings.Join(strings.Fields(source), " ")
			return from + to
		}
		wrong, is := errors.AsType[*retry.NotationError](err)
		if !is || !strings.HasPrefix(wrong.Problem, "is not a ") {
			return 0
		}
		name := path.Find(text[wrong.Offset:])
		before := strings.TrimRight(string(text[:wrong.Offset]), " \n")
		if name == nil || !strings.HasSuffix(before, ":") || isKeyword[string(name)] {
			return 0
		}
		span := Span{from + wrong.Offset, from + wrong.Offset + len(name)}
		vars = append(vars, PolicyVar{span, fieldsOf(string(name), span)})
		copy(text[wrong.Offset:], "1"+strings.Repeat(" ", len(name)-1))
	}
	return 0
}

// fieldsOf is the expression that names with points between them are.
func fieldsOf(name string, span Span) Expr {
	first, rest, more := strings.Cut(name, ".")
	at := span.From + len(first)
	var x Expr = &Name{Span{span.From, at}, first}
	for more {
		var field string
		field, rest, more = strings.Cut(rest, ".")
		id := Ident{Span{at + 1, at + 1 + len(field)}, field}
		at = id.To
		x = &Field{Span: Span{span.From, at}, X: x, Name: id}
	}
	return x
}

// policyFollows reports whether the brackets at which the parser is are those of a
// policy, behind what may have an index, too.
func (p *parser) policyFollows() bool {
	if !p.tok.is("[") {
		return false
	}
	inside := firstLine(p.lex.src[p.tok.To:])
	selector, _, rule := strings.Cut(texts.ReplaceAllString(inside, ""), "->")
	return likePolicy(inside) || rule && !strings.ContainsAny(selector, "[]:") // of a call in the index
}

// texts finds what stands in quotes, where an arrow is no arrow.
var texts = regexp.MustCompile(`"(\\.|[^"\\])*"|'(\\.|[^'\\])*'`)

// policyFault reports what package retry says of a policy.
func (p *parser) policyFault(from int, err error) {
	wrong, is := errors.AsType[*retry.NotationError](err)
	if !is {
		p.report(Span{from, from + 1}, CodePolicy, "", "the policy is not usable: %v", err)
		return
	}
	src := p.lex.src
	if open := strings.LastIndexByte(src[:wrong.Offset], '['); open >= from && !strings.Contains(src[open:wrong.Offset], "]") && strings.Contains(src[open:wrong.Offset], "\n") {
		p.report(Span{open, open + 1}, CodeSyntax, "Close it where it ends.", "the bracket \"[\" is not closed")
		return
	}
	token := strings.TrimSuffix(wrong.Token, "...")
	hint := "Expected: " + wrong.Expected + "."
	inner := strings.TrimLeft(src[from+1:], " -")
	switch {
	case wrong.Problem == "is not a key" && policyHint(wrong.Token) != "":
		hint = policyHint(wrong.Token)
	case wrong.Problem == "is not a key" && strings.Contains(token, "="):
		hint = "Behind a key stands a colon: [retry: 3]."
		if key, _, _ := strings.Cut(token, "="); policyHint(key) != "" {
			hint = policyHint(key) + " " + hint
		}
	case strings.HasSuffix(token, ";"):
		hint = "Settings stand behind commas: [retry: 3, backoff: 30s]."
	case token == "if" || token == "when" || token == "unless":
		hint = policyHint(token)
	case strings.HasPrefix(token, "=>"):
		hint = "The arrow is written ->: [NetworkError -> retry: 3]."
	case strings.HasPrefix(token, "="):
		hint = "Behind a key stands a colon: [retry: 3]."
	case inner != "" && strings.IndexByte("\"'", inner[0]) >= 0 && likePolicy(strings.Replace(inner[1:], inner[:1], "", 1)):
		hint = "The keys of policies stand without quotes: [retry: 3]."
	case inner != "" && strings.IndexByte("0123456789\"'", inner[0]) >= 0:
		hint = "An index behind an action stands outside of parentheses: (@fetch(url=u))[0]."
	}
	p.report(Span{wrong.Offset, wrong.Offset + len(token)}, CodePolicy, hint, "%s %s in this policy", orEnd(wrong.Token), wrong.Problem)
}

// brackets is where the brackets that begin at an offset end, as far as that can be
// told of wrong ones: in the same line at the latest.
func (p *parser) brackets(from int) int {
	line := firstLine(p.lex.src[from:])
	open, end := 0, len(line)
	for i := range line {
		switch line[i] {
		case '[':
			open++
		case ']':
			if open--; open == 0 {
				if rest := strings.TrimLeft(line[i+1:], " \t"); !strings.HasPrefix(rest, "[") {
					return from + i + 1
				}
			}
		case '#':
			return from + i
		}
	}
	return from + end
}

func orEnd(token string) string {
	if token == "" {
		return "the end of the text"
	}
	return "\"" + token + "\""
}
