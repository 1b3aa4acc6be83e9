package param

import (
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/human"
)

// Param is something that a command or a list needs to know: a field of a struct. The tags are
//
//	json     its name in a body over HTTP; "-" for none
//	query    its name in an address
//	path     its name in the path of an address
//	flag     its name on the command line and in forms, where it is not the one of json; "-" for none
//	arg      its name as an argument of the command line, in place of a flag
//	help     what it is, for the command line and the API; in braces is what the flag takes
//	label    what stands beside it in a form
//	hint     what stands below that
//	need     what to give, in the imperative: it must be given
//	default  its value if nothing is given
//	enum     the values that it can have, with commas
//	kind     text: one of several lines
//	form     "-": forms do not ask for it; "hidden": they send it as it was when they were shown
//
// A field without help is only over HTTP.
type Param struct {
	Name, Path, Flag, Arg, Help, Label, Hint, Need, Default string
	Enum                                                    []string
	Long, NoForm, Hidden                                    bool

	field reflect.StructField
}

// Of returns the parameters that the fields of a struct are.
func Of(t reflect.Type) (all []Param) {
	for _, f := range reflect.VisibleFields(t) {
		tag := f.Tag
		if tag.Get("help") == "" {
			continue
		}
		name := NameOf(f)
		p := Param{
			Name: name, Path: tag.Get("path"), Flag: cmp.Or(tag.Get("flag"), strings.ReplaceAll(name, "_", "-")), Arg: tag.Get("arg"), Help: tag.Get("help"), Label: tag.Get("label"),
			Hint: tag.Get("hint"), Need: tag.Get("need"), Default: tag.Get("default"), Long: tag.Get("kind") == "text", NoForm: tag.Get("form") == "-", Hidden: tag.Get("form") == "hidden", field: f,
		}
		if values := tag.Get("enum"); values != "" {
			p.Enum = strings.Split(values, ",")
		}
		if p.Label == "" {
			plain := p.Plain()
			p.Label = strings.ToUpper(plain[:1]) + plain[1:]
		}
		all = append(all, p)
	}
	return all
}

// Find returns the parameter of a struct with a name or a flag, nil if there is none.
func Find(t reflect.Type, name string) *Param {
	for _, p := range Of(t) {
		if p.Flag == name || p.Name == name {
			return &p
		}
	}
	return nil
}

// Field returns the parameter that a field of a struct is, nil if there is none.
func Field(t reflect.Type, name string) *Param {
	for _, p := range Of(t) {
		if p.field.Name == name {
			return &p
		}
	}
	return nil
}

// Plain is the help without braces.
func (p *Param) Plain() string { return Plain(p.Help) }

// Plain is a help without its braces.
func Plain(help string) string { return strings.NewReplacer("{", "", "}", "").Replace(help) }

// Type is the type of the value.
func (p *Param) Type() reflect.Type {
	if p.field.Type.Kind() == reflect.Pointer {
		return p.field.Type.Elem()
	}
	return p.field.Type
}

// Optional reports whether giving the zero value is another thing than giving none.
func (p *Param) Optional() bool { return p.field.Type.Kind() == reflect.Pointer }

// Check reports whether it is either so or not.
func (p *Param) Check() bool { return p.Type().Kind() == reflect.Bool }

// Number reports whether it is a number.
func (p *Param) Number() bool {
	if reflect.PointerTo(p.Type()).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return false
	}
	switch p.Type().Kind() {
	case reflect.Int, reflect.Float64:
		return true
	case reflect.Int64:
		return p.Type() != reflect.TypeFor[time.Duration]()
	}
	return false
}

func (p *Param) value(of any) reflect.Value {
	return reflect.ValueOf(of).Elem().FieldByIndex(p.field.Index)
}

// Given reports whether the struct has it.
func (p *Param) Given(of any) bool { return !p.value(of).IsZero() }

// Copy sets the value of one struct to that of another.
func (p *Param) Copy(from, to any) { p.value(to).Set(p.value(from)) }

// Text is the value as text, as a form shows it; a zero is empty.
func (p *Param) Text(of any) string {
	v := p.value(of)
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	if v.IsZero() {
		return ""
	}
	switch value := v.Interface().(type) {
	case time.Duration:
		return human.Exact(value)
	case []string:
		return strings.Join(value, ",")
	case json.RawMessage:
		return string(value)
	case fmt.Stringer:
		return value.String()
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	case bool:
		return "yes"
	}
	return fmt.Sprint(v.Interface())
}

// Lines splits what stands in a field of a form into what Set takes: names with values are given
// one by one.
func (p *Param) Lines(text string) iter.Seq[string] {
	if p.Type() == reflect.TypeFor[Pairs]() {
		return strings.Lines(text)
	}
	return slices.Values([]string{text})
}

// Set reads the value from text. An empty text is the zero value, which a pointer tells from
// none.
func (p *Param) Set(of any, text string) error {
	v := p.value(of)
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if pairs, ok := v.Addr().Interface().(*Pairs); ok && text != "" {
		return pairs.Add(text)
	}
	v.SetZero()
	if text == "" {
		return nil
	}
	var err error
	switch into := v.Addr().Interface().(type) {
	case *time.Duration:
		if *into, err = time.ParseDuration(text); err != nil || *into < 0 {
			return p.wrong(text, "a duration, such as 30s or 1h30m")
		}
	case *[]string:
		*into = strings.Split(text, ",")
	case *json.RawMessage:
		if !json.Valid([]byte(text)) {
			return Bad(p.name(), `write a text in double quotes, as in "done"`, "must be JSON, not %s", Clip(strings.TrimSpace(text)))
		}
		*into = json.RawMessage(text)
	case interface{ UnmarshalText([]byte) error }:
		err := into.UnmarshalText([]byte(text))
		if w, ok := errors.AsType[*Wrong](err); ok {
			w.Param = p.name()
		}
		return err
	default:
		return p.setPlain(v, text)
	}
	return nil
}

// setPlain reads a text, a number or a truth.
func (p *Param) setPlain(v reflect.Value, text string) error {
	switch v.Kind() {
	case reflect.String:
		if p.Enum != nil && !slices.Contains(p.Enum, text) {
			return Bad(p.name(), "it can be "+strings.Join(p.Enum, ", "), "is %q", Clip(text))
		}
		v.SetString(text)
	case reflect.Bool:
		on, err := strconv.ParseBool(text)
		if err != nil && text != "yes" {
			return p.wrong(text, "true or false")
		}
		v.SetBool(on || text == "yes")
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || v.OverflowInt(n) {
			return p.wrong(text, "a whole number, such as 10")
		}
		v.SetInt(n)
	case reflect.Float64:
		x, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "%")), 64)
		if err != nil || !(x > -1e18 && x < 1e18) {
			return p.wrong(text, "a number, such as 2.5")
		}
		v.SetFloat(x)
	default:
		panic("param: the parameter " + p.Flag + " has a type without a form; give it one here")
	}
	return nil
}

// name is what the parameter is called over HTTP, or else on the command line.
func (p *Param) name() string { return cmp.Or(strings.TrimPrefix(p.Name, "-"), p.Flag) }

func (p *Param) wrong(text, form string) *Wrong {
	return Bad(p.name(), "write "+form, "is %q", Clip(text))
}

// Clip cuts what a person wrote to what an error shows of it.
func Clip(text string) string { return human.Clip(strings.ToValidUTF8(text, "\ufffd"), 100) }

// Wrong is a parameter that cannot be used. Each face names it in its own way.
type Wrong struct {
	Param   string // its name, as over HTTP
	Problem string // a clause: "is missing"
	Remedy  string // a clause in the imperative; may be empty
}

// Bad returns a Wrong, with the problem as a format.
func Bad(param, remedy, problem string, args ...any) *Wrong {
	return &Wrong{param, fmt.Sprintf(problem, args...), remedy}
}

func (w *Wrong) Error() string {
	text := w.Param + " " + w.Problem
	if !strings.Contains(w.Param, " or ") {
		text = "the " + text
	}
	if w.Remedy != "" {
		text += "; " + w.Remedy
	}
	return text
}
