package eval

import (
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// placeForm is what may stand behind the colon of a place in a format.
var placeForm = regexp.MustCompile(`^([<>^])?(0)?([0-9]{1,3})?(,)?(?:\.([0-9]{1,2})f?)?$`)

// format puts values into the places of a text.
func format(f *frame, a []Value) (Value, error) {
	text, ok := a[0].(string)
	if !ok {
		return nil, fault(TypeType, "format takes a text and values, and gets %s", kindOf(a[0]))
	}
	var b strings.Builder
	next := 1
	for text != "" {
		i := strings.IndexAny(text, "{}")
		if i < 0 {
			b.WriteString(text)
			break
		}
		b.WriteString(text[:i])
		if brace := text[i : i+1]; strings.HasPrefix(text[i+1:], brace) {
			b.WriteString(brace)
			text = text[i+2:]
			continue
		}
		inside, rest, closed := strings.Cut(text[i+1:], "}")
		spec, _ := strings.CutPrefix(inside, ":")
		switch {
		case text[i] == '}' || !closed:
			return nil, fault(TypeValue, "a brace in a format is not paired; {{ and }} are braces themselves")
		case spec == inside && inside != "" || !placeForm.MatchString(spec):
			return nil, fault(TypeValue, "{%.20s} is no place of a format; places are {}, {:.2f}, {:,}, {:05} and {:>10}", inside)
		case next >= len(a):
			return nil, fault(TypeValue, "the format has more places than values")
		}
		shown, err := inPlace(a[next], placeForm.FindStringSubmatch(spec))
		if err == nil {
			err = f.spend(len(shown)/64 + 1)
		}
		if err != nil {
			return nil, err
		}
		if b.WriteString(shown); b.Len() > MaxValue {
			return nil, tooLarge("text")
		}
		next++
		text = rest
	}
	if next < len(a) {
		return nil, fault(TypeValue, "the format has %s, and gets %s", plural(next-1, "place"), plural(len(a)-1, "value"))
	}
	return limited(b.String())
}

// inPlace is a value in its place.
func inPlace(v Value, form []string) (string, error) {
	align, zeros, width, thousands, digits := form[1], form[2] != "", form[3], form[4] != "", form[5]
	number, isNumber := toFloat(v)
	shown, err := textOf(v)
	if err != nil {
		return "", err
	}
	switch {
	case (digits != "" || thousands || zeros) && !isNumber:
		return "", fault(TypeType, "this place of the format takes a number, and gets %s", kindOf(v))
	case digits != "":
		n, _ := strconv.Atoi(digits)
		shown = strconv.FormatFloat(number, 'f', n, 64)
	case thousands && math.Abs(number) < 1e15:
		if _, whole := v.(int64); !whole {
			shown = strconv.FormatFloat(number, 'f', -1, 64)
		}
	}
	sign := ""
	if isNumber && strings.HasPrefix(shown, "-") {
		sign, shown = "-", shown[1:]
	}
	if thousands {
		whole, point, _ := strings.Cut(shown, ".")
		for i := len(whole) - 3; i > 0; i -= 3 {
			whole = whole[:i] + "," + whole[i:]
		}
		if shown = whole; point != "" {
			shown += "." + point
		}
	}
	n, _ := strconv.Atoi(width)
	missing := max(n-utf8.RuneCountInString(sign+shown), 0)
	switch {
	case zeros:
		return sign + strings.Repeat("0", missing) + shown, nil
	case align == "^":
		return strings.Repeat(" ", missing/2) + sign + shown + strings.Repeat(" ", missing-missing/2), nil
	case align == ">" || align == "" && isNumber:
		return strings.Repeat(" ", missing) + sign + shown, nil
	}
	return sign + shown + strings.Repeat(" ", missing), nil
}

// urlEncode encodes what a URL has no other way for.
func urlEncode(f *frame, a []Value) (Value, error) {
	if err := f.spend(sizeOf(a[0]) / 16); err != nil {
		return nil, err
	}
	d, is := a[0].(*Dict)
	if !is {
		text, err := textOf(a[0])
		if err != nil {
			return nil, err
		}
		return limited(escape(text))
	}
	var parts []string
	for _, key := range d.keys {
		text, err := textOf(d.values[key])
		if err != nil {
			return nil, err
		}
		parts = append(parts, escape(key)+"="+escape(text))
	}
	return limited(strings.Join(parts, "&"))
}

func escape(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
