package eval

import (
	"math"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/flow/syntax"
)

func (f *frame) unary(x *syntax.Unary) (Value, error) {
	v, err := f.eval(x.X)
	if err != nil {
		return nil, err
	}
	if x.Op == "not" {
		return !truth(v), nil
	}
	switch v := v.(type) {
	case int64:
		if v == math.MinInt64 {
			return nil, overflow()
		}
		return -v, nil
	case float64:
		return -v, nil
	}
	if err := refuseHuge(v); err != nil {
		return nil, err
	}
	return nil, fault(TypeType, "a minus stands before a number, and this is %s", kindOf(v))
}

func overflow() error {
	return fault(TypeOverflow, "the result does not fit into a whole number of 64 bits")
}

func (f *frame) binary(x *syntax.Binary) (Value, error) {
	a, err := f.eval(x.X)
	if err != nil {
		return nil, err
	}
	switch {
	case x.Op == "and" && !truth(a), x.Op == "or" && truth(a):
		return a, nil
	}
	b, err := f.eval(x.Y)
	if err != nil {
		return nil, err
	}
	switch x.Op {
	case "and", "or":
		return b, nil
	case "==", "!=", "in", "not in", "<", "<=", ">", ">=":
		// Comparing looks at all of a value.
		if err := f.spend((min(sizeOf(a), sizeOf(b)) + sizeOf(b)) / 64); err != nil {
			return nil, err
		}
	}
	switch x.Op {
	case "==":
		return Equal(a, b), nil
	case "!=":
		return !Equal(a, b), nil
	case "in", "not in":
		found, err := contains(b, a)
		return found == (x.Op == "in"), err
	case "<", "<=", ">", ">=":
		return ordered(x.Op, a, b)
	case "+":
		if isSecret(a) || isSecret(b) {
			return joinSecret(a, b)
		}
		return f.plus(a, b)
	}
	return arithmetic(x.Op, a, b)
}

// contains reports whether a list has an element, a dictionary a key, a text a part.
func contains(in, v Value) (bool, error) {
	switch in := in.(type) {
	case *List:
		return slices.ContainsFunc(in.items, func(item Value) bool { return Equal(item, v) }), nil
	case *Dict:
		key, ok := v.(string)
		if !ok {
			return false, nil
		}
		_, ok = in.values[key]
		return ok, nil
	case string:
		part, ok := v.(string)
		if !ok {
			return false, fault(TypeType, "a text has parts that are texts, and this is %s", kindOf(v))
		}
		return strings.Contains(in, part), nil
	}
	return false, fault(TypeType, "behind \"in\" stands a list, a dictionary or a text, and this is %s", kindOf(in))
}

// order compares two numbers or two texts.
func order(a, b Value) (int, error) {
	if order, ok := compareNumbers(a, b); ok {
		return order, nil
	}
	x, isText := a.(string)
	y, both := b.(string)
	if isText && both {
		return strings.Compare(x, y), nil
	}
	if err := refuseHuge(a, b); err != nil {
		return 0, err
	}
	return 0, fault(TypeType, "%s and %s have no order", kindOf(a), kindOf(b))
}

func ordered(op string, a, b Value) (Value, error) {
	n, err := order(a, b)
	if err != nil {
		return nil, err
	}
	switch op {
	case "<":
		return n < 0, nil
	case "<=":
		return n <= 0, nil
	case ">":
		return n > 0, nil
	}
	return n >= 0, nil
}

// plus adds numbers, joins texts and lists, and merges dictionaries, where the
// second one wins.
func (f *frame) plus(a, b Value) (Value, error) {
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			if err := f.spend((len(a) + len(b)) / 64); err != nil {
				return nil, err
			}
			if len(a)+len(b) > MaxValue {
				return nil, tooLarge("text")
			}
			return a + b, nil
		}
		return nil, fault(TypeType, "a text and %s cannot be joined; str(x) makes a text of a value", kindOf(b))
	case *List:
		if b, ok := b.(*List); ok {
			if err := f.spend(len(a.items) + len(b.items)); err != nil {
				return nil, err
			}
			return list(slices.Concat(a.items, b.items))
		}
		return nil, fault(TypeType, "a list and %s cannot be joined; a list of one element is [x]", kindOf(b))
	case *Dict:
		if b, ok := b.(*Dict); ok {
			if err := f.spend(len(a.keys) + len(b.keys)); err != nil {
				return nil, err
			}
			return merge(a, b)
		}
		return nil, fault(TypeType, "a dictionary and %s cannot be merged", kindOf(b))
	}
	return arithmetic("+", a, b)
}

func merge(a, b *Dict) (Value, error) {
	out := NewDict()
	for _, d := range []*Dict{a, b} {
		for _, k := range d.keys {
			if err := out.set(k, d.values[k]); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// arithmetic is exact for two whole numbers, but for /, which gives a number with a
// point.
func arithmetic(op string, a, b Value) (Value, error) {
	x, isInt := a.(int64)
	y, both := b.(int64)
	if isInt && both && op != "/" {
		return whole(op, x, y)
	}
	p, ok := toFloat(a)
	q, too := toFloat(b)
	if !ok || !too {
		if err := refuseHuge(a, b); err != nil {
			return nil, err
		}
		if _, is := a.(string); is && op == "%" {
			return nil, fault(TypeType, "a text has no %%; format(\"{} rows\", n) puts values into a text")
		}
		return nil, fault(TypeType, "%s %s %s cannot be worked out", kindOf(a), op, kindOf(b))
	}
	if q == 0 && (op == "/" || op == "//" || op == "%") {
		return nil, fault(TypeZero, "division by zero")
	}
	var r float64
	switch op {
	case "+":
		r = p + q
	case "-":
		r = p - q
	case "*":
		r = p * q
	case "/":
		r = p / q
	case "//":
		r = math.Floor(p / q)
	case "%":
		if r = math.Mod(p, q); r != 0 && (r < 0) != (q < 0) {
			r += q
		}
	}
	return finite(r)
}

func finite(r float64) (Value, error) {
	if math.IsInf(r, 0) || math.IsNaN(r) {
		return nil, fault(TypeOverflow, "the result is no finite number")
	}
	return r, nil
}

func toFloat(v Value) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// whole is arithmetic on whole numbers. Division rounds down, and the rest has the
// sign of the divisor.
func whole(op string, x, y int64) (Value, error) {
	switch op {
	case "+":
		if s := x + y; (s > x) == (y > 0) {
			return s, nil
		}
		return nil, overflow()
	case "-":
		if s := x - y; (s < x) == (y > 0) {
			return s, nil
		}
		return nil, overflow()
	case "*":
		if p := x * y; x == 0 || p/x == y && (x != -1 || y != math.MinInt64) {
			return p, nil
		}
		return nil, overflow()
	}
	if y == 0 {
		return nil, fault(TypeZero, "division by zero")
	}
	if x == math.MinInt64 && y == -1 {
		if op == "%" {
			return int64(0), nil
		}
		return nil, overflow()
	}
	quotient, rest := x/y, x%y
	if rest != 0 && (rest < 0) != (y < 0) {
		quotient, rest = quotient-1, rest+y
	}
	if op == "%" {
		return rest, nil
	}
	return quotient, nil
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}
