package eval

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// as is an argument that is a list, or a dictionary.
func as[T *List | *Dict](v Value) (T, error) {
	out, ok := v.(T)
	if !ok {
		return nil, fault(TypeType, "this takes %s, and gets %s", kindOf(out), kindOf(v))
	}
	return out, nil
}

// of is a builtin whose first argument is a list, or a dictionary.
func of[T *List | *Dict](run func(f *frame, first T, others []Value) (Value, error)) func(*frame, []Value) (Value, error) {
	return func(f *frame, a []Value) (Value, error) {
		first, err := as[T](a[0])
		if err != nil {
			return nil, err
		}
		return run(f, first, a[1:])
	}
}

// made makes a list of n elements, which count as steps.
func (f *frame) made(n int, element func(i int) (Value, error)) (Value, error) {
	if n > MaxValue/2 {
		return nil, tooLarge("list")
	}
	if err := f.spend(n); err != nil {
		return nil, err
	}
	out, err := collect(n, element)
	if err != nil {
		return nil, err
	}
	return list(out)
}

// collect makes n values of a kind, up to the first that cannot be made.
func collect[T any](n int, element func(i int) (T, error)) ([]T, error) {
	out := make([]T, n)
	for i := range out {
		var err error
		if out[i], err = element(i); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func length(f *frame, a []Value) (Value, error) {
	switch v := a[0].(type) {
	case string:
		return int64(utf8.RuneCountInString(v)), f.spend(len(v) / 64)
	case *List:
		return int64(len(v.items)), nil
	case *Dict:
		return int64(len(v.keys)), nil
	}
	return nil, fault(TypeType, "%s has no length", kindOf(a[0]))
}

func rangeOf(f *frame, a []Value) (Value, error) {
	numbers := []int64{0, 0, 1}
	given := make([]int64, len(a))
	for i, v := range a {
		n, ok := v.(int64)
		if !ok {
			return nil, fault(TypeType, "range takes whole numbers, and gets %s", kindOf(v))
		}
		given[i] = n
	}
	if len(given) == 1 {
		numbers[1] = given[0]
	} else {
		copy(numbers, given)
	}
	from, to, step := numbers[0], numbers[1], numbers[2]
	if step == 0 {
		return nil, fault(TypeValue, "the step of a range is zero")
	}
	var count uint64
	switch {
	case step > 0 && from < to:
		count = (uint64(to)-uint64(from)-1)/uint64(step) + 1
	case step < 0 && from > to:
		count = (uint64(from)-uint64(to)-1)/magnitude(step) + 1
	}
	if count > MaxValue {
		return nil, tooLarge("list")
	}
	return f.made(int(count), func(i int) (Value, error) { return from + int64(i)*step, nil })
}

func enumerate(f *frame, a []Value) (Value, error) {
	all, err := f.elements(a[0])
	if err != nil {
		return nil, err
	}
	return f.made(len(all), func(i int) (Value, error) { return list([]Value{int64(i), all[i]}) })
}

func zip(f *frame, xs *List, a []Value) (Value, error) {
	ys, err := as[*List](a[0])
	if err != nil {
		return nil, err
	}
	return f.made(min(len(xs.items), len(ys.items)), func(i int) (Value, error) { return list([]Value{xs.items[i], ys.items[i]}) })
}

func reversed(f *frame, l *List, _ []Value) (Value, error) {
	return f.made(len(l.items), func(i int) (Value, error) { return l.items[len(l.items)-1-i], nil })
}

func sorted(f *frame, l *List, _ []Value) (Value, error) {
	if err := f.spend(16 * len(l.items)); err != nil {
		return nil, err
	}
	out := slices.Clone(l.items)
	var wrong error
	slices.SortStableFunc(out, func(x, y Value) int {
		n, err := order(x, y)
		if err != nil && wrong == nil {
			wrong = err
		}
		return n
	})
	if wrong != nil {
		return nil, wrong
	}
	return list(out)
}

// extreme is min or max.
func extreme(want int) func(*frame, []Value) (Value, error) {
	return func(f *frame, a []Value) (Value, error) {
		all := a
		if len(a) == 1 {
			l, err := as[*List](a[0])
			if err != nil {
				return nil, err
			}
			all = l.items
		}
		if len(all) == 0 {
			return nil, fault(TypeValue, "an empty list has no least and no greatest element")
		}
		if err := f.spend(len(all)); err != nil {
			return nil, err
		}
		best := all[0]
		for _, v := range all {
			n, err := order(v, best)
			if err != nil {
				return nil, err
			}
			if n == want {
				best = v
			}
		}
		return best, nil
	}
}

func sum(f *frame, l *List, _ []Value) (Value, error) {
	if err := f.spend(len(l.items)); err != nil {
		return nil, err
	}
	var total Value = int64(0)
	for _, v := range l.items {
		var err error
		if total, err = arithmetic("+", total, v); err != nil {
			return nil, err
		}
	}
	return total, nil
}

// slice is a part of a list or a text.
func slice(f *frame, a []Value) (Value, error) {
	var all []Value
	text, isText := a[0].(string)
	var runes []rune
	n := 0
	if isText {
		runes = []rune(text)
		n = len(runes)
	} else {
		l, err := as[*List](a[0])
		if err != nil {
			return nil, err
		}
		all = l.items
		n = len(all)
	}
	bounds := []int{0, n}
	for i, v := range a[1:] {
		at, ok := v.(int64)
		if !ok {
			return nil, fault(TypeType, "the bounds of slice are whole numbers, and this is %s", kindOf(v))
		}
		if at < 0 {
			at += int64(n)
		}
		bounds[i] = int(max(0, min(at, int64(n))))
	}
	from, to := bounds[0], max(bounds[0], bounds[1])
	if isText {
		return string(runes[from:to]), f.spend(n / 64)
	}
	return f.made(to-from, func(i int) (Value, error) { return all[from+i], nil })
}

func keys(f *frame, d *Dict, _ []Value) (Value, error) {
	return f.made(len(d.keys), func(i int) (Value, error) { return d.keys[i], nil })
}

func values(f *frame, d *Dict, _ []Value) (Value, error) {
	return f.made(len(d.keys), func(i int) (Value, error) { return d.values[d.keys[i]], nil })
}

func items(f *frame, d *Dict, _ []Value) (Value, error) {
	return f.made(len(d.keys), func(i int) (Value, error) { return list([]Value{d.keys[i], d.values[d.keys[i]]}) })
}

// get is an element, or something else if there is none.
func get(_ *frame, a []Value) (Value, error) {
	var otherwise Value
	if len(a) == 3 {
		otherwise = a[2]
	}
	switch v := a[0].(type) {
	case *Dict:
		key, ok := a[1].(string)
		if out, there := v.values[key]; ok && there {
			if unread, is := out.(*Unread); is {
				return nil, unread.err()
			}
			return out, nil
		}
		return otherwise, nil
	case *List:
		if _, ok := a[1].(int64); !ok {
			return nil, fault(TypeType, "the index of a list is a whole number, and this is %s", kindOf(a[1]))
		}
		if n, err := place(a[1], len(v.items), "list"); err == nil {
			return v.items[n], nil
		}
		return otherwise, nil
	}
	return nil, fault(TypeType, "get takes a dictionary or a list, and gets %s", kindOf(a[0]))
}

func join(f *frame, l *List, a []Value) (Value, error) {
	between, ok := a[0].(string)
	if !ok {
		return nil, fault(TypeType, "between the parts stands a text, and this is %s", kindOf(a[0]))
	}
	parts := make([]string, len(l.items))
	size := 0
	for i, v := range l.items {
		if parts[i], ok = v.(string); !ok {
			return nil, fault(TypeType, "join takes a list of texts, and element %d is %s", i, kindOf(v))
		}
		if size += len(parts[i]) + len(between); size > MaxValue {
			return nil, tooLarge("text")
		}
	}
	if err := f.spend(size / 64); err != nil {
		return nil, err
	}
	return strings.Join(parts, between), nil
}
