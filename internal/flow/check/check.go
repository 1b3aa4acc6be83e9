package check

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/flow/eval"
	"github.com/perdure/perdure/internal/flow/syntax"
	"github.com/perdure/perdure/internal/near"
	"github.com/perdure/perdure/retry"
)

// Actions are the actions that a program can call, by name.
type Actions map[string]Action

// Action describes an action.
type Action struct {
	// Parameters are its arguments; with Open it takes others, too.
	Parameters []Parameter
	Open       bool
	// Off says why it cannot be called, empty if it can. Flag is the flag of the
	// command that allows it; empty if none does.
	Off, Flag string
	// Errors are the types of errors that it can fail with; nil is any.
	Errors Errors
}

// Parameter is an argument of an action.
type Parameter struct {
	Name     string
	Required bool
	Kind     Kind
}

// Text reads a flow file and reports all its faults, of syntax and of the program, in the
// order of the text. The error is of type syntax.Diagnostics. The file is nil if the text
// cannot be read at all.
func Text(name, text string, actions Actions) (*syntax.File, error) {
	f, err := syntax.Parse(name, text)
	if f == nil {
		return nil, err
	}
	faults, broken := errors.AsType[syntax.Diagnostics](err)
	c := &checker{file: f, actions: actions, broken: broken, functions: map[string]*syntax.Function{}}
	c.program()
	return f, append(faults, c.faults...).Sort().Err()
}

// checker collects faults.
type checker struct {
	file      *syntax.File
	actions   Actions
	broken    bool // parts of the file could not be read: what they define is not known
	functions map[string]*syntax.Function
	raising   int // calls looked at by raises
	faults    syntax.Diagnostics

	fn       *syntax.Function
	assigned map[string]int // names of the function, and where each is assigned first
	loops    int            // around the statement
	full     bool           // there are too many faults: nothing more is looked at
	inner    []string       // names of spreads around the expression
}

func (c *checker) report(n syntax.Node, code, hint, format string, args ...any) {
	switch {
	case c.full:
	case len(c.faults) == syntax.MaxFaults:
		c.full = true
		c.faults = append(c.faults, c.file.TooManyFaults(n.Range()))
	default:
		c.faults = append(c.faults, c.file.Diagnose(n.Range(), code, hint, format, args...))
	}
}

func (c *checker) program() {
	for i, g := range c.file.Gates {
		if slices.ContainsFunc(c.file.Gates[:i], func(other *syntax.Gate) bool { return other.Name.Name == g.Name.Name }) {
			c.report(g.Name, syntax.CodeDuplicate, "Give one of them another name.", "there are two gates %s", g.Name.Name)
		}
	}
	for _, fn := range c.file.Functions {
		name := fn.Name.Name
		switch {
		case name == "_":
			c.report(fn.Name, syntax.CodeName, "Give it another name.", "a function cannot be called _")
		case c.functions[name] != nil:
			c.report(fn.Name, syntax.CodeDuplicate, "Give one of them another name.", "there are two functions %s", name)
			continue
		case eval.IsBuiltin(name):
			c.report(fn.Name, syntax.CodeDuplicate, "Give it another name.", "the function %s is there in every program", name)
		}
		c.functions[name] = fn
	}
	for _, fn := range c.file.Functions {
		c.function(fn)
	}
}

func (c *checker) function(fn *syntax.Function) {
	c.fn, c.loops, c.assigned, c.inner = fn, 0, map[string]int{}, nil
	for _, list := range [][]syntax.Ident{fn.Inputs, fn.Outputs} {
		seen := map[string]bool{}
		for _, id := range list {
			if seen[id.Name] && id.Name != "_" {
				c.report(id, syntax.CodeDuplicate, "Give one of them another name.", "the name %s stands there twice", id.Name)
			}
			seen[id.Name] = true
		}
	}
	for _, id := range fn.Inputs {
		c.assigned[id.Name] = -1
	}
	c.collect(fn.Body)
	ends := c.block(fn.Body)
	if ends || c.broken {
		return
	}
	for _, out := range fn.Outputs {
		if _, ok := c.assigned[out.Name]; !ok && out.Name != "_" {
			c.report(out, syntax.CodeName, "Assign to it before the function ends, or return a value on every way.", "the output %s never gets a value", out.Name)
		}
	}
}

// collect notes all names that a block assigns to.
func (c *checker) collect(b *syntax.Block) {
	note := func(at int, ids ...syntax.Ident) {
		for _, id := range ids {
			if first, ok := c.assigned[id.Name]; !ok || at < first {
				c.assigned[id.Name] = at
			}
		}
	}
	for _, s := range b.Statements {
		switch s := s.(type) {
		case *syntax.Assign:
			note(s.To-1, s.Targets...) // its value is worked out before
		case *syntax.ParallelBlock:
			note(s.Body.To-1, s.Targets...)
		case *syntax.For:
			note(s.From, s.Targets...)
		case *syntax.Try:
			for _, h := range s.Handlers {
				if h.As != nil {
					note(h.From, *h.As)
				}
			}
		}
		for _, inner := range syntax.Blocks(s) {
			c.collect(inner)
		}
	}
}

// name checks a variable that is read.
func (c *checker) name(n *syntax.Name) {
	if slices.Contains(c.inner, n.Name) || c.broken {
		return
	}
	at, known := c.assigned[n.Name]
	switch {
	case n.Name == "_":
		c.report(n, syntax.CodeName, "Give the value a name of its own where it is assigned.", "_ has no value: what is assigned to it is dropped")
	case known && at > n.From && c.loops == 0:
		c.report(n, syntax.CodeName, "Assign to it before.", "%s has no value yet: it is assigned to in line %d", n.Name, c.file.Position(at).Line)
	case known:
	case c.functions[n.Name] != nil || eval.IsBuiltin(n.Name):
		c.report(n, syntax.CodeName, "Call it: "+n.Name+"(...).", "%s is a function, not a variable", n.Name)
	default:
		define := "Assign to it before, or let it be an input of the function " + c.fn.Name.Name + "."
		if c.file.Implicit {
			define = "Assign to it before, or let it be an input: fn main(input: [" + n.Name + "], output: []):."
		}
		hint := cmp.Or(near.Hint(n.Name, maps.Keys(c.assigned)), capitalized[n.Name], syntax.NameHint(n.Name), define)
		c.report(n, syntax.CodeName, hint, "there is no variable %s", n.Name)
	}
}

// variable reports whether a name is that of a variable, somewhere in the function.
func (c *checker) variable(name string) bool {
	_, assigned := c.assigned[name]
	return assigned || slices.Contains(c.inner, name)
}

// capitalized are values as other languages write them, and how they are written here.
var capitalized = map[string]string{
	"true": "It is written True.", "yes": "It is written True.", "Yes": "It is written True.", "TRUE": "It is written True.",
	"false": "It is written False.", "no": "It is written False.", "No": "It is written False.", "FALSE": "It is written False.",
	"null": "It is written None.", "nil": "It is written None.", "none": "It is written None.", "undefined": "It is written None.", "NULL": "It is written None.",
}

// blockPolicy checks a policy that is not an action's.
func (c *checker) blockPolicy(a *syntax.Policied) {
	if p := a.Policy; p != nil && (p.HeartbeatTimeout > 0 || p.QueueTimeout > 0 || p.CrashLimit != 0 || p.OnExhausted == retry.Pause) {
		c.report(a.Brackets, syntax.CodePolicy, "Give it to the actions inside.", "heartbeat, queue, crashes and pause are for actions only")
		return
	}
	c.policy(a, func([]string) {})
}

// policy checks whether a policy can do what it says. Types checks the types of errors
// that it names.
func (c *checker) policy(a *syntax.Policied, checkTypes func(types []string)) {
	if a.Policy == nil {
		return
	}
	if len(a.Vars) > 0 { // what it is shows when it is reached
		for _, v := range a.Vars {
			if n, is := v.Value.(*syntax.Name); is && !c.variable(n.Name) && !c.broken && near.Hint(n.Name, maps.Keys(c.assigned)) == "" {
				c.report(v, syntax.CodePolicy, "A policy takes a number, a duration, or a variable that has one: [retry: 3, backoff: 30s].", "%s is neither a value of a policy nor a variable", n.Name)
				continue
			}
			c.expr(v.Value)
		}
		return
	}
	if _, err := retry.Parse(c.file.Text[a.Brackets.From:a.Brackets.To]); err != nil {
		wrong, is := errors.AsType[*retry.NotationError](err)
		if !is { // the parser has accepted all but a setting without effect
			c.report(a.Brackets, syntax.CodePolicy, "", "the policy is not usable: %v", err)
			return
		}
		at := a.Brackets.From + wrong.Offset
		c.report(syntax.Span{From: at, To: at + len(wrong.Token)}, syntax.CodePolicy, "Expected: "+wrong.Expected+".", "%q %s in this policy", wrong.Token, wrong.Problem)
		return
	}
	e, err := retry.Explain(*a.Policy, 1)
	if err != nil {
		c.report(a.Brackets, syntax.CodePolicy, "", "the policy is not usable: %v", err)
		return
	}
	types := slices.Concat(a.Policy.Retryable, a.Policy.NonRetryable)
	for _, r := range a.Policy.Rules {
		types = append(types, r.Types...)
	}
	if i := slices.IndexFunc(types, everyError); i >= 0 {
		c.report(a.Brackets, syntax.CodePolicy, "Without types it is for every error: [retry: 3].", "no error has the type %s", types[i])
	} else {
		checkTypes(types)
	}
	for _, w := range e.Warnings {
		if w.Kind == "within_cuts_off" {
			c.report(a.Brackets, syntax.CodeDeadline, "Give it a longer within, fewer retries or shorter waits. See: perdure policy explain '"+a.Policy.String()+"'", "the policy does not fit its deadline: %s", strings.TrimSuffix(w.Text, "."))
		}
	}
}
