package syntax

import (
	"fmt"
	"strings"
)

// dump is a tree as text, one statement a line, without positions. Two trees are
// equal if their dumps are.
func dump(f *File) string {
	d := &dumper{}
	for _, g := range f.Gates {
		d.notes(&g.Notes, 0)
		d.line(0, fmt.Sprintf("gate %s limit=%d rate=%d/%s burst=%d mode=%s", g.Name.Name, g.Limit, g.Count, g.Per, g.Burst, g.Mode), &g.Notes)
	}
	for _, fn := range f.Functions {
		head := "fn " + fn.Name.Name + " " + idents(fn.Inputs, "[", "]") + " " + idents(fn.Outputs, "[", "]")
		if f.Implicit {
			head = "implicit"
		}
		d.notes(&fn.Notes, 0)
		d.line(0, head, &fn.Notes)
		d.block(fn.Body, 1)
	}
	d.tail(f.Tail, 0)
	return d.b.String()
}

type dumper struct{ b strings.Builder }

func (d *dumper) line(level int, text string, n *Notes) {
	d.b.WriteString(strings.Repeat("  ", level) + text)
	if n != nil && n.Trail != "" {
		d.b.WriteString("  " + n.Trail)
	}
	d.b.WriteByte('\n')
}

func (d *dumper) notes(n *Notes, level int) { d.tail(n.Lead, level) }

func (d *dumper) tail(comments []Comment, level int) {
	for _, c := range comments {
		d.line(level, c.Text, nil)
	}
}

func (d *dumper) block(b *Block, level int) {
	for _, s := range b.Statements {
		d.notes(s.Comments(), level)
		d.statement(s, level)
	}
	d.tail(b.Tail, level)
}

func (d *dumper) statement(s Statement, level int) {
	line := func(format string, args ...any) { d.line(level, fmt.Sprintf(format, args...), s.Comments()) }
	switch s := s.(type) {
	case *Word:
		line("%s", s.Word)
	case *Return:
		line("return %s", show(s.Value))
	case *Sleep:
		line("sleep %s", show(s.For))
	case *Assign:
		line("assign %s %s", idents(s.Targets, "[", "]"), show(s.Value))
	case *Do:
		line("do %s", show(s.Value))
	case *ParallelBlock:
		line("parallel%s %s", s.options(), idents(s.Targets, "[", "]"))
		d.block(s.Body, level+1)
	case *For:
		line("for %s %s", idents(s.Targets, "[", "]"), show(s.In))
		d.block(s.Body, level+1)
	case *While:
		line("while %s", show(s.Condition))
		d.block(s.Body, level+1)
	case *If:
		for i, c := range s.Clauses {
			head := "elif " + show(c.Condition)
			if i == 0 {
				head = "if " + show(c.Condition)
			} else {
				d.notes(&c.Notes, level)
			}
			if c.Condition == nil {
				head = "else"
			}
			d.line(level, head, &c.Notes)
			d.block(c.Body, level+1)
		}
	case *Try:
		line("try%s", showPolicy(s.Policied))
		d.block(s.Body, level+1)
		for _, c := range s.Handlers {
			d.notes(&c.Notes, level)
			as := ""
			if c.As != nil {
				as = " as " + c.As.Name
			}
			d.line(level, "except "+idents(c.Types, "[", "]")+as, &c.Notes)
			d.block(c.Body, level+1)
		}
	case *Bad:
		line("bad")
	}
}

func show(x Expr) string {
	switch x := x.(type) {
	case nil:
		return "nothing"
	case *Int:
		return fmt.Sprint(x.Value)
	case *Float:
		return "float:" + Float64(x.Value)
	case *String:
		return fmt.Sprintf("%q", x.Value)
	case *Bool:
		return fmt.Sprint(x.Value)
	case *None:
		return "none"
	case *Name:
		return x.Name
	case *Unary:
		return "(" + x.Op + " " + show(x.X) + ")"
	case *Binary:
		return "(" + x.Op + " " + show(x.X) + " " + show(x.Y) + ")"
	case *Field:
		return "(. " + show(x.X) + " " + x.Name.Name + ")"
	case *Index:
		return "(index " + show(x.X) + " " + show(x.I) + ")"
	case *List:
		return "[" + showAll(x.Items) + "]"
	case *Dict:
		var all []string
		for _, e := range x.Entries {
			all = append(all, show(e.Key)+": "+show(e.Value))
		}
		return "{" + strings.Join(all, ", ") + "}"
	case *Call:
		return "(call " + x.Name.Name + showArgs(x.Args) + showPolicy(x.Policied) + ")"
	case *Action:
		return "(@" + x.Name.Name + showArgs(x.Args) + x.gates() + showPolicy(x.Policied) + ")"
	case *Wait:
		return "(wait " + fmt.Sprintf("%q", x.Signal.Name) + showPolicy(x.Policied) + ")"
	case *Spread:
		return "(spread " + show(x.Over) + x.options() + " " + x.As.Name + " " + show(x.Call) + ")"
	case *Parallel:
		return "(parallel" + x.options() + " " + showAll(x.Calls) + ")"
	}
	return fmt.Sprintf("%T?", x)
}

func showPolicy(x Policied) string {
	if x.Policy == nil {
		return ""
	}
	return fmt.Sprintf(" policy:%+v", *x.Policy)
}

func showAll(xs []Expr) string {
	var all []string
	for _, x := range xs {
		all = append(all, show(x))
	}
	return strings.Join(all, ", ")
}

func showArgs(args []Arg) string {
	var b strings.Builder
	for _, a := range args {
		b.WriteString(" ")
		if a.Name.Name != "" {
			b.WriteString(a.Name.Name + "=")
		}
		b.WriteString(show(a.Value))
	}
	return b.String()
}
