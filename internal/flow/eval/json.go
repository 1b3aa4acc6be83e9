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

	"github.com/perdure/perdure/internal/flow/syntax"
)

// Encode is a value as JSON: dictionaries in their order, an error as an object of
// its three fields. Whole numbers have no point, others have one or an exponent, so
// that they are the same kind of number when they are read again.
func Encode(v Value) ([]byte, error) {
	e := encoder{}
	if err := e.encode(v); err != nil {
		return nil, err
	}
	return e.Bytes(), nil
}

// encoder writes JSON, as it is shown or, tagged, so that every value comes back.
type encoder struct {
	bytes.Buffer
	tagged bool
	secret bool                            // there was one
	reveal func(s *Secret) (string, error) // nil: secrets are masked
}

func (b *encoder) encode(v Value) error {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case float64:
		b.WriteString(syntax.Float64(v))
	case string:
		b.string(v)
	case *List:
		b.WriteByte('[')
		for i, item := range v.items {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := b.encode(item); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case *Dict:
		if b.tagged && isTag(v) {
			return b.tag(tagDict, func() error { return b.dict(v) })
		}
		return b.dict(v)
	case *Huge:
		b.WriteString(v.text)
	case *Unread:
		if b.tagged {
			return b.tag(tagUnread, func() error { return b.dict(v.record()) })
		}
		b.WriteString("null")
	case *Secret:
		return b.writeSecret(v)
	case *Exception:
		if b.tagged {
			return b.tag(tagError, func() error { return b.dict(v.record()) })
		}
		b.WriteString(`{"type":`)
		b.string(v.Type)
		b.WriteString(`,"message":`)
		b.string(v.Message)
		fmt.Fprintf(b, `,"attempts":%d}`, v.Attempts)
	default:
		return fmt.Errorf("a %T is no value of a flow file", v)
	}
	return nil
}

func (b *encoder) dict(v *Dict) error {
	b.WriteByte('{')
	for i, key := range v.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		b.string(key)
		b.WriteByte(':')
		if err := b.encode(v.values[key]); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

func (b *encoder) string(s string) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)         // a text cannot fail
	b.Truncate(b.Len() - 1) // the line break
}

// Decode is the value that JSON describes. Numbers without a point or an exponent
// are whole ones; one that does not fit into 64 bits is refused rather than rounded.
func Decode(data []byte) (Value, error) { return newDecoder(data, false).whole() }

// decoder reads JSON, as it is or with tags.
type decoder struct {
	*json.Decoder
	tagged  bool
	lenient bool // numbers that are no values are kept
	plain   bool // the next dictionary is no tag, whatever it looks like
}

func newDecoder(data []byte, tagged bool) *decoder {
	d := &decoder{Decoder: json.NewDecoder(bytes.NewReader(data)), tagged: tagged, lenient: tagged}
	d.UseNumber()
	return d
}

// whole reads one value and nothing behind it.
func (d *decoder) whole() (Value, error) {
	v, err := d.decode(0)
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

func (d *decoder) decode(depth int) (Value, error) {
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
			return d.list(depth)
		}
		return d.dict(depth)
	case json.Number:
		return d.numberOf(string(t))
	case string:
		return limited(t)
	}
	return t, nil // nil or bool
}

func (d *decoder) list(depth int) (Value, error) {
	var items []Value
	for d.More() {
		v, err := d.decode(depth + 1)
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

func (d *decoder) dict(depth int) (Value, error) {
	plain := d.plain || !d.tagged
	d.plain = false
	out := NewDict()
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		d.plain = !plain && len(out.keys) == 0 && key == tagDict
		v, err := d.decode(depth + 1)
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
	if !plain && isTag(out) {
		return untag(out)
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
