package syntax

import (
	"maps"
	"strings"

	"github.com/perdure/perdure/internal/near"
)

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
	"elseif":  "A further condition begins with elif.",
	"elsif":   "A further condition begins with elif.",
	"retry":   "A policy stands in brackets behind its action: @fetch(url=u) [retry: 3].",
	"timeout": "A policy stands in brackets behind its action: @fetch(url=u) [timeout: 2m].",
}

// policyKeys are the keys of policies by the names that other notations give them.
var policyKeys = map[string]string{
	"retries": "retry: N, which is N retries", "attempts": "retry: N, which is one less than the attempts", "max_attempts": "retry: N, which is one less than the attempts",
	"tries": "retry: N, which is one less than the attempts", "max_retries": "retry: N", "delay": "fixed or backoff", "wait": "fixed or backoff", "interval": "fixed or backoff",
	"exponential": "backoff", "deadline": "within", "max_delay": "max", "multiplier": "factor",
}

// policyHint is about a word in the place of a key of a policy.
func policyHint(key string) string {
	switch key {
	case "gate":
		return "The gate stands right behind the call, before the policy: @charge(cents=995) [gate: payments] [retry: 3]."
	case "limit", "errors":
		return "It stands behind the list of a spread, or behind the word parallel: spread (@list() [retry: 3]) [limit: 10]: x -> @fetch(url=x)."
	}
	if is := policyKeys[strings.ReplaceAll(strings.ToLower(key), "-", "_")]; is != "" {
		return "It is called " + is + "."
	}
	return near.Hint(key, maps.Keys(isPolicyKey))
}

// isPolicyKey has the keys that brackets behind an action may begin with.
var isPolicyKey = map[string]bool{}

func init() {
	for _, k := range []string{"retry", "backoff", "fixed", "linear", "factor", "max", "jitter", "stop", "timeout", "heartbeat", "queue", "within", "on-timeout", "only", "never", "pause", "max-retry-after", "crashes"} {
		isPolicyKey[k] = true
	}
}

// likePolicy reports whether a text begins like the inside of the brackets of a
// policy: a key and a colon.
func likePolicy(text string) bool {
	key, _, ok := strings.Cut(firstLine(text), ":")
	key = strings.TrimSpace(key)
	return ok && (isPolicyKey[key] || policyKeys[key] != "")
}

// methods are what other languages call with a point, and what is written here.
var methods = map[string]string{
	"append": "Lists do not change; make a longer one: xs = xs + [x].", "push": "Lists do not change; make a longer one: xs = xs + [x].", "add": "Lists do not change; make a longer one: xs = xs + [x].",
	"extend": "Lists do not change; make a longer one: xs = xs + ys.", "update": "Dictionaries do not change; make another one: d = d + {\"key\": 1}.",
	"pop": "Lists do not change; slice(xs, 0, -1) is all but the last one.", "length": "It is a function: len(x).", "size": "It is a function: len(x).",
	"trim": "It is a function: strip(x).", "json": "It is a field: r.json.", "text": "It is a field: r.body.",
}

// foreignHint is about a token that leaves the meaning of its statement open:
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
	case p.tok.is("{") && likePolicy(p.lex.src[p.tok.To:]):
		return "A policy stands in square brackets: @fetch(url=u) [retry: 3]."
	case p.tok.is("{"):
		return "A block begins with a colon, and its lines are indented by four blanks."
	case p.tok.is("if"), p.tok.is("else"):
		return "A choice is a statement with blocks: if, elif and else."
	case p.tok.is(":"):
		return "Only if, elif, else, for, while, try, except, parallel and fn have a block."
	case p.tok.kind == text && before != "" && p.tok.From == p.last:
		return "A text has no letter in front and no names inside. Texts are joined by +: \"a \" + str(x)."
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
