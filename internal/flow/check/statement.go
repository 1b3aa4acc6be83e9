package check

import (
	"slices"

	"github.com/perdure/perdure/internal/flow/eval"
	"github.com/perdure/perdure/internal/flow/syntax"
)

// block checks statements and reports whether what follows them is never reached.
func (c *checker) block(b *syntax.Block) (ends bool) {
	said := false
	for _, s := range b.Statements {
		if c.full {
			return true
		}
		if ends && !said {
			said = true
			c.report(s, syntax.CodeUnreachable, "Remove it, or put it before what ends the block.", "this is never reached: the statement before it does not go on")
		}
		if c.statement(s) {
			ends = true
		}
	}
	return ends
}

// statement checks a statement and reports whether what follows it is never
// reached.
func (c *checker) statement(s syntax.Statement) (ends bool) {
	switch s := s.(type) {
	case *syntax.Word:
		if s.Word == "pass" {
			return false
		}
		if c.loops == 0 {
			c.report(s, syntax.CodePlace, "It stands in the block of a for or a while. A function ends by return.", "%s stands in no loop", s.Word)
		}
		return true
	case *syntax.Return:
		c.returns(s)
		return true
	case *syntax.Sleep:
		c.expr(s.For)
		c.sleep(s)
	case *syntax.Assign:
		c.expr(s.Value)
		c.unpack(s)
	case *syntax.Do:
		if hint := foreignLine(s.Value, c); hint != "" {
			c.report(s, syntax.CodePlace, hint, "this line does nothing")
			return false
		}
		c.expr(s.Value)
		return c.do(s)
	case *syntax.ParallelBlock:
		for _, line := range s.Body.Statements {
			if do, is := line.(*syntax.Do); is {
				c.expr(do.Value)
			}
		}
		if n, calls := len(s.Targets), len(s.Body.Statements); n > 1 && n != calls {
			c.report(s, syntax.CodeArity, "Each name takes the result of one call; _ drops it.", "there are %d names for the results, and the number of calls is %d", n, calls)
		}
	case *syntax.If:
		return c.ifElse(s)
	case *syntax.While:
		return c.while(s)
	case *syntax.For:
		c.expr(s.In)
		c.loop(s.Body)
	case *syntax.Try:
		return c.try(s)
	}
	return false
}

func (c *checker) loop(b *syntax.Block) {
	c.loops++
	c.block(b)
	c.loops--
}

func (c *checker) returns(s *syntax.Return) {
	outputs := len(c.fn.Outputs)
	if s.Value == nil {
		if outputs > 0 && !c.file.Implicit && !c.fn.Broken {
			c.report(s, syntax.CodeArity, "Return a value; None is one.", "the function %s has outputs, and this returns nothing", c.fn.Name.Name)
		}
		return
	}
	c.expr(s.Value)
	list, isList := s.Value.(*syntax.List)
	switch {
	case c.file.Implicit, c.fn.Broken:
	case outputs == 0:
		c.report(s, syntax.CodeArity, "Give the function an output: output: [result], or return nothing.", "the function %s has no output, and this returns a value", c.fn.Name.Name)
	case outputs > 1 && isList && len(list.Items) != outputs:
		c.report(s, syntax.CodeArity, "Return a list with one element for each output.", "the function %s has %d outputs, and this returns %d", c.fn.Name.Name, outputs, len(list.Items))
	case outputs > 1 && isPlain(s.Value):
		c.report(s, syntax.CodeArity, "Return a list with one element for each output.", "the function %s has %d outputs, and this returns one value", c.fn.Name.Name, outputs)
	}
}

// isPlain reports whether an expression is a value that is not a list.
func isPlain(x syntax.Expr) bool {
	_, isNone := x.(*syntax.None)
	kind := kindOf(x)
	return isNone || kind != "" && kind != KindList
}

func (c *checker) sleep(s *syntax.Sleep) {
	const hint = "Write seconds, sleep 90, or a text: sleep \"1m30s\"."
	switch v := s.For.(type) {
	case *syntax.Int:
		if v.Value < 0 {
			c.report(s.For, syntax.CodeValue, hint, "the time to sleep is below zero")
		}
	case *syntax.Float:
		if v.Value < 0 {
			c.report(s.For, syntax.CodeValue, hint, "the time to sleep is below zero")
		}
	case *syntax.String:
		if _, err := syntax.Duration(v.Value); err != nil {
			c.report(s.For, syntax.CodeValue, hint, "%q is not a duration", v.Value)
		}
	case *syntax.Bool, *syntax.None, *syntax.List, *syntax.Dict:
		c.report(s.For, syntax.CodeValue, hint, "this is not a duration to sleep")
	}
}

// unpack checks an assignment of a list to several names.
func (c *checker) unpack(s *syntax.Assign) {
	n := len(s.Targets)
	if n < 2 {
		return
	}
	elements := -1
	switch v := s.Value.(type) {
	case *syntax.List:
		elements = len(v.Items)
	case *syntax.Parallel:
		elements = len(v.Calls)
	case *syntax.Call:
		if fn := c.functions[v.Name.Name]; fn != nil {
			switch outputs := len(fn.Outputs); {
			case outputs == 0:
				elements = 0
			case outputs > 1:
				elements = outputs
			}
		}
	default:
		if isPlain(v) {
			c.report(s, syntax.CodeArity, "Only a list has elements to take.", "%d names take the elements of a value that is not a list", n)
		}
	}
	if elements >= 0 && elements != n {
		c.report(s, syntax.CodeArity, "There is one name for each element; _ drops one.", "%d names take the elements of a list of %d", n, elements)
	}
}

// foreignLine is about a line that is something else in other languages: the end of a block
// or a comment. It is one mistake.
func foreignLine(x syntax.Expr, c *checker) string {
	switch x := x.(type) {
	case *syntax.Name:
		if _, known := c.assigned[x.Name]; !known && !c.broken {
			return syntax.NameHint(x.Name)
		}
	case *syntax.Unary:
		if inner, is := x.X.(*syntax.Unary); is && x.Op == "-" && inner.Op == "-" {
			return "A comment begins with #."
		}
	}
	return ""
}

// do checks an expression in a line of its own.
func (c *checker) do(s *syntax.Do) (ends bool) {
	switch x := s.Value.(type) {
	case *syntax.Call:
		if eval.IsBuiltin(x.Name.Name) && c.functions[x.Name.Name] == nil {
			if x.Name.Name == "fail" {
				return true
			}
			c.report(s, syntax.CodePlace, "Assign its result to a name, or remove it.", "%s has a result and does nothing else, and the result is dropped", x.Name.Name)
		}
	case *syntax.Action, *syntax.Spread, *syntax.Parallel, *syntax.Wait:
	default:
		hint := "Assign it to a name, or remove it."
		if b, is := s.Value.(*syntax.Binary); is && b.Op == "==" {
			hint = "To assign, write =."
		}
		c.report(s, syntax.CodePlace, hint, "the value of this is dropped, and it does nothing else")
	}
	return false
}

func (c *checker) ifElse(s *syntax.If) (ends bool) {
	ends = s.Clauses[len(s.Clauses)-1].Condition == nil // there is an else
	for _, clause := range s.Clauses {
		c.expr(clause.Condition)
		if !c.block(clause.Body) {
			ends = false
		}
	}
	return ends
}

func (c *checker) while(s *syntax.While) (ends bool) {
	c.loops++
	c.expr(s.Condition) // what the block assigns to has a value the second time
	c.loops--
	c.loop(s.Body)
	always, is := s.Condition.(*syntax.Bool)
	switch {
	case is && !always.Value:
		if len(s.Body.Statements) > 0 {
			c.report(s.Body.Statements[0], syntax.CodeUnreachable, "Remove the loop, or give it another condition.", "this is never reached: the condition of the loop is False")
		}
		return false
	case is:
		return !breaks(s.Body)
	}
	return false
}

// breaks reports whether a block has a break for the loop around it.
func breaks(b *syntax.Block) bool {
	for _, s := range b.Statements {
		switch s := s.(type) {
		case *syntax.Word:
			if s.Word == "break" {
				return true
			}
		case *syntax.Bad:
			return true
		case *syntax.For, *syntax.While: // theirs are not for the loop around them
		default:
			if slices.ContainsFunc(syntax.Blocks(s), breaks) {
				return true
			}
		}
	}
	return false
}

// everyError reports whether other languages catch whatever fails by this type. Here it
// is a name like any other, which no error has.
func everyError(name string) bool {
	return name == "Exception" || name == "BaseException" || name == "Throwable"
}

func (c *checker) try(s *syntax.Try) (ends bool) {
	c.blockPolicy(&s.Policied)
	ends = c.block(s.Body)
	block := c.raises(s.Body)
	caught := map[string]bool{}
	all := false
	for _, h := range s.Handlers {
		if all {
			c.report(h, syntax.CodeUnreachable, "Put the except without types last.", "this is never reached: the except before it catches every error")
		}
		if c.bindsByType(h) {
			continue
		}
		for _, t := range h.Types {
			if caught[t.Name] && !all {
				c.report(t, syntax.CodeUnreachable, "Remove it here or there.", "%s is caught by an except before this one", t.Name)
			}
			caught[t.Name] = true
			switch {
			case everyError(t.Name):
				c.report(t, syntax.CodeUnreachable, "An except without types catches every error: except as e:", "no error has the type %s", t.Name)
			case t.Name == eval.TypeSteps:
				c.report(t, syntax.CodeUnreachable, "Let the program wait for something from time to time, or do less.", "%s cannot be caught", t.Name)
			default:
				c.exceptType(t, block)
			}
		}
		all = all || len(h.Types) == 0
		if !c.block(h.Body) {
			ends = false
		}
	}
	if len(s.Body.Statements) == 1 {
		if only, is := s.Body.Statements[0].(*syntax.Word); is && only.Word == "pass" {
			c.report(s, syntax.CodeUnreachable, "Put what may fail into the block of the try.", "the block of this try does nothing, so nothing is ever caught")
		}
	}
	return ends
}

// bindsByType reports an except e: whose block uses e, which is read as a type.
func (c *checker) bindsByType(h *syntax.Except) bool {
	if len(h.Types) != 1 || h.As != nil {
		return false
	}
	t := h.Types[0]
	if _, known := c.assigned[t.Name]; known || !uses(h.Body, t.Name) {
		return false
	}
	c.report(t, syntax.CodeError, "To give the error a name: except as "+t.Name+":", "%s is read as the type of an error", t.Name)
	c.with(t.Name, func() { c.block(h.Body) })
	return true
}

// uses reports whether a block reads a variable.
func uses(b *syntax.Block, name string) bool {
	for x := range syntax.Exprs(b) {
		if n, is := x.(*syntax.Name); is && n.Name == name {
			return true
		}
	}
	return false
}
