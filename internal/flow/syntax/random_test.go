package syntax

import (
	"testing"
	"time"

	"github.com/perdure/perdure/retry"
	"pgregory.net/rapid"
)

// TestW10_RandomPrograms prints random trees and reads them again.
func TestW10_RandomPrograms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := generator{t: t}
		f := g.file()
		printed := Format(f)
		again, err := Parse("", printed)
		if err != nil {
			t.Fatalf("%v\n%s", err, printed)
		}
		if is, want := dump(again), dump(f); is != want {
			t.Fatalf("read\n%s\nwant\n%s\nprinted\n%s", is, want, printed)
		}
		if twice := Format(again); twice != printed {
			t.Fatalf("printed again\n%s\nwas\n%s", twice, printed)
		}
	})
}

// generator makes trees at random, with all kinds of nodes.
type generator struct{ t *rapid.T }

func (g generator) intn(n int) int             { return rapid.IntRange(0, n-1).Draw(g.t, "n") }
func (g generator) pick(from ...string) string { return rapid.SampledFrom(from).Draw(g.t, "pick") }

func (g generator) ident() Ident {
	return Ident{Name: g.pick("a", "b", "_", "x1", "returned", "über", "input", "format")}
}

func (g generator) idents(least int) []Ident {
	out := make([]Ident, least+g.intn(3))
	for i := range out {
		out[i] = g.ident()
	}
	return out
}

func (g generator) file() *File {
	f := &File{Gates: g.gates()}
	if g.intn(3) == 0 {
		f.Implicit = true
		f.Functions = []*Function{{Name: Ident{Name: "main"}, Body: g.block(3)}}
		f.Functions[0].Body.Tail = nil // would be that of the file
		f.Functions[0].Body.Statements[0].Comments().Blank = false
		return f
	}
	for range 1 + g.intn(3) {
		f.Functions = append(f.Functions, &Function{
			Line: g.line(), Name: g.ident(), Inputs: g.idents(0), Outputs: g.idents(0), Body: g.block(3),
		})
	}
	return f
}

func (g generator) line() Line { return Line{Notes: g.notes()} }

func (g generator) notes() (n Notes) {
	n.Blank = g.intn(4) == 0
	if g.intn(4) == 0 {
		n.Trail = g.pick("# t", "#", "# a # b \" '")
	}
	for range g.intn(2) {
		n.Lead = append(n.Lead, Comment{Text: g.pick("# lead", "#", "#!x [ ( {"), Blank: len(n.Lead) > 0 && g.intn(2) == 0})
	}
	n.Split = len(n.Lead) > 0 && g.intn(4) == 0
	return n
}

func (g generator) block(depth int) *Block {
	b := &Block{}
	for range 1 + g.intn(3) {
		b.Statements = append(b.Statements, g.statement(depth))
	}
	if g.intn(4) == 0 {
		b.Tail = []Comment{{Text: "# tail"}}
	}
	return b
}

func (g generator) statement(depth int) Statement {
	n := g.line()
	kinds := 13
	if depth == 0 {
		kinds = 8
	}
	switch g.intn(kinds) {
	case 0:
		return &Word{n, "pass"}
	case 1:
		return &Word{n, "break"}
	case 2:
		return &Word{n, "continue"}
	case 3:
		return &Return{Line: n}
	case 4:
		return &Return{Line: n, Value: g.expr(3)}
	case 5:
		return &Sleep{Line: n, For: g.expr(2)}
	case 6:
		return &Assign{Line: n, Targets: g.idents(1), Value: g.expr(4)}
	case 7:
		return &Do{Line: n, Value: g.expr(4)}
	case 8:
		s := &ParallelBlock{Fan: g.fan(), Line: n, Targets: g.idents(0), Body: &Block{}}
		for range 1 + g.intn(3) {
			s.Body.Statements = append(s.Body.Statements, &Do{Line: g.line(), Value: g.call(2)})
		}
		return s
	case 9:
		return &For{Line: n, Targets: g.idents(1), In: g.expr(3), Body: g.block(depth - 1)}
	case 10:
		return &While{Clause{n, g.expr(3), g.block(depth - 1)}}
	case 11:
		s := &If{[]*Clause{{n, g.expr(3), g.block(depth - 1)}}}
		for range g.intn(3) {
			s.Clauses = append(s.Clauses, &Clause{g.line(), g.expr(2), g.block(depth - 1)})
		}
		if g.intn(2) == 0 {
			s.Clauses = append(s.Clauses, &Clause{g.line(), nil, g.block(depth - 1)})
		}
		return s
	}
	s := &Try{Line: n, Body: g.block(depth - 1)}
	g.policy(&s.Policied)
	handlers := 1 + g.intn(2)
	if s.Policy != nil {
		handlers = g.intn(3)
	}
	for range handlers {
		h := &Except{Line: g.line(), Body: g.block(depth - 1)}
		for range g.intn(3) {
			h.Types = append(h.Types, Ident{Name: g.pick("Timeout", "fs.PathError", "a b", "é.ö", "a..b", "x-y", "for")})
		}
		if g.intn(2) == 0 {
			as := g.ident()
			h.As = &as
		}
		s.Handlers = append(s.Handlers, h)
	}
	return s
}

func (g generator) expr(depth int) Expr {
	kinds := 16
	if depth == 0 {
		kinds = 6
	}
	switch g.intn(kinds) {
	case 0:
		return &Int{Value: rapid.Int64().Draw(g.t, "int")}
	case 1:
		v := rapid.Float64().Draw(g.t, "float")
		if v-v != 0 {
			v = 0 // infinite, or none
		}
		return &Float{Value: v}
	case 2:
		return &String{Value: rapid.String().Draw(g.t, "string")}
	case 3:
		return &Bool{Value: g.intn(2) == 0}
	case 4:
		return &None{}
	case 5:
		return &Name{Name: g.ident().Name}
	case 6, 7, 8:
		level := levels[g.intn(len(levels))]
		return &Binary{Op: g.pick(level...), X: g.expr(depth - 1), Y: g.expr(depth - 1)}
	case 9:
		return &Unary{Op: "not", X: g.expr(depth - 1)}
	case 10:
		return &Unary{Op: "-", X: g.expr(depth - 1)}
	case 11:
		return &Field{X: g.expr(depth - 1), Name: Ident{Name: g.pick("a", "for", "type")}}
	case 12:
		return &Index{X: g.expr(depth - 1), I: g.expr(depth - 1)}
	case 13:
		x := &List{}
		for range g.intn(4) {
			x.Items = append(x.Items, g.expr(depth-1))
		}
		return x
	case 14:
		x := &Dict{}
		for range g.intn(4) {
			x.Entries = append(x.Entries, Entry{g.expr(depth - 1), g.expr(depth - 1)})
		}
		return x
	}
	switch g.intn(4) {
	case 3:
		x := &Wait{Signal: Ident{Name: g.pick("approval", "for", "a b", "é")}}
		g.policy(&x.Policied)
		return x
	case 0:
		return &Spread{Fan: g.fan(), Over: g.expr(depth - 1), As: g.ident(), Call: g.call(depth - 1)}
	case 1:
		x := &Parallel{Fan: g.fan()}
		for range g.intn(3) {
			x.Calls = append(x.Calls, g.call(depth-1))
		}
		return x
	}
	return g.call(depth - 1)
}

func (g generator) call(depth int) Expr {
	if g.intn(2) == 0 {
		return g.action(depth)
	}
	x := &Call{Name: g.ident(), Args: g.args(depth, g.intn(2) == 0)}
	g.policy(&x.Policied)
	return x
}

func (g generator) args(depth int, named bool) (out []Arg) {
	for range g.intn(3) {
		a := Arg{Value: g.expr(max(depth-1, 0))}
		if named {
			a.Name = g.ident()
		}
		out = append(out, a)
	}
	return out
}

func (g generator) action(depth int) *Action {
	x := &Action{Name: Ident{Name: g.pick("a", "http.get", "a.for.b", "shell.run")}, Args: g.args(depth, true)}
	if g.intn(4) == 0 {
		x.Gates = g.idents(1)
	}
	g.policy(&x.Policied)
	return x
}

func (g generator) fan() Fan { return Fan{Limit: g.intn(3) * 5, Values: g.intn(3) == 0} }

func (g generator) gates() (all []*Gate) {
	for range g.intn(3) {
		gate := &Gate{Line: g.line(), Name: g.ident(), Limit: 1 + g.intn(9), Mode: g.pick("", "hold", "release")}
		if g.intn(2) == 0 {
			gate.Count, gate.Per, gate.Burst = 1+g.intn(5), time.Duration(1+g.intn(5000))*time.Millisecond, g.intn(3)
		}
		all = append(all, gate)
	}
	if len(all) > 0 {
		all[0].Blank = false
	}
	return all
}

// policy gives something a policy, or none.
func (g generator) policy(x *Policied) {
	if g.intn(2) == 0 {
		text := g.pick("[retry: 3, backoff: 60]", "[timeout: 2m]", "[NetworkError -> retry: 5, backoff: 2m]",
			"[(A, \"b/9\") -> retry: 3, fixed: 1.5s] [B -> stop] [timeout: 90, within: 1h]", "[retry: 0]")
		p, err := retry.Parse(text)
		if err != nil {
			g.t.Fatal(err)
		}
		x.Policy = &p
	}
}

// TestW10_Brackets are programs that only many random ones came upon: each is its own
// form, and is read as what was printed.
func TestW10_Brackets(t *testing.T) {
	for text, want := range map[string]string{
		"x = spread (parallel(f())) [limit: 2]: a -> @g()\n": "(spread (parallel (call f)) [limit: 2] a (@g))",
		"x = spread parallel(f()) [limit: 2]: a -> @g()\n":   "",
		"x = spread parallel(f()): a -> @g()\n":              "(spread (parallel (call f)) a (@g))",
		"x = f()[wait signal s [A -> retry: 5]]\n":           "(index (call f) (wait \"s\" policy:[A -> retry: 5]))",
		"x = f()[\"a -> b\"]\n":                              "(index (call f) \"a -> b\")",
		"x = f()[spread xs: y -> @g()]\n":                    "(index (call f) (spread xs y (@g)))",
		"x = f() [(A, \"b:c\") -> retry: 5]\n":               "(call f policy:[(A, \"b:c\") -> retry: 5])",
		"x = f()[\"retry: 5\"]\n":                            "(index (call f) \"retry: 5\")",
		"x = f() [\"a\" -> stop]\n":                          "(call f policy:[a -> stop])",
	} {
		f, err := Parse("", text)
		if want == "" { // a parallel takes the brackets, so that none are left for the spread
			again := &File{}
			if err == nil {
				again, err = Parse("", Format(f))
			}
			if err != nil || dump(again) != dump(f) {
				t.Errorf("%sis read as\n%sand again as\n%s%v", text, dump(f), dump(again), err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s%v", text, err)
			continue
		}
		if is := dump(f); is != "implicit\n  assign [x] "+want+"\n" {
			t.Errorf("%sis read as\n%swant %s", text, is, want)
		}
		if again, err := Parse("", Format(f)); err != nil || dump(again) != dump(f) {
			t.Errorf("%sis printed as\n%s%v", text, Format(f), err)
		}
	}
}
