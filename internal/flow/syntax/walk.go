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

// Secrets are the names of the secrets that a file refers to, in their order.
func Secrets(f *File) []string {
	names := map[string]bool{}
	for _, fn := range f.Functions {
		for x := range Exprs(fn.Body) {
			if call, is := x.(*Call); is && call.Name.Name == "secret" && len(call.Args) == 1 {
				if name, is := call.Args[0].Value.(*String); is {
					names[name.Value] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Signals are the names of the signals that a file waits for, in their order.
func Signals(f *File) []string {
	names := map[string]bool{}
	for _, fn := range f.Functions {
		for x := range Exprs(fn.Body) {
			if wait, is := x.(*Wait); is {
				names[wait.Signal.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Gathered are the lines of spreads that keep the whole answer of a request for each element.
func Gathered(f *File) (lines []int) {
	for _, fn := range f.Functions {
		for x := range Exprs(fn.Body) {
			spread, is := x.(*Spread)
			if !is {
				continue
			}
			if action, is := spread.Call.(*Action); is && strings.HasPrefix(action.Name.Name, "http.") && action.Name.Name != "http.download" {
				lines = append(lines, f.Position(spread.From).Line)
			}
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
	case *ParallelBlock:
		w.block(s.Body)
	case *For:
		w.exprs(s.In)
		w.block(s.Body)
	case *While:
		w.exprs(s.Condition)
		w.block(s.Body)
	case *If:
		w.exprs(s.Condition)
		w.block(s.Body)
		for _, c := range s.Elifs {
			w.exprs(c.Condition)
			w.block(c.Body)
		}
		if s.Else != nil {
			w.block(s.Else.Body)
		}
	case *Try:
		w.vars(&s.Policied)
		w.block(s.Body)
		for _, c := range s.Handlers {
			w.block(c.Body)
		}
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
