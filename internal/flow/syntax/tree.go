package syntax

import (
	"time"

	"github.com/perdure/perdure/retry"
)

// Node is a part of a tree that knows where it stands.
type Node interface{ Range() Span }

// File is a flow file as a tree.
type File struct {
	Name      string // for diagnostics, may be empty
	Text      string
	Gates     []*Gate
	Functions []*Function
	// Implicit says that the file has bare statements only: they are the body of
	// the only function, main.
	Implicit bool
	Tail     []Comment // behind the last function

	lines *lines
}

// Position returns an offset of the text as people count.
func (f *File) Position(offset int) Position { return f.lines.position(offset) }

// Gate returns the gate of a name, nil if the file declares none.
func (f *File) Gate(name string) *Gate {
	for _, g := range f.Gates {
		if g.Name.Name == name {
			return g
		}
	}
	return nil
}

// Main returns the function at which the program begins: main, else the first one;
// nil if there is none.
func (f *File) Main() *Function {
	for _, fn := range f.Functions {
		if fn.Name.Name == "main" {
			return fn
		}
	}
	if len(f.Functions) > 0 {
		return f.Functions[0]
	}
	return nil
}

// Comment is a comment that has a line of its own, without its "#".
type Comment struct {
	Text  string
	Blank bool // an empty line stands before it
}

// Notes are what a formatter keeps of the surroundings of a line.
type Notes struct {
	Blank bool      // an empty line stands before it and its comments
	Lead  []Comment // in the lines before it
	Split bool      // an empty line stands between Lead and it
	Trail string    // the comment at its end, with its "#"; empty for none
}

// Line is the place of a statement, a clause, a function or a gate, with what stands around
// it. The block below it belongs to the place of a function only.
type Line struct {
	Span
	Notes
}

// Ident is a name where it is declared or assigned to.
type Ident struct {
	Span
	Name string
}

// Function is a function.
type Function struct {
	Line
	Name            Ident
	Inputs, Outputs []Ident // nil for an implicit main
	Broken          bool    // its first line cannot be read
	Body            *Block
}

// Gate declares a gate, at the top of the file: a bound that holds for the calls that
// name it, in all runs together.
type Gate struct {
	Line
	Name  Ident
	Limit int // slots, at least 1

	// Count attempts may start in the time Per, Burst of them together after a time of
	// rest; zero is no bound, and one.
	Count, Burst int
	Per          time.Duration

	// Mode is hold, release or rejoin, what a call does with its slot while it waits for
	// a retry; empty for rejoin.
	Mode string
}

// Fan is how several calls are made at once.
type Fan struct {
	Limit  int  // calls at the same time; 0 is all of them
	Values bool // the error of a call stands in the place of its result
}

// Block is the statements of one level of indentation.
type Block struct {
	Span
	Statements []Statement
	Tail       []Comment // behind the last one
}

// Statement is one of the types below whose comment says so.
type Statement interface {
	Node
	Comments() *Notes
}

// Comments returns what stands around the statement.
func (n *Notes) Comments() *Notes { return n }

type (
	// Word is a statement of one word: pass does nothing, break ends a loop, and continue
	// goes on with its next round.
	Word struct {
		Line
		Word string
	}
	// Return is the statement that ends a function.
	Return struct {
		Line
		Value Expr // nil for none
	}
	// Sleep is the statement that waits.
	Sleep struct {
		Line
		For Expr
	}
	// Assign is the statement that gives names a value: one name the value, or
	// several the elements of a list.
	Assign struct {
		Line
		Targets []Ident
		Value   Expr
	}
	// Do is the statement that evaluates an expression and drops its value.
	Do struct {
		Line
		Value Expr
	}
	// ParallelBlock is the statement that makes several calls at once.
	ParallelBlock struct {
		Line
		Fan
		Targets []Ident // none: the results are dropped
		Body    *Block  // of Do statements with an *Action or a *Call
	}
	// For is the loop over the elements of a value.
	For struct {
		Line
		Targets []Ident
		In      Expr
		Body    *Block
	}
	// While is the loop that runs as long as its condition holds.
	While struct{ Clause }
	// If is the statement that runs the first clause whose condition holds: those of if
	// and elif, and that of else, which has no condition.
	If struct{ Clauses []*Clause }
	// Clause is a block with the condition on which it runs.
	Clause struct {
		Line
		Condition Expr // nil for none
		Body      *Block
	}
	// Try is the statement that catches errors. With a policy its block is retried
	// before an error gets to the handlers, and there may be none.
	Try struct {
		Line
		Policied
		Body     *Block
		Handlers []*Except
	}
	// Except is a clause of Try.
	Except struct {
		Line
		Types []Ident // none: it catches every error
		As    *Ident  // nil for none
		Body  *Block
	}
	// Bad is what stands in place of a statement that could not be read. A tree
	// that Parse returns without an error has none.
	Bad struct{ Line }
)

// Range returns the first line of the statement.
func (s *If) Range() Span { return s.Clauses[0].Span }

// Comments returns what stands around the statement.
func (s *If) Comments() *Notes { return s.Clauses[0].Comments() }

// Policied is what a policy can stand behind.
type Policied struct {
	Policy   *retry.Policy // nil for none; with variables, what it is if each of them is 1
	Brackets Span          // where it stands
	// Vars are the values that are variables, in their order, and Text is the policy with
	// them in it; without any there is none.
	Vars []PolicyVar
	Text string
}

// PolicyVar is a variable, or a field of one, in the place of a value of a policy.
type PolicyVar struct {
	Span
	Value Expr
}

// Constant returns the value.
func (x *Literal[T]) Constant() any { return x.Value }

// Chained returns the first of two comparisons that stand in a row without parentheses, as
// in a < b < c, if the second is x; else nil.
func (x *Binary) Chained() *Binary {
	inner, is := x.X.(*Binary)
	if !is || levelOf(x) != levelCompare || levelOf(inner) != levelCompare || inner.From != x.From {
		return nil
	}
	return inner
}

// Expr is one of the types below.
type Expr interface{ Node }

type (
	// Literal is a value that is written out.
	Literal[T int64 | float64 | string | bool] struct {
		Span
		Value T
	}
	// Int is a whole number.
	Int = Literal[int64]
	// Float is a number with a point or an exponent.
	Float = Literal[float64]
	// String is a text.
	String = Literal[string]
	// Bool is True or False.
	Bool = Literal[bool]
	// None is the value None.
	None struct{ Span }
	// Name is a variable where it is read.
	Name struct {
		Span
		Name string
	}
	// List is a list in brackets.
	List struct {
		Span
		Items []Expr
	}
	// Dict is a dictionary in braces.
	Dict struct {
		Span
		Entries []Entry
	}
	// Entry is a key of a Dict with its value.
	Entry struct{ Key, Value Expr }
	// Unary is "-" or "not" with what it is applied to.
	Unary struct {
		Span
		Op string
		X  Expr
	}
	// Binary is an operator between two expressions: or, and, ==, !=, <, <=, >,
	// >=, in, "not in", +, -, *, /, //, %.
	Binary struct {
		Span
		Op    string
		OpPos Span
		X, Y  Expr
	}
	// Field is X.Name.
	Field struct {
		Span
		X    Expr
		Name Ident
	}
	// Index is X[I].
	Index struct {
		Span
		X, I Expr
	}
	// Call is the call of a function, with its policy.
	Call struct {
		Span
		Policied
		Name Ident
		Args []Arg
	}
	// Wait waits for a signal. Its policy has an attempt timeout and nothing else.
	Wait struct {
		Span
		Policied
		Signal Ident
	}
	// Arg is an argument; Name is empty if it is given by position.
	Arg struct {
		Name  Ident
		Value Expr
	}
	// Action is the call of an action, with its policy.
	Action struct {
		Span
		Policied
		Name  Ident   // with dots, without "@"
		Args  []Arg   // all with names
		Gates []Ident // that it passes through
		// Verify says whether an attempt had its effect; nil for nothing. It has neither gates
		// nor a policy of its own.
		Verify *Action
	}
	// Spread is one call for each element of a list, at once as far as its limit allows.
	Spread struct {
		Span
		Fan
		Over Expr
		As   Ident
		Call Expr // an *Action or a *Call
	}
	// Parallel is several calls at once, as an expression.
	Parallel struct {
		Span
		Fan
		Calls []Expr // each an *Action or a *Call
	}
)
