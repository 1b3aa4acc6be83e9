package syntax

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/retry"
)

// optionsFollow reports whether brackets at which the parser is begin with one of some
// keys, so that they are no index and no policy.
func (p *parser) optionsFollow(keys ...string) bool {
	if !p.tok.is("[") {
		return false
	}
	key, _, colon := strings.Cut(firstLine(p.lex.src[p.tok.To:]), ":")
	return colon && slices.Contains(keys, strings.TrimSpace(key))
}

// setting is a key with its value in brackets.
type setting struct {
	Span
	key, value string
}

const (
	fanForm  = "Calls at once have a limit, and can have their errors as values: [limit: 10, errors: values]"
	gateForm = "A gate looks like this: gate payments [limit: 10], also with rate: 100/1m, burst: 10, mode: hold"
)

// settings reads brackets with keys and values, all in one line.
func (p *parser) settings(form string) (all []setting) {
	from := p.tok.From
	p.lex.nested-- // the lexer has counted the bracket
	inside, _, closed := strings.Cut(firstLine(p.lex.src[p.tok.To:]), "]")
	if !closed {
		p.fail(p.tok.Span, "Close it in the same line.", "the bracket %q is not closed", "[")
	}
	at := p.tok.To
	for part := range strings.SplitSeq(inside, ",") {
		key, value, _ := strings.Cut(part, ":")
		s := setting{Span{at + len(part) - len(strings.TrimLeft(part, " ")), at + len(part)}, strings.TrimSpace(key), strings.TrimSpace(value)}
		if s.key == "" || s.value == "" {
			p.fail(Span{from, at + len(part)}, form, "there is no key with a value")
		}
		if slices.ContainsFunc(all, func(other setting) bool { return other.key == s.key }) {
			p.fail(s.Span, "Remove one of them.", "the key %s stands there twice", s.key)
		}
		all = append(all, s)
		at += len(part) + 1
	}
	p.lex.jump(at)
	p.tok.To = at
	p.advance()
	return all
}

// fan reads the brackets of a spread or a parallel, if there are any.
func (p *parser) fan(f *Fan) {
	if !p.tok.is("[") {
		return
	}
	for _, s := range p.settings(fanForm) {
		switch {
		case s.key == "limit":
			f.Limit = p.count(s, fanForm)
		case s.key == "errors" && s.value == "values":
			f.Values = true
		default:
			p.fail(s.Span, fanForm, "%s: %s has no meaning here", s.key, s.value)
		}
	}
}

// MaxCount is the largest number in a setting of a gate or a spread.
const MaxCount = 1_000_000

func (p *parser) count(s setting, form string) int {
	n, err := strconv.Atoi(s.value)
	if err != nil || n < 1 || n > MaxCount {
		p.fail(s.Span, form, "%s is a whole number from 1 to %d, and not %s", s.key, MaxCount, clip(s.value, 40))
	}
	return n
}

// gateFollows reports whether the declaration of a gate begins.
func (p *parser) gateFollows() bool {
	if p.tok.kind != word || p.tok.text != "gate" {
		return false
	}
	rest := strings.TrimLeft(firstLine(p.lex.src[p.tok.To:]), " ")
	return len(rest) > 0 && nameLength(rest) > 0
}

// gate reads the declaration of a gate.
func (p *parser) gate(line Line) {
	g := &Gate{Line: line}
	p.guard(func() {
		p.advance()
		g.Name = p.ident("the name of the gate")
		if !p.tok.is("[") {
			p.unexpected("\"[\"", gateForm)
		}
		for _, s := range p.settings(gateForm) {
			p.gateSetting(g, s)
		}
		g.To = p.last
		if g.Limit == 0 {
			p.fail(g.Span, gateForm, "the gate %s has no limit", g.Name.Name)
		}
		if g.Burst > 0 && g.Count == 0 {
			p.fail(g.Span, gateForm, "the gate %s has a burst and no rate", g.Name.Name)
		}
		p.lineEnd(&g.Notes)
		p.file.Gates = append(p.file.Gates, g)
	})
}

func (p *parser) gateSetting(g *Gate, s setting) {
	switch s.key {
	case "limit":
		g.Limit = p.count(s, gateForm)
	case "burst":
		g.Burst = p.count(s, gateForm)
	case "rate":
		count, per, _ := strings.Cut(s.value, "/")
		g.Count = p.count(setting{s.Span, "rate", strings.TrimSpace(count)}, gateForm)
		var err error
		if g.Per, err = Duration(strings.TrimSpace(per)); err != nil || g.Per < time.Millisecond {
			p.fail(s.Span, gateForm, "the rate is a number of attempts in a time, such as 100/1m, and not %s", clip(s.value, 40))
		}
	case "mode":
		if g.Mode = s.value; !slices.Contains([]string{"hold", "release", "rejoin"}, s.value) {
			p.fail(s.Span, "With hold a call keeps its slot while it waits for a retry, with release and rejoin it does not; rejoin takes it back first.", "the mode is hold, release or rejoin, and not %s", clip(s.value, 40))
		}
	default:
		p.fail(s.Span, gateForm, "a gate has no %s", clip(s.key, 40))
	}
}

// gatesOf reads the gates of an action.
func (p *parser) gatesOf(x *Action) {
	p.enter()
	p.advance()
	p.want(":", "")
	parens := p.tok.is("(")
	if parens {
		p.enter()
	}
	x.Gates = append(x.Gates, p.ident("the name of a gate"))
	for parens && p.more(len(x.Gates)) {
		x.Gates = append(x.Gates, p.ident("the name of a gate"))
	}
	if parens {
		p.leave(")", "\",\" and another gate")
	}
	x.To = p.tok.To
	if p.tok.is(",") {
		p.unexpected("\"]\"", "Several gates stand in parentheses, and the policy in brackets of its own: [gate: (a, b)] [retry: 3].")
	}
	p.leave("]", "the end of the gate")
}

// verifyOf reads what says whether an attempt of an action had its effect.
func (p *parser) verifyOf(x *Action) {
	const form = "It looks like this: @charge(order=o) [verify: @find_charge(order=o.id)] [retry: 3]. What it finds is the result; null means that nothing was done"
	p.enter()
	p.advance()
	p.want(":", form)
	if !p.tok.is("@") {
		p.unexpected("an action", form)
	}
	x.Verify = p.plainAction()
	x.To = p.tok.To
	p.leave("]", "the end of verify")
}

// verify is what says whether an attempt had its effect, with a blank before it.
func (x *Action) verify() string {
	if x.Verify == nil {
		return ""
	}
	return " [verify: " + flat(x.Verify, levelOr) + "]"
}

// options are the brackets of a fan, with a blank before them.
func (f *Fan) options() string {
	var all []string
	if f.Limit > 0 {
		all = append(all, "limit: "+strconv.Itoa(f.Limit))
	}
	if f.Values {
		all = append(all, "errors: values")
	}
	if all == nil {
		return ""
	}
	return " [" + strings.Join(all, ", ") + "]"
}

// text is the declaration of a gate.
func (g *Gate) text() string {
	all := "limit: " + strconv.Itoa(g.Limit)
	if g.Count > 0 {
		_, per, _ := strings.Cut(retry.Policy{AttemptTimeout: g.Per}.String(), "timeout: ") // the words of the notation
		all += ", rate: " + strconv.Itoa(g.Count) + "/" + per[:strings.IndexAny(per, ",]")]
	}
	if g.Burst > 0 {
		all += ", burst: " + strconv.Itoa(g.Burst)
	}
	if g.Mode != "" {
		all += ", mode: " + g.Mode
	}
	return "gate " + g.Name.Name + " [" + all + "]"
}

// gates are the gates of an action, with a blank before them.
func (x *Action) gates() string {
	if len(x.Gates) == 0 {
		return ""
	}
	if len(x.Gates) == 1 {
		return " [gate: " + x.Gates[0].Name + "]"
	}
	return " [gate: " + idents(x.Gates, "(", ")") + "]"
}
