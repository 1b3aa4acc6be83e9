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
	return func(yield func(Expr) bool) { b.each(yield) }
}

// each calls yield with the expressions of a block until it returns false, and returns that.
func (b *Block) each(yield func(Expr) bool) bool {
	for _, s := range b.Statements {
		if !each(own(s), yield) {
			return false
		}
		for _, inner := range Blocks(s) {
			if !inner.each(yield) {
				return false
			}
		}
	}
	return true
}

// each calls yield with expressions and their parts until it returns false, and returns that.
func each(all []Expr, yield func(Expr) bool) bool {
	for _, x := range all {
		if x != nil && !(yield(x) && each(Parts(x), yield)) {
			return false
		}
	}
	return true
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
		for _, fn := range f.Functions {
			if !fn.Body.each(yield) {
				return
			}
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

// own are the expressions of a statement, without those of its blocks; nil is one that is not
// there.
func own(s Statement) (all []Expr) {
	switch s := s.(type) {
	case *Return:
		return []Expr{s.Value}
	case *Sleep:
		return []Expr{s.For}
	case *Assign:
		return []Expr{s.Value}
	case *Do:
		return []Expr{s.Value}
	case *For:
		return []Expr{s.In}
	case *While:
		return []Expr{s.Condition}
	case *If:
		for _, c := range s.Clauses {
			all = append(all, c.Condition)
		}
	case *Try:
		return s.variables()
	}
	return all
}

// Parts are the expressions of which another one is made, in the order in which they are worked
// out.
func Parts(x Expr) (all []Expr) {
	switch x := x.(type) {
	case *List:
		return x.Items
	case *Dict:
		for _, e := range x.Entries {
			all = append(all, e.Key, e.Value)
		}
	case *Unary:
		return []Expr{x.X}
	case *Binary:
		return []Expr{x.X, x.Y}
	case *Field:
		return []Expr{x.X}
	case *Index:
		return []Expr{x.X, x.I}
	case *Call:
		return append(values(x.Args), x.variables()...)
	case *Action:
		if all = values(x.Args); x.Verify != nil {
			all = append(all, x.Verify)
		}
		return append(all, x.variables()...)
	case *Wait:
		return x.variables()
	case *Spread:
		return []Expr{x.Over, x.Call}
	case *Parallel:
		return x.Calls
	}
	return all
}

func (x *Policied) variables() (all []Expr) {
	for _, v := range x.Vars {
		all = append(all, v.Value)
	}
	return all
}

func values(args []Arg) (all []Expr) {
	for _, a := range args {
		all = append(all, a.Value)
	}
	return all
}
