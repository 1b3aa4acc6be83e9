package syntax

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/perdure/perdure/retry"
)

// wrap is an expression in its line: between what stands before and behind it, and
// broken at its outermost brackets if it is too long for a line of that level. What
// stands in the right half of the lines is not broken: it would become a narrow
// column, and a text of nested brackets a hundred times as long as it was.
func wrap(level int, before string, x Expr, behind string) string {
	open, items, end := parts(x)
	if len(items) == 0 || level*unitOfIndent > lineWidth/2 || fits(level, before, x, behind) {
		return before + flat(x, levelOr) + behind
	}
	var b strings.Builder
	b.WriteString(before + open + "\n")
	inner := strings.Repeat(" ", (level+1)*unitOfIndent)
	for _, it := range items {
		b.WriteString(inner + wrap(level+1, it.before, it.value, ",") + "\n")
	}
	b.WriteString(strings.Repeat(" ", level*unitOfIndent) + end + behind)
	return b.String()
}

// fits reports whether an expression has room in its line. It looks no farther than
// that takes.
func fits(level int, before string, x Expr, behind string) bool {
	room := lineWidth - level*unitOfIndent - utf8.RuneCountInString(before) - utf8.RuneCountInString(behind)
	switch x := x.(type) { // the brackets of a policy go on behind the last line, however it is broken
	case *Action, *Call, *Spread:
		room += utf8.RuneCountInString(brackets(x))
	}
	b := inline{most: max(room, 0) * utf8.UTFMax}
	write(&b, x, levelOr)
	return utf8.RuneCountInString(b.String()) <= room
}

// brackets are what stands behind a call.
func brackets(x Expr) string {
	switch x := x.(type) {
	case *Action:
		return x.gates() + x.verify() + policy(&x.Policied)
	case *Call:
		return policy(&x.Policied)
	case *Spread:
		return brackets(x.Call)
	}
	return ""
}

// overLevel is what the list of a spread has to bind: brackets behind it must not become
// those of a part of it.
func overLevel(x *Spread) int {
	if x.Fan == (Fan{}) {
		return levelOr
	}
	if _, is := x.Over.(*Parallel); is {
		return levelPostfix + 1 // it takes the same brackets
	}
	return levelPostfix
}

// item is an element between brackets.
type item struct {
	before string
	value  Expr
}

// parts takes an expression apart at its outermost brackets; there are no items if
// it has none.
func parts(x Expr) (open string, items []item, end string) {
	switch x := x.(type) {
	case *List:
		for _, i := range x.Items {
			items = append(items, item{"", i})
		}
		return "[", items, "]"
	case *Dict:
		for _, e := range x.Entries {
			items = append(items, item{flat(e.Key, levelOr) + ": ", e.Value})
		}
		return "{", items, "}"
	case *Parallel:
		for _, c := range x.Calls {
			items = append(items, item{"", c})
		}
		return "parallel(", items, ")" + x.options()
	case *Call:
		return x.Name.Name + "(", argItems(x.Args), ")" + brackets(x)
	case *Action:
		return "@" + x.Name.Name + "(", argItems(x.Args), ")" + brackets(x)
	case *Wait:
		name := x.Signal.Name
		if nameLength(name) != len(name) || isKeyword[name] {
			name = quote(name)
		}
		return "wait signal " + name, nil, policy(&x.Policied)
	case *Spread:
		open, items, end = parts(x.Call)
		return "spread " + flat(x.Over, overLevel(x)) + x.options() + ": " + x.As.Name + " -> " + open, items, end
	}
	return "", nil, ""
}

func argItems(args []Arg) (items []item) {
	for _, a := range args {
		before := ""
		if a.Name.Name != "" {
			before = a.Name.Name + "="
		}
		items = append(items, item{before, a.Value})
	}
	return items
}

// policy is a policy with a blank before it.
func policy(x *Policied) string {
	if x.Policy == nil {
		return ""
	}
	if x.Text != "" {
		return " " + x.Text
	}
	text := x.Policy.String()
	// Brackets without "retry" retry nothing, so it need not be said.
	if rest, more := strings.CutPrefix(text, "[retry: 0] "); more {
		if p, err := retry.Parse(rest); err == nil && reflect.DeepEqual(p, *x.Policy) {
			text = rest
		}
	}
	return " " + text
}

// inline collects an expression in one line.
type inline struct {
	strings.Builder
	most int // bytes; nothing is written behind them
}

// flat is an expression in one line, in parentheses if it binds less than demanded.
func flat(x Expr, least int) string {
	b := inline{most: math.MaxInt}
	write(&b, x, least)
	return b.String()
}

// write writes an expression, in parentheses if it binds less than its
// surroundings demand.
func write(b *inline, x Expr, least int) {
	if b.Len() > b.most {
		return
	}
	if levelOf(x) < least {
		b.WriteByte('(')
		write(b, x, levelOr)
		b.WriteByte(')')
		return
	}
	switch x := x.(type) {
	case *Int:
		b.WriteString(strconv.FormatInt(x.Value, 10))
	case *Float:
		b.WriteString(Float64(x.Value))
	case *String:
		b.WriteString(quote(x.Value))
	case *Bool:
		b.WriteString(map[bool]string{true: "True", false: "False"}[x.Value])
	case *None:
		b.WriteString("None")
	case *Name:
		b.WriteString(x.Name)
	case *Unary:
		if x.Op == "-" {
			b.WriteByte('-')
			writeNegated(b, x.X)
			return
		}
		b.WriteString("not ")
		write(b, x.X, levelCompare)
	case *Binary:
		level := levelOf(x)
		least := leftLevel(x.X, level)
		if inner, is := x.X.(*Binary); is && level == levelCompare && levelOf(inner) == level {
			least = level + 1 // a comparison of an answer shows that it is one
		}
		write(b, x.X, least)
		b.WriteString(" " + x.Op + " ")
		write(b, x.Y, level+1)
	case *Field:
		write(b, x.X, levelPostfix)
		b.WriteString("." + x.Name.Name)
	case *Index:
		write(b, x.X, levelPostfix)
		b.WriteByte('[')
		write(b, x.I, levelOr)
		b.WriteByte(']')
	case *Spread:
		b.WriteString("spread ")
		write(b, x.Over, overLevel(x))
		b.WriteString(x.options() + ": " + x.As.Name + " -> ")
		write(b, x.Call, levelOr)
	default:
		open, items, end := parts(x)
		b.WriteString(open)
		for i, it := range items {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(it.before)
			write(b, it.value, levelOr)
		}
		b.WriteString(end)
	}
}

// leftLevel is what the left side of an operator has to bind. All operators are
// left-associative, so the same level will do; but not would take in what follows.
func leftLevel(x Expr, level int) int {
	for {
		switch y := x.(type) {
		case *Unary:
			if y.Op == "not" && level >= levelCompare {
				return levelPostfix
			}
			return level
		case *Binary:
			if levelOf(y) < level {
				return level
			}
			x = y.Y
		default:
			return level
		}
	}
}

// writeNegated writes what stands behind a minus: a number has to be told from one
// below zero.
func writeNegated(b *inline, x Expr) {
	switch x.(type) {
	case *Int, *Float:
		if text := flat(x, levelOr); text[0] != '-' {
			b.WriteString("(" + text + ")")
			return
		}
	}
	write(b, x, levelUnary)
}

// levelOf is how much an expression binds, as an index of levels.
func levelOf(x Expr) int {
	switch x := x.(type) {
	case *Binary:
		return slices.IndexFunc(levels, func(ops []string) bool { return slices.Contains(ops, x.Op) })
	case *Unary:
		if x.Op == "not" {
			return levelCompare
		}
		return levelUnary
	case *Int:
		if x.Value < 0 {
			return levelUnary
		}
	case *Float:
		if x.Value < 0 || Float64(x.Value)[0] == '-' {
			return levelUnary
		}
	case *Call:
		if x.Policy != nil {
			return levelPostfix - 1
		}
	case *Parallel:
		if x.Fan != (Fan{}) {
			return levelPostfix - 1
		}
	case *Spread, *Action, *Wait:
		return levelPostfix - 1 // what follows would belong to their policy
	}
	return levelPostfix
}

// Float64 is a number with a point as Python writes it: with an exponent below 0.0001 and
// from 1e16 on, else with all digits, and as short as it is read as the same number.
func Float64(v float64) string {
	if size := math.Abs(v); size != 0 && (size < 1e-4 || size >= 1e16) {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// quote is a text in double quotes with the escapes of flow files.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
