package eval

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/flow/syntax"
)

// builtin is a function that every program has.
type builtin struct {
	form    string // how it is called
	meaning string
	least   int // arguments
	most    int
	run     func(f *frame, args []Value) (Value, error)
}

// Builtin describes a function that every program has.
type Builtin struct {
	Name, Form, Meaning string
}

// Builtins are the functions that every program has, by name.
func Builtins() []Builtin {
	var out []Builtin
	for _, name := range slices.Sorted(maps.Keys(builtins)) {
		out = append(out, Builtin{name, builtins[name].form, builtins[name].meaning})
	}
	return out
}

// IsBuiltin reports whether there is a function of this name in every program.
func IsBuiltin(name string) bool { return builtins[name] != nil }

// BuiltinArity says what is wrong with the arguments of a call of a builtin; it is
// empty if nothing is.
func BuiltinArity(x *syntax.Call) string { return builtins[x.Name.Name].arity(x.Name.Name, x.Args) }

func (b *builtin) arity(name string, args []syntax.Arg) string {
	for _, a := range args {
		if a.Name.Name != "" {
			return fmt.Sprintf("%s takes its arguments without names: %s", name, b.form)
		}
	}
	n := len(args)
	if n >= b.least && n <= b.most {
		return ""
	}
	takes := plural(b.least, "argument")
	switch {
	case b.most == manyArgs:
		takes = fmt.Sprintf("%s or more", plural(b.least, "argument"))
	case b.most > b.least:
		takes = fmt.Sprintf("%d to %d arguments", b.least, b.most)
	}
	return fmt.Sprintf("%s takes %s, and gets %d: %s", name, takes, n, b.form)
}

// Arity says what is wrong with the arguments of a call of a function of the
// program; it is empty if nothing is.
func Arity(fn *syntax.Function, x *syntax.Call) string {
	name := fn.Name.Name
	given, inputs := map[string]bool{}, map[string]bool{}
	for _, in := range fn.Inputs {
		inputs[in.Name] = true
	}
	for i, a := range x.Args {
		switch {
		case a.Name.Name == "" && i > 0 && x.Args[i-1].Name.Name != "":
			return fmt.Sprintf("in the call of %s an argument without a name stands behind one with a name", name)
		case a.Name.Name == "" && i >= len(fn.Inputs):
			return fmt.Sprintf("%s takes %s, and gets %d", name, plural(len(fn.Inputs), "input"), len(x.Args))
		}
		in := a.Name.Name
		if in == "" {
			in = fn.Inputs[i].Name
		} else if !inputs[in] {
			return fmt.Sprintf("%s has no input %s", name, in)
		}
		if given[in] && in != "_" {
			return fmt.Sprintf("%s gets its input %s twice", name, in)
		}
		given[in] = true
	}
	var missing []string
	for i, in := range fn.Inputs {
		if !given[in.Name] || in.Name == "_" && i >= len(x.Args) {
			missing = append(missing, in.Name)
		}
	}
	if len(missing) > 0 {
		return fmt.Sprintf("the call of %s lacks %s", name, strings.Join(missing, ", "))
	}
	return ""
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

const manyArgs = 1 << 20

var builtins map[string]*builtin

func init() {
	builtins = map[string]*builtin{
		"add_time":    {"add_time(time, n, unit[, zone])", "a time or a date so many seconds, minutes, hours, days, weeks, months or years later; below zero earlier. Where a month has no such day, its last one", 3, 4, addTime},
		"abs":         {"abs(x)", "a number without its sign", 1, 1, absolute},
		"bool":        {"bool(x)", "whether a value counts as true", 1, 1, func(_ *frame, a []Value) (Value, error) { return truth(a[0]), nil }},
		"endswith":    {"endswith(text, end)", "whether a text ends with another", 2, 2, texts(func(_ *frame, s []string) (Value, error) { return strings.HasSuffix(s[0], s[1]), nil })},
		"enumerate":   {"enumerate(xs)", "a list of [index, element]", 1, 1, enumerate},
		"fail":        {"fail(message[, type])", "fails with a message, as an error of type Failed or of the given one; fail(e) passes an error on that except has caught", 1, 2, failWith},
		"float":       {"float(x)", "a number, or a text that is one, as a number with a point", 1, 1, toNumber},
		"format":      {"format(text, ...)", "the text with the values in the places of {}: {:.2f} has two digits behind the point, {:,} groups thousands, {:05} pads with zeros, {:>10} {:<10} {:^10} with blanks; {{ is a brace", 1, manyArgs, format},
		"format_time": {"format_time(time[, form[, zone]])", "seconds since 1970 as a text, by a form such as %Y-%m-%d %H:%M:%S; without one as 2026-01-31T02:30:00Z", 1, 3, formatTime},
		"get":         {"get(x, key[, default])", "a key of a dictionary or an index of a list, None or the default if it is not there", 2, 3, get},
		"int":         {"int(x)", "a number without what stands behind the point, or a text that is a whole number", 1, 1, toInt},
		"isexception": {"isexception(x)", "whether a value is an error that except has caught", 1, 1, isException},
		"items":       {"items(dict)", "a list of [key, value]", 1, 1, of(items)},
		"join":        {"join(list, between)", "the texts of a list as one", 2, 2, of(join)},
		"json":        {"json(x)", "a value as a text of JSON", 1, 1, toJSON},
		"keys":        {"keys(dict)", "the keys, in their order", 1, 1, of(keys)},
		"len":         {"len(x)", "how many elements, keys or characters there are", 1, 1, length},
		"lower":       {"lower(text)", "the text in small letters", 1, 1, texts(func(_ *frame, s []string) (Value, error) { return strings.ToLower(s[0]), nil })},
		"max":         {"max(list), max(a, b, ...)", "the greatest of numbers or texts", 1, manyArgs, extreme(1)},
		"min":         {"min(list), min(a, b, ...)", "the least of numbers or texts", 1, manyArgs, extreme(-1)},
		"now":         {"now()", "seconds since 1970, with a point; the same in every replay", 0, 0, now},
		"parse_json":  {"parse_json(text)", "the value that a text of JSON describes", 1, 1, parseJSON},
		"parse_time":  {"parse_time(text[, form[, zone]])", "seconds since 1970 of a time or a date", 1, 3, parseTime},
		"random":      {"random()", "a number from 0 up to 1; the same in every replay", 0, 0, func(f *frame, _ []Value) (Value, error) { return f.fx.Random(), nil }},
		"range":       {"range(end), range(begin, end[, step])", "a list of whole numbers up to the end, which is not among them", 1, 3, rangeOf},
		"replace":     {"replace(text, old, new)", "the text with each old part replaced", 3, 3, texts(replace)},
		"reversed":    {"reversed(list)", "the list from its end", 1, 1, of(reversed)},
		"round":       {"round(x)", "the nearest whole number; halves go to the even one", 1, 1, round},
		"secret":      {"secret(name)", "a secret by its name: actions get its value when they run, and nothing else does. It is joined with texts by +, and shown as ***", 1, 1, makeSecret},
		"slice":       {"slice(x, from[, to])", "a part of a list or a text; below zero counts from the end", 2, 3, slice},
		"sorted":      {"sorted(list)", "numbers or texts in their order", 1, 1, of(sorted)},
		"split":       {"split(text[, between])", "a list of the parts of a text; without between, of its words", 1, 2, texts(split)},
		"startswith":  {"startswith(text, begin)", "whether a text begins with another", 2, 2, texts(func(_ *frame, s []string) (Value, error) { return strings.HasPrefix(s[0], s[1]), nil })},
		"str":         {"str(x)", "a value as a text", 1, 1, toText},
		"strip":       {"strip(text)", "the text without white space around it", 1, 1, texts(func(_ *frame, s []string) (Value, error) { return strings.TrimSpace(s[0]), nil })},
		"sum":         {"sum(list)", "the sum of numbers", 1, 1, of(sum)},
		"today":       {"today([zone])", "the date as 2026-01-31, in a time zone such as Europe/Berlin, or UTC; the same in every replay", 0, 1, today},
		"upper":       {"upper(text)", "the text in capital letters", 1, 1, texts(func(_ *frame, s []string) (Value, error) { return strings.ToUpper(s[0]), nil })},
		"urlencode":   {"urlencode(x)", "a text as it stands in a URL, or a dictionary as its query: a=1&b=x%20y", 1, 1, urlEncode},
		"uuid":        {"uuid()", "a random UUID; the same in every replay", 0, 0, func(f *frame, _ []Value) (Value, error) { return f.fx.UUID(), nil }},
		"values":      {"values(dict)", "the values, in the order of their keys", 1, 1, of(values)},
		"zip":         {"zip(xs, ys)", "a list of [x, y], as long as the shorter one", 2, 2, of(zip)},
	}
}
