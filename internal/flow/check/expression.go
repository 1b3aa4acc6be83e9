package check

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/flow/eval"
	"github.com/perdure/perdure/internal/flow/syntax"
	"github.com/perdure/perdure/internal/near"
)

func (c *checker) expr(x syntax.Expr) {
	if c.full {
		return
	}
	switch x := x.(type) {
	case *syntax.Name:
		c.name(x)
	case *syntax.Dict:
		c.dict(x)
	case *syntax.Binary:
		c.expr(x.X)
		if c.keyWithMinus(x) {
			return
		}
		c.expr(x.Y)
		c.operator(x)
	case *syntax.Field:
		c.expr(x.X)
		switch x.X.(type) {
		case *syntax.List, *syntax.String, *syntax.Int, *syntax.Float, *syntax.Bool:
			hint := "Functions tell of a value: len(x)."
			if eval.IsBuiltin(x.Name.Name) {
				hint = "It is a function: " + x.Name.Name + "(x)."
			}
			c.report(x.Name, syntax.CodeValue, hint, "%s has no field %s", kindOf(x.X), x.Name.Name)
		}
	case *syntax.Call:
		c.call(x)
		if x.Policy != nil && c.functions[x.Name.Name] == nil && eval.IsBuiltin(x.Name.Name) {
			c.report(x.Brackets, syntax.CodePolicy, "Remove it.", "%s does nothing that could be retried", x.Name.Name)
		}
		c.blockPolicy(&x.Policied)
	case *syntax.Wait:
		c.parts(x)
		if p := x.Policy; p != nil && (p.AttemptTimeout == 0 || len(p.Rules) > 0 || p.MaxAttempts != 1) {
			c.report(x.Brackets, syntax.CodePolicy, "Write [timeout: 2d]; when it has passed, the error has the type Timeout.", "waiting for a signal has a timeout and no other policy")
		}
	case *syntax.Action:
		c.action(x)
	case *syntax.Spread:
		c.expr(x.Over)
		c.with(x.As.Name, func() { c.expr(x.Call) })
	default:
		c.parts(x)
	}
}

// parts checks the parts of an expression.
func (c *checker) parts(x syntax.Expr) {
	for _, part := range syntax.Parts(x) {
		c.expr(part)
	}
}

// with checks what may read a name that is no variable of the function.
func (c *checker) with(name string, check func()) {
	c.inner = append(c.inner, name)
	check()
	c.inner = c.inner[:len(c.inner)-1]
}

// keyWithMinus reports a key such as content-type behind a point, which is read as a
// subtraction.
func (c *checker) keyWithMinus(x *syntax.Binary) bool {
	field, is := x.X.(*syntax.Field)
	name, too := x.Y.(*syntax.Name)
	if !is || !too || x.Op != "-" || name.From != x.OpPos.To || x.OpPos.From != field.To || c.variable(name.Name) {
		return false
	}
	key := field.Name.Name + "-" + name.Name
	at := syntax.Span{From: field.Name.From, To: name.To}
	c.report(at, syntax.CodeName, fmt.Sprintf("A key with a minus stands in brackets: [%q].", key), "this takes %s from %s", name.Name, field.Name.Name)
	return true
}

func (c *checker) dict(x *syntax.Dict) {
	seen := map[string]bool{}
	for _, e := range x.Entries {
		before := len(c.faults)
		c.expr(e.Key)
		if _, is := e.Key.(*syntax.Name); is && len(c.faults) > before {
			c.faults[before].Hint = "A key is a text: \"" + e.Key.(*syntax.Name).Name + "\"."
		}
		c.expr(e.Value)
		switch k := e.Key.(type) {
		case *syntax.String:
			if seen[k.Value] {
				c.report(k, syntax.CodeDuplicate, "Remove one of them.", "the key %q stands in this dictionary twice", k.Value)
			}
			seen[k.Value] = true
		case *syntax.Int, *syntax.Float, *syntax.Bool, *syntax.None, *syntax.List, *syntax.Dict:
			c.report(k, syntax.CodeValue, "Write a text, or str(x).", "the keys of a dictionary are texts")
		}
	}
}

// operator finds what fails whatever the variables.
func (c *checker) operator(x *syntax.Binary) {
	switch y := x.Y.(type) {
	case *syntax.Int:
		if y.Value == 0 && slices.Contains([]string{"/", "//", "%"}, x.Op) {
			c.report(x.Y, syntax.CodeValue, "Divide by something else.", "this divides by zero")
		}
	case *syntax.None:
		switch x.Op {
		case "<", "<=", ">", ">=":
			c.report(x.Y, syntax.CodeValue, "Compare with None by == and !=.", "None has no order")
		case "+", "-", "*", "/", "//", "%":
			c.report(x.Y, syntax.CodeValue, "Use a number; get(x, key, 0) gives one where a key is missing.", "None is not a number")
		}
	}
	left, isText := x.X.(*syntax.String)
	number, isNumber := x.Y.(*syntax.Int)
	if inner := x.Chained(); inner != nil {
		text := func(n syntax.Node) string { return c.file.Text[n.Range().From:n.Range().To] }
		c.report(syntax.Span{From: inner.OpPos.From, To: x.OpPos.To}, syntax.CodeValue, fmt.Sprintf("Write both out: %s and %s %s %s.", text(inner), text(inner.Y), x.Op, text(x.Y)), "two comparisons in a row compare the answer of the first")
	}
	if isText && (x.Op == "*" || x.Op == "-" || x.Op == "/" || x.Op == "//") {
		c.report(x, syntax.CodeValue, "Texts are joined by + and by join(list, between).", "a text has no %s", x.Op)
	}
	if isText && x.Op == "%" {
		c.report(x, syntax.CodeValue, "Values are put into a text by format(\"{} rows\", n), which has {:.2f} and the like.", "a text has no %%")
	}
	if isText && isNumber && x.Op == "+" {
		c.report(x, syntax.CodeValue, fmt.Sprintf("Make a text of the number: %q + str(%d).", left.Value, number.Value), "a text and a number cannot be joined")
	}
}

func (c *checker) call(x *syntax.Call) {
	for _, a := range x.Args {
		c.expr(a.Value)
	}
	name := x.Name.Name
	fn := c.functions[name]
	switch {
	case fn != nil:
		if wrong := eval.Arity(fn, x); wrong != "" {
			c.report(x, syntax.CodeArity, "It is called like this: "+form(fn), "%s", wrong)
		}
	case eval.IsBuiltin(name):
		if name == "secret" && len(x.Args) == 1 {
			if _, is := x.Args[0].Value.(*syntax.String); !is {
				c.report(x, syntax.CodeValue, "Write it out, so that the file shows which secrets it needs: secret(\"API_KEY\")", "the name of a secret is worked out")
			}
		}
		if wrong := eval.BuiltinArity(x); wrong != "" {
			c.report(x, syntax.CodeArity, "See: perdure flow help "+name, "%s", wrong)
		}
	case c.broken:
	default:
		hint := cmp.Or(syntax.NameHint(name), near.Hint(name, c.callable()), "Define it: fn "+name+"(input: [...], output: [...]):, or call an action: @"+name+"(...).")
		if _, is := c.actions[name]; is {
			hint = "There is an action of this name: @" + name + "(...)."
		}
		c.report(x.Name, syntax.CodeName, hint, "there is no function %s", name)
	}
}

// callable are the names of all functions.
func (c *checker) callable() iter.Seq[string] {
	names := slices.Collect(maps.Keys(c.functions))
	for _, b := range eval.Builtins() {
		names = append(names, b.Name)
	}
	return slices.Values(names)
}

// form is how a function is called.
func form(fn *syntax.Function) string {
	var names []string
	for _, in := range fn.Inputs {
		names = append(names, in.Name+"=...")
	}
	return fn.Name.Name + "(" + strings.Join(names, ", ") + ")"
}

func (c *checker) action(x *syntax.Action) {
	given := map[string]bool{}
	for _, a := range x.Args {
		c.expr(a.Value)
		if given[a.Name.Name] {
			c.report(a.Name, syntax.CodeDuplicate, "Remove one of them.", "the argument %s stands there twice", a.Name.Name)
		}
		given[a.Name.Name] = true
	}
	c.gates(x)
	if x.Verify != nil {
		c.action(x.Verify)
	}
	c.policy(&x.Policied, func(types []string) { c.policyTypes(x, types) })
	name := syntax.Span{From: x.From, To: x.Name.To}
	a, ok := c.actions[x.Name.Name]
	switch {
	case !ok:
		hint := c.actionHint(x.Name.Name)
		c.report(name, syntax.CodeAction, hint, "there is no action %s", x.Name.Name)
		return
	case a.Flag != "":
		c.report(name, syntax.CodeOff, a.Off, "the action %s is switched off", x.Name.Name)
	case a.Off != "":
		c.report(name, syntax.CodeAction, a.Off, "the action %s is switched off", x.Name.Name)
		return
	}
	c.parameters(x, a, given)
}

// gates checks the gates of an action.
func (c *checker) gates(x *syntax.Action) {
	for i, id := range x.Gates {
		var names []string
		for _, g := range c.file.Gates {
			names = append(names, g.Name.Name)
		}
		switch {
		case slices.ContainsFunc(x.Gates[:i], func(other syntax.Ident) bool { return other.Name == id.Name }):
			c.report(id, syntax.CodeDuplicate, "Remove one of them.", "the gate %s stands there twice", id.Name)
		case !slices.Contains(names, id.Name) && !c.broken:
			hint := cmp.Or(near.Hint(id.Name, slices.Values(names)), "Declare it at the top of the file: gate "+id.Name+" [limit: 10]")
			c.report(id, syntax.CodeName, hint, "there is no gate %s", id.Name)
		}
	}
}

// actionHint is about an action that does not exist: the actions that were meant. What is
// before the dot names a group of actions; without a dot all of the name may be a group's.
func (c *checker) actionHint(name string) string {
	group, _, dotted := strings.Cut(name, ".")
	groups := map[string][]string{}
	for _, other := range slices.Sorted(maps.Keys(c.actions)) {
		if its, _, inGroup := strings.Cut(other, "."); inGroup {
			groups[its] = append(groups[its], "@"+other)
		}
	}
	if dotted || groups[name] == nil {
		if hint := near.Hint(name, maps.Keys(c.actions)); hint != "" {
			return hint
		}
	}
	same := groups[group]
	if same == nil {
		for _, meant := range near.Names(group, maps.Keys(groups)) {
			same = append(same, groups[meant]...)
		}
	}
	switch {
	case len(same) == 1:
		return "There is " + same[0] + "."
	case len(same) > 0:
		return "There are " + strings.Join(same, ", ") + "."
	case c.functions[name] != nil:
		return "There is a function of this name: " + name + "(...)."
	case eval.IsBuiltin(name):
		return "It is a function: " + name + "(...)."
	}
	return "Actions are activities that the program which runs the file has registered. To check and start a file for such a program, name them: --action " + name
}

func (c *checker) parameters(x *syntax.Action, a Action, given map[string]bool) {
	var names, missing []string
	for _, p := range a.Parameters {
		names = append(names, p.Name)
		if p.Required && !given[p.Name] {
			missing = append(missing, p.Name)
		}
	}
	takes := "It takes no arguments."
	if len(names) > 0 {
		takes = "It takes " + strings.Join(names, ", ") + "."
	}
	if len(missing) > 0 {
		c.report(syntax.Span{From: x.From, To: x.Name.To}, syntax.CodeArity, takes, "the action %s lacks %s", x.Name.Name, strings.Join(missing, ", "))
	}
	said := "" // about the argument before
	for _, arg := range x.Args {
		if c.full {
			return
		}
		at := slices.Index(names, arg.Name.Name)
		switch {
		case at >= 0:
			c.argument(a.Parameters[at], arg)
		case !a.Open:
			hint := cmp.Or(near.Hint(arg.Name.Name, slices.Values(names)), syntax.ArgumentHint(arg.Name.Name))
			if hint != "" && hint == said { // one mistake is one fault
				continue
			}
			said = hint
			c.report(arg.Name, syntax.CodeArity, cmp.Or(hint, takes), "the action %s has no argument %s", x.Name.Name, arg.Name.Name)
		}
	}
}
