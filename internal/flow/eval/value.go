package eval

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/perdure/perdure/internal/flow/syntax"
)

// Value is nil (None), bool, int64, float64, string, *List, *Dict, *Exception, *Secret
// or, of answers, *Huge or *Unread.
// Values are not changed once they are made.
type Value any

// Bounds of a value.
const (
	MaxValue = 2 << 20 // bytes of about the size of its JSON
	MaxDepth = 1000    // lists and dictionaries inside one another
)

// List is a list.
type List struct {
	items       []Value
	size, depth int
}

// NewList makes a list; the slice is the list's own from then on. It is an error if
// that is too large.
func NewList(items []Value) (*List, error) {
	l := &List{items: items, size: 2, depth: 1}
	for _, v := range items {
		l.size += sizeOf(v) + 1
		l.depth = max(l.depth, depthOf(v)+1)
		if l.size > MaxValue {
			return nil, tooLarge("list")
		}
	}
	return l, tooDeep(l.depth)
}

// Dict is a dictionary that keeps the order of its keys.
type Dict struct {
	keys        []string
	values      map[string]Value
	size, depth int
}

// NewDict makes an empty dictionary.
func NewDict() *Dict { return &Dict{values: map[string]Value{}, size: 2, depth: 1} }

// set adds an entry while the dictionary is being made. A key that is there already
// keeps its place.
func (d *Dict) set(key string, v Value) error {
	if old, ok := d.values[key]; ok {
		d.size -= sizeOf(old)
	} else {
		d.keys = append(d.keys, key)
		d.size += len(key) + 4
	}
	d.values[key] = v
	d.size += sizeOf(v)
	d.depth = max(d.depth, depthOf(v)+1)
	if d.size > MaxValue {
		return tooLarge("dictionary")
	}
	return tooDeep(d.depth)
}

// Keys returns the keys in their order; they must not be changed.
func (d *Dict) Keys() []string { return d.keys }

// Get returns the value of a key.
func (d *Dict) Get(key string) (Value, bool) {
	v, ok := d.values[key]
	return v, ok
}

// Exception is an error as a value: what except binds.
type Exception struct {
	Type, Message string
	Attempts      int64 // of the action that failed; 0 if it was none
	Err           error // the error itself, to be passed on
}

func tooLarge(what string) error {
	return &Error{Type: TypeLimit, Message: fmt.Sprintf("the %s would be larger than %d bytes", what, MaxValue)}
}

// tooDeep refuses a value that nests too deep: who goes through it does so by
// calling himself.
func tooDeep(depth int) error {
	if depth > MaxDepth {
		return &Error{Type: TypeLimit, Message: fmt.Sprintf("the value nests more than %d levels deep", MaxDepth)}
	}
	return nil
}

// depthOf is how many lists and dictionaries of a value are inside one another.
func depthOf(v Value) int {
	switch v := v.(type) {
	case *List:
		return v.depth
	case *Dict:
		return v.depth
	}
	return 0
}

// sizeOf is about how many bytes of JSON a value has.
func sizeOf(v Value) int {
	switch v := v.(type) {
	case string:
		return len(v) + 2
	case *List:
		return v.size
	case *Dict:
		return v.size
	case *Exception:
		return len(v.Type) + len(v.Message) + 48
	case *Secret:
		return v.size()
	case *Huge:
		return len(v.text)
	case *Unread:
		return len(v.Type) + len(v.Message) + 48
	}
	return 8
}

// kindOf is what a message calls the kind of a value.
func kindOf(v Value) string {
	switch v.(type) {
	case nil:
		return "None"
	case bool:
		return "a truth value"
	case int64:
		return "a whole number"
	case float64:
		return "a number"
	case string:
		return "a text"
	case *List:
		return "a list"
	case *Dict:
		return "a dictionary"
	case *Exception:
		return "an error"
	case *Secret:
		return "a secret"
	case *Huge:
		return "a number beyond 64 bits"
	case *Unread:
		return "a part of an answer that cannot be read"
	}
	return fmt.Sprintf("a %T", v)
}

// truth says whether a value counts as true in a condition: all do but None, False,
// zero, and what is empty.
func truth(v Value) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case *List:
		return len(v.items) > 0
	case *Dict:
		return len(v.keys) > 0
	}
	return true
}

// Equal reports whether two values are equal, as == has it: whole numbers and others by
// their exact value, dictionaries whatever their order.
func Equal(a, b Value) bool {
	switch a := a.(type) {
	case *List:
		b, ok := b.(*List)
		return ok && slices.EqualFunc(a.items, b.items, Equal)
	case *Dict:
		b, ok := b.(*Dict)
		if !ok || len(a.keys) != len(b.keys) {
			return false
		}
		for _, k := range a.keys {
			other, ok := b.values[k]
			if !ok || !Equal(a.values[k], other) {
				return false
			}
		}
		return true
	case *Exception:
		b, ok := b.(*Exception)
		return ok && a.Type == b.Type && a.Message == b.Message && a.Attempts == b.Attempts
	case *Secret:
		b, ok := b.(*Secret)
		return ok && a.equal(b)
	case *Huge:
		b, ok := b.(*Huge)
		return ok && a.equal(b)
	case *Unread:
		return false
	}
	if order, ok := compareNumbers(a, b); ok {
		return order == 0
	}
	return a == b
}

// compareNumbers orders two numbers exactly.
func compareNumbers(a, b Value) (order int, ok bool) {
	switch a := a.(type) {
	case int64:
		switch b := b.(type) {
		case int64:
			return cmp.Compare(a, b), true
		case float64:
			return compareMixed(a, b), true
		}
	case float64:
		switch b := b.(type) {
		case int64:
			return -compareMixed(b, a), true
		case float64:
			return cmp.Compare(a, b), true
		}
	}
	return 0, false
}

// compareMixed compares without rounding: a float64 cannot hold every int64.
func compareMixed(a int64, b float64) int {
	switch {
	case b >= 1<<63:
		return -1
	case b < -(1 << 63):
		return 1
	}
	whole := math.Floor(b)
	return cmp.Or(cmp.Compare(a, int64(whole)), cmp.Compare(whole, b))
}

// text is a value as str gives it: a text as it is, everything else as JSON, but
// None, True and False as they are written in a program.
func textOf(v Value) (string, error) {
	switch v := v.(type) {
	case nil:
		return "None", nil
	case bool:
		return map[bool]string{true: "True", false: "False"}[v], nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		return syntax.Float64(v), nil
	case string:
		return v, nil
	case *Exception:
		return v.Type + ": " + v.Message, nil
	case *Huge:
		return v.text, nil
	case *Unread:
		return "", v.err()
	case *Secret:
		return "", fault(TypeType, "a secret is no text: join it with texts by +, and hand it to an action")
	}
	data, err := Encode(v)
	return string(data), err
}
