package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Encode is a value as JSON: dictionaries in their order, an error as an object of
// its three fields. Whole numbers have no point, others have one or an exponent, so
// that they are the same kind of number when they are read again.
func Encode(v Value) ([]byte, error) {
	var b bytes.Buffer
	if err := encode(&b, v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func encode(b *bytes.Buffer, v Value) error {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case float64:
		b.WriteString(formatFloat(v))
	case string:
		writeString(b, v)
	case *List:
		b.WriteByte('[')
		for i, item := range v.items {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := encode(b, item); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case *Dict:
		b.WriteByte('{')
		for i, key := range v.keys {
			if i > 0 {
				b.WriteByte(',')
			}
			writeString(b, key)
			b.WriteByte(':')
			if err := encode(b, v.values[key]); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case *Exception:
		b.WriteString(`{"type":`)
		writeString(b, v.Type)
		b.WriteString(`,"message":`)
		writeString(b, v.Message)
		fmt.Fprintf(b, `,"attempts":%d}`, v.Attempts)
	default:
		return fmt.Errorf("a %T is no value of a flow file", v)
	}
	return nil
}

func writeString(b *bytes.Buffer, s string) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)         // a text cannot fail
	b.Truncate(b.Len() - 1) // the line break
}

// Decode is the value that JSON describes. Numbers without a point or an exponent
// are whole ones; one that does not fit into 64 bits is refused rather than rounded.
func Decode(data []byte) (Value, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := decode(d, 0)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, decodeError(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, decodeError(errors.New("something stands behind the value"))
	}
	return v, nil
}

func decodeError(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Type: TypeValue, Message: "this is no JSON: " + err.Error()}
}

func decode(d *json.Decoder, depth int) (Value, error) {
	if err := tooDeep(depth); err != nil {
		return nil, err
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '[' {
			return decodeList(d, depth)
		}
		return decodeDict(d, depth)
	case json.Number:
		return number(string(t))
	case string:
		return limited(t)
	}
	return t, nil // nil or bool
}

func decodeList(d *json.Decoder, depth int) (Value, error) {
	var items []Value
	for d.More() {
		v, err := decode(d, depth+1)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	return list(items)
}

func decodeDict(d *json.Decoder, depth int) (Value, error) {
	out := NewDict()
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		v, err := decode(d, depth+1)
		if err != nil {
			return nil, err
		}
		if err := out.set(key.(string), v); err != nil {
			return nil, err
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	return out, nil
}

// number reads a number of JSON.
func number(s string) (Value, error) {
	if !strings.ContainsAny(s, ".eE") {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, &Error{Type: TypeOverflow, Message: fmt.Sprintf("the number %s does not fit into 64 bits; let it be a text, or one with a point", s)}
		}
		return n, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) {
		return nil, &Error{Type: TypeOverflow, Message: fmt.Sprintf("the number %s is too large", s)}
	}
	return f, nil
}

// limited refuses a text that is too large, and mends one that is no UTF-8.
func limited(s string) (Value, error) {
	if len(s) > MaxValue {
		return nil, tooLarge("text")
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return s, nil
}
