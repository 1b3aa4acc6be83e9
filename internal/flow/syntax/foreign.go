package syntax

import (
	"maps"
	"strings"

	"github.com/perdure/perdure/internal/near"
)

// byWord turns a table of hints, each with the words that it is about, into one of words.
func byWord(hints map[string]string) map[string]string {
	all := map[string]string{}
	for hint, words := range hints {
		for _, word := range strings.Fields(words) {
			all[word] = hint
		}
	}
	return all
}

// foreign are words of other languages and programs of the shell, and what is written here
// instead. Most begin a statement.
var foreign = byWord(map[string]string{
	"A function begins like this: fn main(input: [a, b], output: [result]):":                      "def function func",
	"There are no classes; a dictionary keeps values by names.":                                   "class",
	"A file imports nothing: actions are called by their names, @http.get(url=u).":                "import from",
	"A name gets a value by x = 1, without a word before it.":                                     "const let var export set",
	"Functions share no names; give values to them as inputs.":                                    "global",
	"Names are not removed; a name can get another value, such as None.":                          "del",
	"Every call is waited for; several at once are parallel(...) and spread.":                     "await",
	"Several calls at once are parallel(...) and spread.":                                         "async",
	"To wait: sleep 90, or sleep \"1m30s\"; for a signal: x = wait signal go.":                    "wait",
	"To fail on purpose: fail(\"message\", \"ErrorType\").":                                       "raise throw",
	"To fail on purpose: if not ok: and below it fail(\"message\", \"ErrorType\").":               "assert",
	"Choices are made by if, elif and else.":                                                      "switch match case when",
	"Errors are caught by except, behind the block of a try.":                                     "catch",
	"What has to happen in any case stands behind the try, or in a function that both ways call.": "finally",
	"What has to happen in any case stands behind a try, or in a function that both ways call.":   "with",
	"To say something: @log(message=...).":                                                        "print echo",
	"Functions have names: fn f(input: [x], output: [y]):":                                        "lambda",
	"Values are compared by == and !=.":                                                           "is",
	"A further condition begins with elif.":                                                       "elseif elsif",
	"A loop begins like this: for x in xs:":                                                       "foreach",
	"A loop begins like this: for i in range(3):":                                                 "repeat",
	"A loop goes on while a condition holds: while not done:":                                     "until",
	"A loop without an end: while True:":                                                          "loop",
	"A loop has its condition first: while condition:":                                            "do",
	"A choice begins like this: if not condition:":                                                "unless",
	"A block begins with a colon.":                                                                "then",
	"A function returns once: return xs. A list grows by xs = xs + [x].":                          "yield",
	"There are no jumps; loops end by break, functions by return.":                                "goto",
	"A program waits for a signal: x = wait signal go. It is sent by perdure signal ID go.":       "signal",
	"An action is called with an @: @http.get(url=u); a function without: f(x).":                  "call",
	"A policy stands in brackets behind its action: @fetch(url=u) [retry: 3].":                    "retry",
	"A policy stands in brackets behind its action: @fetch(url=u) [timeout: 2m].":                 "timeout",
	"A command is an action: @shell.run(command=\"ls\"). A request is @http.get(url=u).":          "curl wget ls cp mv rm cat grep sed awk git docker kubectl python python3 node npm make sudo bash sh source cd mkdir touch chmod psql aws terraform",
})

// yaml are words with which lines of other workflows begin, as keys.
var yaml = setOf("call", "steps", "step", "run", "name", "on", "uses", "jobs", "tasks", "action", "version", "script", "workflow", "states", "with", "env")

// names are variables and functions of other languages, and what is written here instead.
var names = byWord(map[string]string{
	"The environment is not read: what a program needs are its inputs, and secrets are secret(\"API_KEY\").": "env getenv environ os process ENV vars config settings secrets Secrets context ctx",
	"Values come in as inputs, each by its name: fn main(input: [day], output: [result]):":                   "input inputs args argv params parameters kwargs",
	"A command is an action: @shell.run(command=\"ls\").":                                                    "shell bash sh exec system subprocess cmd popen",
	"A request is an action: @http.get(url=u), @http.post(url=u, json=x).":                                   "requests fetch curl axios urllib urlopen httpx http",
	"A file is read and written by actions: @file.read(path=p), @file.write(path=p, content=x).":             "open file fs read write",
	"A program ends by return, or fails by fail(\"message\").":                                               "exit quit die abort panic",
	"A block ends where its indentation does.":                                                               "end endif endfor endwhile fi done esac",
	"To say something: @log(message=...).":                                                                   "print println printf console logger logging log puts",
	"JSON is written by json(x) and read by parse_json(text).":                                               "JSON dumps loads to_json from_json stringify",
	"A time is now(), a date today(); format_time and parse_time make texts of them and read them.":          "datetime date time Date strftime strptime timestamp",
	"A number is made by int(x) or float(x).":                                                                "parse_int parseInt parse_float parseFloat to_int Number",
	"A signal is waited for like this: x = wait signal go":                                                   "wait_signal wait_for_signal receive wait_for",
	"To fail on purpose: fail(\"message\", \"ErrorType\").":                                                  "raise throw error Error Exception RuntimeError",
	"To wait is a statement: sleep 90, or sleep \"1m30s\".":                                                  "delay pause",
	"Numbers have abs, round, min, max and sum; random() is one from 0 up to 1.":                             "math Math",
	"A list of results is made by spread xs: x -> f(x), or by a loop: ys = ys + [y].":                        "map filter reduce foreach",
	"Values are compared by ==; an error that was caught is told by isexception(x).":                         "isinstance type typeof",
	"An id is uuid().": "guid uuid4 new_id",
	"An action that fails ends the program; what happens then is written by try: and except:.": "success failure always cancelled failed succeeded",
	"A list of arguments is joined into the text of the command, or handed in as an input.":    "sys",
})

// NameHint is about a variable or a function that does not exist here and does elsewhere; it
// is empty for others.
func NameHint(name string) string { return names[name] }

// ArgumentHint is about an argument that an action does not have, and that says what is said
// in another way; it is empty for others.
func ArgumentHint(name string) string {
	key := strings.ReplaceAll(strings.ToLower(name), "-", "_")
	switch {
	case strings.Contains(key, "timeout"):
		return "A timeout stands in brackets behind the call: @http.get(url=u) [timeout: 30]."
	case isPolicyKey[key] || policyKeys[key] != "" || strings.Contains(key, "retr") || strings.Contains(key, "attempt") || strings.Contains(key, "backoff"):
		return "A policy stands in brackets behind the call: @http.get(url=u) [retry: 3, backoff: 30s]."
	case key == "gate" || key == "concurrency" || key == "limit" || key == "rate_limit":
		return "Calls are bounded by a gate behind the call: @http.get(url=u) [gate: payments]."
	}
	return arguments[key]
}

// arguments are those of actions elsewhere, and what is written here.
var arguments = map[string]string{
	"params": "Parameters stand in the URL: url=u + \"?\" + urlencode({\"page\": 1}).", "query": "Parameters stand in the URL: url=u + \"?\" + urlencode({\"page\": 1}).",
	"method": "The method is the name of the action: @http.post(url=u).", "verb": "The method is the name of the action: @http.post(url=u).",
	"data": "A body is a text, body=\"...\", or a value that is sent as JSON, json=x.", "payload": "A body is a text, body=\"...\", or a value that is sent as JSON, json=x.",
	"auth": "It is a header: headers={\"Authorization\": \"Bearer \" + secret(\"API_KEY\")}.", "token": "It is a header: headers={\"Authorization\": \"Bearer \" + secret(\"API_KEY\")}.",
	"cmd": "The command is command=\"...\".", "cwd": "The directory is dir=\"...\".", "args": "All of the command is one text: command=\"ls -l\".",
	"file": "The file is path=\"...\".", "filename": "The file is path=\"...\".", "text": "What is written is content=..., what is logged message=...", "msg": "It is called message.",
	"when": "A condition stands in an if around the action.", "if": "A condition stands in an if around the action.",
}

// policyKeys are the keys of policies by the names that other notations give them.
var policyKeys = map[string]string{
	"retries": "retry: N, which is N retries", "attempts": "retry: N, which is one less than the attempts", "max_attempts": "retry: N, which is one less than the attempts",
	"tries": "retry: N, which is one less than the attempts", "max_retries": "retry: N", "delay": "fixed or backoff", "wait": "fixed or backoff", "interval": "fixed or backoff",
	"exponential": "backoff", "deadline": "within", "max_delay": "max", "multiplier": "factor",
	"retry_strategy": "retry: N", "retry_policy": "retry: N", "maximum_attempts": "retry: N, which is one less than the attempts", "retry_count": "retry: N",
	"retry_delay": "fixed or backoff", "retry_interval": "fixed or backoff", "interval_seconds": "fixed or backoff", "initial_interval": "backoff", "initial_delay": "backoff",
	"backoff_rate": "factor", "backoff_coefficient": "factor", "exponent": "factor", "max_duration": "within, of all attempts, or max, of a delay", "max_elapsed_time": "within", "cap": "max",
	"max_interval": "max", "maximum_interval": "max", "max_backoff": "max", "max_retry_delay": "max", "timeout_minutes": "timeout: 10m", "timeout_seconds": "timeout: 30", "execution_timeout": "timeout",
	"start_to_close_timeout": "timeout", "schedule_to_close_timeout": "within", "heartbeat_timeout": "heartbeat", "non_retryable": "never",
}

// inWords returns a name of other notations in small letters with underscores: maxDelay, max-delay.
func inWords(name string) string {
	var words strings.Builder
	for i, c := range strings.ReplaceAll(name, "-", "_") {
		if c >= 'A' && c <= 'Z' && i > 0 {
			words.WriteByte('_')
		}
		words.WriteRune(c)
	}
	return strings.ToLower(words.String())
}

// policyHint is about a word in the place of a key of a policy.
func policyHint(key string) string {
	switch key {
	case "gate":
		return "The gate stands right behind the call, before the policy: @charge(cents=995) [gate: payments] [retry: 3]."
	case "if", "when", "unless", "while", "condition":
		return "A condition stands in an if around the action. Which errors are retried is said before an arrow: [NetworkError -> retry: 3]."
	case "on_error", "on-error", "onError", "on_failure", "continue_on_error", "continue-on-error", "catch", "fallback":
		return "What happens after an error is written by try: and except:."
	case "ErrorEquals", "error_equals", "retry_on", "retryOn", "retry_if", "on":
		return "Which errors are retried is said before an arrow: [NetworkError -> retry: 3]."
	case "limit", "errors":
		return "It stands behind the list of a spread, or behind the word parallel: spread (@list() [retry: 3]) [limit: 10]: x -> @fetch(url=x)."
	}
	if is := policyKeys[inWords(key)]; is != "" {
		return "It is called " + is + "."
	}
	return near.Hint(key, maps.Keys(isPolicyKey))
}

// isPolicyKey has the keys that brackets behind an action may begin with.
var isPolicyKey = setOf("retry", "backoff", "fixed", "linear", "factor", "max", "jitter", "stop", "timeout", "heartbeat", "queue", "within", "on-timeout", "only", "never", "pause", "max-retry-after", "crashes")

// likePolicy reports whether a text begins like the inside of the brackets of a
// policy: a key and a colon.
func likePolicy(text string) bool {
	key, _, ok := strings.Cut(firstLine(text), ":")
	key = strings.TrimSpace(key)
	return ok && (isPolicyKey[key] || policyKeys[inWords(key)] != "")
}

// methods are what other languages call with a point, and what is written here.
var methods = map[string]string{
	"append": "Lists do not change; make a longer one: xs = xs + [x].", "push": "Lists do not change; make a longer one: xs = xs + [x].", "add": "Lists do not change; make a longer one: xs = xs + [x].",
	"extend": "Lists do not change; make a longer one: xs = xs + ys.", "update": "Dictionaries do not change; make another one: d = d + {\"key\": 1}.",
	"pop": "Lists do not change; slice(xs, 0, -1) is all but the last one.", "length": "It is a function: len(x).", "size": "It is a function: len(x).",
	"map": "A list of results is made by spread xs: x -> f(x), or by a loop.", "filter": "A list is made by a loop: ys = ys + [y].", "dumps": "JSON is written by json(x).", "loads": "JSON is read by parse_json(text).",
	"stringify": "JSON is written by json(x).", "parse": "JSON is read by parse_json(text).", "sleep": "To wait is a statement: sleep 90.", "now": "The time is now(), in seconds since 1970.", "today": "The date is today().",
	"log": "To say something: @log(message=...).", "info": "To say something: @log(message=...).", "contains": "Write x in xs.", "includes": "Write x in xs.", "sort": "It is a function: sorted(xs).", "count": "It is a function: len(x).",
	"trim": "It is a function: strip(x).", "json": "It is a field: r.json.", "text": "It is a field: r.body.", "raise_for_status": "An answer with a status of 400 or more is an error by itself, such as HTTPError404.",
	"execute_activity": "An activity is an action: @charge(cents=995).", "executeActivity": "An activity is an action: @charge(cents=995).", "ExecuteActivity": "An activity is an action: @charge(cents=995).",
	"execute": "An activity is an action: @charge(cents=995).", "then": "Steps run in the order in which they stand: write the next one into the next line.", "read": "A file is read by an action: @file.read(path=p).",
	"write": "A file is written by an action: @file.write(path=p, content=x).",
}

func init() {
	for _, name := range strings.Fields("endswith enumerate format get items join keys lower replace reversed round slice sorted split startswith strip upper values zip") {
		methods[name] = "It is a function: " + name + "(x, ...)."
	}
	methods["get"] = "It is a function: get(x, key, default). An action has an @: @http.get(url=u)."
}

// methodHint is about a method that is called.
func methodHint(f *Field) string {
	if base, is := f.X.(*Name); is {
		switch {
		case base.Name == "http" || base.Name == "file" || base.Name == "shell":
			return "An action has an @ in front: @" + base.Name + "." + f.Name.Name + "(...)."
		case names[base.Name] != "" && base.Name != "json" && base.Name != "time" && base.Name != "datetime":
			return names[base.Name]
		}
	}
	if key := inWords(f.Name.Name); isPolicyKey[key] || policyKeys[key] != "" {
		return "A policy stands in brackets behind its action: @fetch(url=u) [retry: 3]."
	}
	return methods[f.Name.Name]
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
	first := line[:nameLength(line)]
	if p.tok.is(":") && (yaml[before] || strings.HasPrefix(line, "- ")) && keys[keyOf(line)] == "" {
		return yamlHint
	}
	if hint := keys[keyOf(line)]; hint != "" {
		return hint
	}
	for _, word := range []string{p.tok.text, before, first} {
		if hint := foreign[word]; hint != "" {
			return hint
		}
	}
	switch {
	case strings.HasPrefix(line, "--"):
		return "A comment begins with #."
	case p.isYAML(line):
		return yamlHint
	case p.tok.is("->"):
		return "Outputs have names: fn main(input: [a, b], output: [result]):"
	case p.tok.is("as"):
		return "A value has one form. The body of an answer as JSON is (@http.get(url=u)).json."
	case p.tok.is(":") && before == first && strings.Contains(line, "="):
		return "Names have no types, and get a value by =: x = 3."
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

// isYAML reports whether a line that cannot be read is one of YAML: a key with a value that is no
// type, or one with lines of YAML below it.
func (p *parser) isYAML(line string) bool {
	m := yamlLine.FindStringSubmatch(line[:min(len(line), lookedAt)])
	if m == nil || strings.Contains(line, "=") {
		return false
	}
	n := p.file.lines.number(p.tok.From)
	return m[1] == "" || m[2] != "" || n < len(p.file.lines.starts) && strings.HasPrefix(p.file.begins(n+1), " ") && p.file.isYAML(n+1)
}

// foreignOperand is about signs of other languages where an expression should be.
func (p *parser) foreignOperand() string {
	touches := p.last == p.tok.From && p.last > 0
	switch {
	case p.tok.is("=") && touches && p.lex.src[p.last-1] == '=':
		return "Values are compared by == and !=."
	case p.tok.is(">") && touches && p.lex.src[p.last-1] == '<':
		return "To compare, write !=."
	case touches && (p.tok.is("<") && p.lex.src[p.last-1] == '<' || p.tok.is(">") && p.lex.src[p.last-1] == '>'):
		return "Steps run in the order in which they stand. Numbers have no bits: x * 4, x // 4."
	case p.tok.is("."):
		return "A number begins with a digit: 0.5."
	case p.tok.is("=") && touches && strings.IndexByte("+-*/", p.lex.src[p.last-1]) >= 0:
		return "Write it out: x = x + 1."
	case p.tok.is("*") && touches && p.lex.src[p.last-1] == '*':
		return "There are no powers; multiply: x * x."
	case p.tok.is(":") && strings.HasSuffix(p.lex.src[:p.last], "if"):
		return "The condition stands before the colon: if x == 1:"
	case p.tok.is("*") && strings.HasPrefix(strings.TrimSpace(p.file.lines.line(p.file.lines.number(p.tok.From))), "for "):
		return "The names in a directory are @file.list(path=\"in\")."
	case p.tok.is("/"), p.tok.is("//"):
		return "A comment begins with #."
	case p.tok.is("}"):
		return "A block ends where its indentation does."
	}
	return ""
}
