package syntax

import (
	"iter"
	"maps"
	"slices"
	"strings"
)

// Exprs yields the expressions of a block, each before its parts, those of inner blocks
// included.
func Exprs(b *Block) iter.Seq[Expr] {
	return func(yield func(Expr) bool) { (&walker{yield: yield}).block(b) }
}

// Blocks are the blocks of a statement, in their order.
func Blocks(s Statement) (all []*Block) {
	switch s := s.(type) {
	case *ParallelBlock:
		all = append(all, s.Body)
	case *For:
		all = append(all, s.Body)
	case *While:
		all = append(all, s.Body)
	case *If:
		for _, c := range s.Clauses {
			all = append(all, c.Body)
		}
	case *Try:
		all = append(all, s.Body)
		for _, c := range s.Handlers {
			all = append(all, c.Body)
		}
	}
	return all
}

// exprs yields the expressions of all functions.
func (f *File) exprs() iter.Seq[Expr] {
	return func(yield func(Expr) bool) {
		w := &walker{yield: yield}
		for _, fn := range f.Functions {
			w.block(fn.Body)
		}
	}
}

// Secrets are the names of the secrets that a file refers to, in their order.
func Secrets(f *File) []string {
	names := map[string]bool{}
	for x := range f.exprs() {
		if call, is := x.(*Call); is && call.Name.Name == "secret" && len(call.Args) == 1 {
			if name, is := call.Args[0].Value.(*String); is {
				names[name.Value] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Signals are the names of the signals that a file waits for, in their order.
func Signals(f *File) []string {
	names := map[string]bool{}
	for x := range f.exprs() {
		if wait, is := x.(*Wait); is {
			names[wait.Signal.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Gathered are the lines of spreads that keep the whole answer of a request for each element.
func Gathered(f *File) (lines []int) {
	for x := range f.exprs() {
		spread, is := x.(*Spread)
		if !is {
			continue
		}
		if action, is := spread.Call.(*Action); is && strings.HasPrefix(action.Name.Name, "http.") && action.Name.Name != "http.download" {
			lines = append(lines, f.Position(spread.From).Line)
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// walker goes through a tree until yield returns false.
type walker struct {
	yield func(Expr) bool
	done  bool
}

func (w *walker) block(b *Block) {
	for _, s := range b.Statements {
		if w.done {
			return
		}
		w.statement(s)
	}
}

func (w *walker) statement(s Statement) {
	switch s := s.(type) {
	case *Return:
		w.exprs(s.Value)
	case *Sleep:
		w.exprs(s.For)
	case *Assign:
		w.exprs(s.Value)
	case *Do:
		w.exprs(s.Value)
	case *For:
		w.exprs(s.In)
	case *While:
		w.exprs(s.Condition)
	case *If:
		for _, c := range s.Clauses {
			w.exprs(c.Condition)
		}
	case *Try:
		w.vars(&s.Policied)
	}
	for _, b := range Blocks(s) {
		w.block(b)
	}
}

func (w *walker) exprs(all ...Expr) {
	for _, x := range all {
		if w.done || x == nil {
			continue
		}
		w.done = !w.yield(x)
		switch x := x.(type) {
		case *List:
			w.exprs(x.Items...)
		case *Dict:
			for _, e := range x.Entries {
				w.exprs(e.Key, e.Value)
			}
		case *Unary:
			w.exprs(x.X)
		case *Binary:
			w.exprs(x.X, x.Y)
		case *Field:
			w.exprs(x.X)
		case *Index:
			w.exprs(x.X, x.I)
		case *Call:
			w.args(x.Args)
			w.vars(&x.Policied)
		case *Action:
			w.args(x.Args)
			if x.Verify != nil {
				w.exprs(x.Verify)
			}
			w.vars(&x.Policied)
		case *Wait:
			w.vars(&x.Policied)
		case *Spread:
			w.exprs(x.Over, x.Call)
		case *Parallel:
			w.exprs(x.Calls...)
		}
	}
}

func (w *walker) vars(x *Policied) {
	for _, v := range x.Vars {
		w.exprs(v.Value)
	}
}

func (w *walker) args(args []Arg) {
	for _, a := range args {
		w.exprs(a.Value)
	}
}
