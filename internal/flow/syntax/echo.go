package syntax

import (
	"regexp"
	"slices"
	"strings"
)

const yamlHint = "This is YAML, and a flow file is a program: @shell.run(command=\"ls\"), x = 3."

var (
	// yamlLine matches a line of YAML, and finds its key and what stands behind it.
	yamlLine = regexp.MustCompile(`^ *(?:- +)?(?:([A-Za-z_][\w-]*):(?:$| +(\S?)))|^ *- `)
	// closingLine matches a line that only ends blocks of other languages.
	closingLine = regexp.MustCompile(`^ *[})\]]+[;,]? *$`)
	// switchLine and branchLine match the lines of a choice in other languages.
	switchLine = regexp.MustCompile(`^ *(switch|match)\b`)
	branchLine = regexp.MustCompile(`^ *(case|when|default)\b`)
	tryEndLine = regexp.MustCompile(`^ *finally\b`)
)

// lookedAt is how much is looked at of a line, in bytes, and for the end of a block, in lines.
const lookedAt = 500

// begins is how a line begins.
func (f *File) begins(line int) string {
	text := f.lines.line(line)
	return text[:min(len(text), lookedAt)]
}

// withoutEchoes drops the faults that follow from an earlier one, so that one mistake is one
// fault. The faults are sorted.
func (f *File) withoutEchoes(faults Diagnostics) Diagnostics {
	yamlUntil, braces, branches, noCall := 0, false, false, "" // what earlier faults were about
	return slices.DeleteFunc(faults, func(d Diagnostic) bool {
		line := f.begins(d.Line)
		if d.Line <= yamlUntil || braces && closingLine.MatchString(line) || branches && branchLine.MatchString(line) ||
			d.Text == tryAlone && f.finallyBelow(d.Line) {
			return true
		}
		if d.Hint == parallelHint {
			if d.Text == noCall { // the lines of a block are written alike
				return true
			}
			noCall = d.Text
		}
		if d.Hint == yamlHint || keys[keyOf(line)] != "" && d.Hint == keys[keyOf(line)] {
			for yamlUntil = d.Line; yamlUntil < len(f.lines.starts) && f.isYAML(yamlUntil+1); yamlUntil++ {
			}
		}
		braces = braces || strings.ContainsAny(line[max(0, len(strings.TrimRight(line, " "))-1):], "{([")
		branches = branches || switchLine.MatchString(line)
		return false
	})
}

// isYAML reports whether a line may be one of YAML, or is empty.
func (f *File) isYAML(line int) bool {
	text := f.begins(line)
	return strings.TrimSpace(text) == "" || yamlLine.MatchString(text)
}

// keyOf returns the key of a line of YAML, as a name; "" if it has none.
func keyOf(line string) string {
	m := yamlLine.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	return strings.ReplaceAll(strings.ToLower(m[1]), "-", "_")
}

// tryAlone is the fault of a try that nothing follows.
const tryAlone = "the try has no except"

// finallyBelow reports whether the block of a try is followed by a finally, which is a fault.
func (f *File) finallyBelow(try int) bool {
	indent := func(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
	own := indent(f.begins(try))
	for n := try + 1; n <= min(len(f.lines.starts), try+lookedAt); n++ {
		line := f.begins(n)
		if strings.TrimSpace(line) != "" && indent(line) <= own {
			return tryEndLine.MatchString(line)
		}
	}
	return false
}

// keys are words with which lines of other workflows begin, and what is written here instead.
var keys = byWord(map[string]string{
	"Steps run in the order in which they stand; several at once are parallel and spread.":                  "needs depends_on depends dependencies next then goto",
	"The same for several values is spread xs: x -> @fetch(url=x), or a loop: for x in xs:":                 "strategy matrix with_items withitems with_param withparam foreach for_each loop items",
	"What happens after an error is written by try: and except:, which let the program go on.":              "continue_on_error ignore_errors on_error on_failure onerror catch rescue fallback",
	"A choice is a statement: if x == 1:":                                                                   "when condition if",
	"A policy stands in brackets behind its action: @fetch(url=u) [retry: 3].":                              "retries retry_strategy retrystrategy backoff retry_policy retrypolicy max_attempts attempts",
	"A policy stands in brackets behind its action: @fetch(url=u) [timeout: 2m].":                           "timeout timeout_minutes timeout_seconds timeoutseconds deadline",
	"Values come in as inputs, each by its name: fn main(input: [day], output: [result]):":                  "inputs input params parameters arguments args vars variables",
	"A schedule is made by a command: perdure schedules create nightly nightly.flow --cron \"30 2 * * *\".": "schedule cron trigger triggers on",
})
