package eval

import (
	"math"
	"strconv"
	"strings"

	"github.com/perdure/perdure/retry"
)

// texts is a builtin whose arguments all are texts.
func texts(run func(f *frame, s []string) (Value, error)) func(*frame, []Value) (Value, error) {
	return func(f *frame, a []Value) (Value, error) {
		s, err := collect(len(a), func(i int) (string, error) {
			text, ok := a[i].(string)
			if !ok {
				return "", fault(TypeType, "this takes a text, and gets %s", kindOf(a[i]))
			}
			return text, f.spend(len(text) / 64)
		})
		if err != nil {
			return nil, err
		}
		out, err := run(f, s)
		if text, ok := out.(string); ok && len(text) > MaxValue {
			return nil, tooLarge("text")
		}
		return out, err
	}
}

func replace(_ *frame, s []string) (Value, error) {
	growth := len(s[2]) - len(s[1])
	if growth > 0 && len(s[0])+strings.Count(s[0], s[1])*growth > MaxValue {
		return nil, tooLarge("text")
	}
	return strings.ReplaceAll(s[0], s[1], s[2]), nil
}

func split(f *frame, s []string) (Value, error) {
	parts := strings.Fields(s[0])
	if len(s) > 1 {
		parts = strings.Split(s[0], s[1])
	}
	return f.made(len(parts), func(i int) (Value, error) { return parts[i], nil })
}

func toText(f *frame, a []Value) (Value, error) {
	if err := f.spend(sizeOf(a[0]) / 64); err != nil {
		return nil, err
	}
	s, err := textOf(a[0])
	if err != nil {
		return nil, err
	}
	return limited(s)
}

func toJSON(f *frame, a []Value) (Value, error) {
	if err := f.spend(sizeOf(a[0]) / 64); err != nil {
		return nil, err
	}
	data, err := Encode(a[0])
	if err != nil {
		return nil, err
	}
	return limited(string(data))
}

func parseJSON(f *frame, a []Value) (Value, error) {
	s, ok := a[0].(string)
	if !ok {
		return nil, fault(TypeType, "parse_json takes a text, and gets %s", kindOf(a[0]))
	}
	if err := f.spend(len(s) / 16); err != nil {
		return nil, err
	}
	return Decode([]byte(s))
}

func toInt(_ *frame, a []Value) (Value, error) {
	switch v := a[0].(type) {
	case int64:
		return v, nil
	case float64:
		return wholeOf(math.Trunc(v))
	case bool:
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	case string:
		n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		if err != nil {
			return nil, fault(TypeValue, "%.40q is no whole number of 64 bits", v)
		}
		return n, nil
	}
	return nil, fault(TypeType, "%s is no number", kindOf(a[0]))
}

// wholeOf is a number without a part behind the point as a whole number.
func wholeOf(v float64) (Value, error) {
	if v < -(1<<63) || v >= 1<<63 {
		return nil, overflow()
	}
	return int64(v), nil
}

func toNumber(_ *frame, a []Value) (Value, error) {
	if s, ok := a[0].(string); ok {
		v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fault(TypeValue, "%.40q is no number", s)
		}
		return v, nil
	}
	if v, ok := toFloat(a[0]); ok {
		return v, nil
	}
	return nil, fault(TypeType, "%s is no number", kindOf(a[0]))
}

func absolute(_ *frame, a []Value) (Value, error) {
	switch v := a[0].(type) {
	case int64:
		if v == math.MinInt64 {
			return nil, overflow()
		}
		return int64(magnitude(v)), nil
	case float64:
		return math.Abs(v), nil
	}
	return nil, fault(TypeType, "%s is no number", kindOf(a[0]))
}

func round(_ *frame, a []Value) (Value, error) {
	switch v := a[0].(type) {
	case int64:
		return v, nil
	case float64:
		return wholeOf(math.RoundToEven(v))
	}
	return nil, fault(TypeType, "%s is no number", kindOf(a[0]))
}

func isException(_ *frame, a []Value) (Value, error) {
	_, is := a[0].(*Exception)
	return is, nil
}

// failWith fails on purpose.
func failWith(_ *frame, a []Value) (Value, error) {
	if e, is := a[0].(*Exception); is && len(a) == 1 {
		return nil, e.Err
	}
	message, ok := a[0].(string)
	if !ok {
		return nil, fault(TypeType, "fail takes a text or an error, and gets %s", kindOf(a[0]))
	}
	kind := TypeFailed
	if len(a) == 2 {
		if kind, ok = a[1].(string); !ok || kind == "" || kind == TypeSteps || kind == retry.TypeCanceled || strings.ContainsAny(kind, " \t\r\n") {
			return nil, fault(TypeValue, "the type of an error is a text without blanks, such as \"OutOfStock\"")
		}
	}
	return nil, fault(kind, "%s", message)
}

func now(f *frame, _ []Value) (Value, error) {
	return float64(f.fx.Now().UnixNano()) / 1e9, nil
}
