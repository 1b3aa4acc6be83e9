package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/perdure/perdure/internal/flow/eval"
	"github.com/perdure/perdure/internal/flow/syntax"
	"github.com/perdure/perdure/internal/human"
)

// flowPlaces finds where in a file a call stands, and what it is about.
type flowPlaces struct {
	file    *syntax.File
	actions map[string][]*syntax.Action
}

// placesOf returns nil for a text that is no flow file.
func placesOf(text string) *flowPlaces {
	file, err := syntax.Parse("", text)
	if err != nil {
		return nil
	}
	p := &flowPlaces{file, map[string][]*syntax.Action{}}
	for _, fn := range file.Functions {
		for x := range syntax.Exprs(fn.Body) {
			if call, is := x.(*syntax.Action); is {
				p.actions[call.Name.Name] = append(p.actions[call.Name.Name], call)
			}
		}
	}
	return p
}

// describe says in which line a call stands, if one alone fits its arguments, and which URL
// or file it is about.
func (p *flowPlaces) describe(action string, input json.RawMessage) string {
	plain, _, err := eval.Reveal(input, func(string) (string, error) { return eval.Masked, nil })
	var args map[string]any
	if err != nil || json.Unmarshal(plain, &args) != nil {
		return ""
	}
	about := ""
	for _, name := range []string{"url", "path", "command"} {
		if text, is := args[name].(string); is && about == "" {
			about = " " + human.Clip(text, 120)
		}
	}
	if p == nil {
		return about
	}
	line := 0
	for _, x := range p.actions[action] {
		if !written(x, args) {
			continue
		}
		if line > 0 { // it may be either
			return about
		}
		line = p.file.Position(x.From).Line
	}
	if line == 0 {
		return about
	}
	return fmt.Sprintf(" (line %d)%s", line, about)
}

// written reports whether a call may have these arguments, by what is written out of them.
func written(x *syntax.Action, args map[string]any) bool {
	if len(x.Args) != len(args) {
		return false
	}
	for _, a := range x.Args {
		value, given := args[a.Name.Name]
		if !given {
			return false
		}
		begin, end, whole := ends(a.Value)
		text, is := value.(string)
		switch {
		case begin == "" && end == "":
		case !is, whole && text != begin, !strings.HasPrefix(text, begin), !strings.HasSuffix(text, end):
			return false
		}
	}
	return true
}

// ends returns how the text of an expression begins and ends, as far as that is written out.
func ends(x syntax.Expr) (begin, end string, whole bool) {
	switch x := x.(type) {
	case *syntax.String:
		return x.Value, x.Value, true
	case *syntax.Binary:
		if x.Op == "+" {
			begin, _, _ = ends(x.X)
			_, end, _ = ends(x.Y)
		}
	}
	return begin, end, false
}
