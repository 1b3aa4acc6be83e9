package eval

import (
	"fmt"
	"strings"
)

// Huge is a number of an answer that is no value of a program, such as a whole one above
// 64 bits. A program can hand it on, exactly as it came, and make a text of it.
type Huge struct{ text string }

// Unread is a part of an answer that cannot be read, though the rest of it can. Whoever
// looks at it gets an error.
type Unread struct{ Type, Message string }

func (u *Unread) err() error { return &Error{Type: u.Type, Message: u.Message} }

// DecodeResult is Decode for what an action returned: its effect is done, so a number in
// it that is no value is kept as it is, as a *Huge, and fails when it is worked with.
func DecodeResult(data []byte) (Value, error) {
	d := newDecoder(data, false)
	d.lenient = true
	return d.whole()
}

// Unreadable returns a dictionary that has a part which cannot be read under a key, and no longer
// the key that said why.
func (d *Dict) Unreadable(key, why string, part Unread) *Dict {
	out := NewDict()
	for _, k := range d.keys {
		if k != why {
			_ = out.set(k, d.values[k]) // it was not too large before
		}
	}
	_ = out.set(key, &part)
	return out
}

// numberOf is a number of JSON, a *Huge if it is no value and the decoder is lenient.
func (d *decoder) numberOf(s string) (Value, error) {
	v, err := number(s)
	if err == nil || !d.lenient {
		return v, err
	}
	if len(s) > MaxValue {
		return nil, tooLarge("number")
	}
	return &Huge{s}, nil
}

// refuseHuge is the error of an operation that does not work with what an answer has.
func refuseHuge(values ...Value) error {
	for _, v := range values {
		switch v := v.(type) {
		case *Huge:
			digits := v.text
			if len(digits) > 40 {
				digits = digits[:40] + "..."
			}
			return &Error{Type: TypeOverflow, Message: fmt.Sprintf("the number %s does not fit into 64 bits; str(x) makes a text of it", digits)}
		case *Unread:
			return v.err()
		}
	}
	return nil
}

// equal reports whether two numbers of answers are written alike.
func (h *Huge) equal(other *Huge) bool {
	return strings.EqualFold(h.text, other.text)
}
