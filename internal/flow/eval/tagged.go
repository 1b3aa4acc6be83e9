package eval

import (
	"fmt"
	"strings"

	"github.com/perdure/perdure/retry"
)

// The tags of values that JSON has no form for: each is the only key of an object. A
// dictionary that begins like one of them is tagged itself, so nothing that comes from
// elsewhere is taken for a tag.
const (
	tagDict   = "$dict"
	tagError  = "$error"
	tagSecret = "$secret"
	tagUnread = "$unread"
)

// isTag reports whether a dictionary begins as a tagged value does.
func isTag(d *Dict) bool { return len(d.keys) > 0 && strings.HasPrefix(d.keys[0], "$") }

// encodeTagged is a value as JSON from which decodeTagged makes the same value.
func encodeTagged(v Value) ([]byte, error) {
	e := encoder{tagged: true}
	err := e.encode(v)
	return e.Bytes(), err
}

func decodeTagged(data []byte) (Value, error) { return newDecoder(data, true).whole() }

// tag writes a value under a tag.
func (b *encoder) tag(name string, write func() error) error {
	b.WriteString(`{"` + name + `":`)
	err := write()
	b.WriteByte('}')
	return err
}

// untag is the value that stands under a tag.
func untag(d *Dict) (Value, error) {
	if len(d.keys) > 1 {
		return nil, errState
	}
	name := d.keys[0]
	switch inner := d.values[name].(type) {
	case *List:
		if name == tagSecret {
			return secretOf(inner)
		}
	case *Dict:
		switch name {
		case tagDict:
			return inner, nil
		case tagError:
			return exceptionOf(inner)
		case tagUnread:
			u := &Unread{}
			u.Type, _ = inner.values["type"].(string)
			u.Message, _ = inner.values["message"].(string)
			return u, nil
		}
	}
	return nil, fault(TypeValue, "the value cannot be read: it is tagged %s", name)
}

func (u *Unread) record() *Dict {
	return &Dict{keys: []string{"type", "message"}, values: map[string]Value{"type": u.Type, "message": u.Message}}
}

// record is an error as a dictionary.
func (x *Exception) record() *Dict {
	types := make([]Value, 0, 4)
	for _, t := range retry.Classify(x.Err).Types {
		types = append(types, t)
	}
	text := x.Message
	if x.Err != nil {
		text = x.Err.Error()
	}
	return &Dict{
		keys:   []string{"type", "message", "attempts", "types", "text"},
		values: map[string]Value{"type": x.Type, "message": x.Message, "attempts": x.Attempts, "types": &List{items: types}, "text": text},
	}
}

// exceptionOf is the error of a record. What it is passed on as has the types and the
// text of the error that it was.
func exceptionOf(d *Dict) (Value, error) {
	x := &Exception{}
	types, is := d.values["types"].(*List)
	text, too := d.values["text"].(string)
	if !is || !too {
		return nil, fault(TypeValue, "the error cannot be read")
	}
	x.Type, _ = d.values["type"].(string)
	x.Message, _ = d.values["message"].(string)
	x.Attempts, _ = d.values["attempts"].(int64)
	for i := len(types.items) - 1; i >= 0; i-- {
		x.Err = &Carried{Type: fmt.Sprint(types.items[i]), Text: text, Err: x.Err}
	}
	if x.Err == nil {
		x.Err = &Carried{Type: x.Type, Text: text}
	}
	x.Err.(*Carried).as = x
	return x, nil
}

// Carried is an error of which its types and its text are known only: one that one run of a
// program has caught and another one passes on, or that a rehearsal makes up.
type Carried struct {
	Type string `json:"type"`
	Text string `json:"text"`
	Err  error  `json:"-"`

	as *Exception // what except binds it as, of the outermost
}

func init() { retry.RegisterErrorType[*Carried]("flow.Carried") }

func (e *Carried) Error() string { return e.Text }

// ErrorType returns the type.
func (e *Carried) ErrorType() string { return e.Type }

// Unwrap returns the same error with the types that follow.
func (e *Carried) Unwrap() error { return e.Err }
