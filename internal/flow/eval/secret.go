package eval

import (
	"encoding/json"
	"slices"
	"strings"
)

// Secret is a text with parts that only an attempt of an action learns. Programs join it
// with texts and hand it to actions; nothing else can look at it, and wherever it would
// be shown or stored it is Masked.
type Secret struct{ parts []secretPart }

// secretPart is a text or, with a name, a reference.
type secretPart struct {
	Text string `json:"text,omitempty"`
	Name string `json:"name,omitempty"`
}

// Masked stands in the place of a secret.
const Masked = "***"

// secretArgs is the name of the only argument of an action that gets secrets: it has all
// of them, tagged. No program can give an argument this name.
const secretArgs = "$secrets"

func makeSecret(_ *frame, a []Value) (Value, error) {
	name, is := a[0].(string)
	if !is || name == "" {
		return nil, fault(TypeType, "secret takes the name of a secret, such as secret(\"API_KEY\")")
	}
	return &Secret{[]secretPart{{Name: name}}}, nil
}

func isSecret(v Value) bool {
	_, is := v.(*Secret)
	return is
}

// joinSecret is a secret with a text or a secret before or behind it.
func joinSecret(a, b Value) (Value, error) {
	out := &Secret{}
	for _, v := range []Value{a, b} {
		switch v := v.(type) {
		case string:
			out.parts = append(out.parts, secretPart{Text: v})
		case *Secret:
			out.parts = append(out.parts, v.parts...)
		default:
			return nil, fault(TypeType, "a secret is joined with texts and secrets, and this is %s", kindOf(v))
		}
	}
	if sizeOf(out) > MaxValue {
		return nil, tooLarge("text")
	}
	return out, nil
}

func (s *Secret) size() (n int) {
	for _, p := range s.parts {
		n += len(p.Text) + len(p.Name) + 24
	}
	return n
}

func (s *Secret) equal(other *Secret) bool { return slices.Equal(s.parts, other.parts) }

// EncodeArgs is the arguments of an action as JSON: references instead of secrets, if
// there are any.
func EncodeArgs(args *Dict) ([]byte, error) {
	e := encoder{}
	if err := e.encode(args); err != nil || !e.secret {
		return e.Bytes(), err
	}
	tagged, err := encodeTagged(args)
	if err != nil {
		return nil, err
	}
	return []byte(`{"` + secretArgs + `":` + string(tagged) + `}`), nil
}

// EncodeMasked is the arguments of an action as JSON with Masked in the places of secrets:
// of a text with a secret in it the rest is there.
func EncodeMasked(args *Dict) ([]byte, error) {
	data, err := EncodeArgs(args)
	if err != nil {
		return nil, err
	}
	plain, _, err := Reveal(data, func(string) (string, error) { return Masked, nil })
	return plain, err
}

// SecretsOf returns the names of the secrets, in order, in arguments that EncodeArgs wrote.
func SecretsOf(args []byte) (names []string) {
	_, _, _ = Reveal(args, func(name string) (string, error) { // a lookup that does not fail
		names = append(names, name)
		return "", nil
	})
	return names
}

// Reveal is what EncodeArgs wrote with the secrets in their places, and the values of
// those. The error is that of lookup.
func Reveal(args []byte, lookup func(name string) (string, error)) (plain []byte, values []string, err error) {
	var only map[string]json.RawMessage
	if !strings.HasPrefix(string(args), `{"`+secretArgs+`":`) || json.Unmarshal(args, &only) != nil {
		return args, nil, nil
	}
	v, err := decodeTagged(only[secretArgs])
	if err != nil {
		return nil, nil, err
	}
	e := encoder{reveal: func(s *Secret) (string, error) {
		var b strings.Builder
		for _, p := range s.parts {
			b.WriteString(p.Text)
			if p.Name == "" {
				continue
			}
			value, err := lookup(p.Name)
			if err != nil {
				return "", err
			}
			b.WriteString(value)
			values = append(values, value)
		}
		return b.String(), nil
	}}
	err = e.encode(v)
	return e.Bytes(), values, err
}

// Mask replaces the values of secrets in all texts of a value.
func Mask(v Value, values []string) Value {
	switch v := v.(type) {
	case string:
		return MaskText(v, values)
	case *List:
		out := &List{items: make([]Value, len(v.items)), size: v.size, depth: v.depth}
		for i, item := range v.items {
			out.items[i] = Mask(item, values)
		}
		return out
	case *Dict:
		out := &Dict{values: map[string]Value{}, size: v.size, depth: v.depth}
		for _, key := range v.keys {
			masked := MaskText(key, values)
			if _, twice := out.values[masked]; !twice {
				out.keys = append(out.keys, masked)
			}
			out.values[masked] = Mask(v.values[key], values)
		}
		return out
	}
	return v
}

// MaskText replaces the values of secrets in a text.
func MaskText(text string, values []string) string {
	for _, value := range values {
		if value != "" {
			text = strings.ReplaceAll(text, value, Masked)
		}
	}
	return text
}

// secretOf is the secret of a tag.
func secretOf(l *List) (Value, error) {
	s := &Secret{}
	for _, item := range l.items {
		d, is := item.(*Dict)
		if !is {
			return nil, errState
		}
		text, _ := d.values["text"].(string)
		name, _ := d.values["name"].(string)
		s.parts = append(s.parts, secretPart{text, name})
	}
	return s, nil
}

// writeSecret writes a secret: masked, as its references, or revealed.
func (b *encoder) writeSecret(s *Secret) error {
	b.secret = true
	switch {
	case b.tagged:
		return b.tag(tagSecret, func() error {
			data, err := json.Marshal(s.parts)
			b.Write(data)
			return err
		})
	case b.reveal == nil:
		b.string(Masked)
		return nil
	}
	text, err := b.reveal(s)
	b.string(text)
	return err
}
