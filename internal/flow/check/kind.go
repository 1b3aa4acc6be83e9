package check

import "github.com/perdure/perdure/internal/flow/syntax"

// Kind is the required kind of an argument, in the words of messages; empty for any kind
// or if it is not known.
type Kind string

// The kinds.
const (
	KindText   Kind = "a text"
	KindTruth  Kind = "a truth value"
	KindWhole  Kind = "a whole number"
	KindNumber Kind = "a number"
	KindList   Kind = "a list"
	KindDict   Kind = "a dictionary"
)

// kindOf is the kind of a value that is written out. It is empty for all other
// expressions, and for None, which fits everywhere.
func kindOf(x syntax.Expr) Kind {
	switch x.(type) {
	case *syntax.Int:
		return KindWhole
	case *syntax.Float:
		return KindNumber
	case *syntax.String:
		return KindText
	case *syntax.Bool:
		return KindTruth
	case *syntax.List:
		return KindList
	case *syntax.Dict:
		return KindDict
	}
	return ""
}

// takes reports whether a value of a kind can be given where another one is asked
// for.
func (k Kind) takes(given Kind) bool {
	return k == "" || given == "" || k == given || k == KindNumber && given == KindWhole
}

// argument checks whether the value of an argument fits its parameter.
func (c *checker) argument(p Parameter, a syntax.Arg) {
	given := kindOf(a.Value)
	if p.Kind.takes(given) {
		return
	}
	hint := "Give it " + string(p.Kind) + "."
	if p.Kind == KindText {
		hint = "Write it as a text, or make one of it: str(x)."
	}
	is := string(given)
	if given == KindNumber {
		is = "one with a point"
	}
	c.report(a.Value, syntax.CodeValue, hint, "the argument %s is %s, and this is %s", p.Name, p.Kind, is)
}
