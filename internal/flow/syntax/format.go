package syntax

import (
	"strings"
)

// lineWidth is how long a line may become before its outermost brackets are broken
// into lines of their own.
const lineWidth = 100

// Format returns the canonical text of a tree that was parsed without faults: four
// blanks a level, one blank between words, texts in double quotes, policies as
// package retry prints them, at most one empty line, one between functions.
// Comments stay at their statements; one from the middle of an expression goes to
// the line before it. Formatting the result again changes nothing, and reading it
// gives the same tree.
func Format(f *File) string {
	p := &printer{}
	for i, g := range f.Gates {
		p.before(&g.Notes, 0, i > 0, false)
		p.line(0, g.text(), trail(&g.Notes))
	}
	if f.Implicit {
		if len(f.Gates) > 0 {
			p.b.WriteByte('\n')
		}
		p.statements(f.Functions[0].Body, 0)
	} else {
		for i, fn := range f.Functions {
			p.function(fn, i+len(f.Gates) > 0)
		}
	}
	p.tail(f.Tail, 0)
	return p.b.String()
}

// printer collects the text.
type printer struct{ b strings.Builder }

// line writes a line of a level.
func (p *printer) line(level int, parts ...string) {
	p.b.WriteString(strings.Repeat(" ", level*unitOfIndent))
	for _, part := range parts {
		p.b.WriteString(part)
	}
	p.b.WriteByte('\n')
}

// before writes what stands before a statement. Apart says that an empty line is
// wanted in any case, allowed that there may be one.
func (p *printer) before(n *Notes, level int, allowed, apart bool) {
	if apart || n.Blank && allowed {
		p.b.WriteByte('\n')
	}
	for _, c := range n.Lead {
		if c.Blank {
			p.b.WriteByte('\n')
		}
		p.line(level, c.Text)
	}
	if n.Split && len(n.Lead) > 0 {
		p.b.WriteByte('\n')
	}
}

// tail writes the comments at the end of a block.
func (p *printer) tail(comments []Comment, level int) {
	for _, c := range comments {
		if c.Blank && p.b.Len() > 0 {
			p.b.WriteByte('\n')
		}
		p.line(level, c.Text)
	}
}

// trail is the comment at the end of a line.
func trail(n *Notes) string {
	if n.Trail == "" {
		return ""
	}
	return "  " + n.Trail
}

func (p *printer) function(fn *Function, apart bool) {
	p.before(&fn.Notes, 0, false, apart)
	p.line(0, "fn ", fn.Name.Name, "(input: ", idents(fn.Inputs, "[", "]"), ", output: ", idents(fn.Outputs, "[", "]"), "):", trail(&fn.Notes))
	p.statements(fn.Body, 1)
}

// statements writes those of a block of a level.
func (p *printer) statements(b *Block, level int) {
	for i, s := range b.Statements {
		p.before(s.Comments(), level, i > 0, false)
		p.statement(s, level)
	}
	p.tail(b.Tail, level)
}

func (p *printer) statement(s Statement, level int) {
	end := trail(s.Comments())
	switch s := s.(type) {
	case *Word:
		p.line(level, s.Word, end)
	case *Return:
		if s.Value == nil {
			p.line(level, "return", end)
			return
		}
		p.line(level, wrap(level, "return ", s.Value, ""), end)
	case *Sleep:
		p.line(level, wrap(level, "sleep ", s.For, ""), end)
	case *Assign:
		p.line(level, wrap(level, idents(s.Targets, "", "")+" = ", s.Value, ""), end)
	case *Do:
		p.line(level, wrap(level, "", s.Value, ""), end)
	case *ParallelBlock:
		targets := ""
		if len(s.Targets) > 0 {
			targets = idents(s.Targets, "", "") + " = "
		}
		p.line(level, targets, "parallel", s.options(), ":", end)
		p.statements(s.Body, level+1)
	case *For:
		p.line(level, wrap(level, "for "+idents(s.Targets, "", "")+" in ", s.In, ":"), end)
		p.statements(s.Body, level+1)
	case *While:
		p.line(level, wrap(level, "while ", s.Condition, ":"), end)
		p.statements(s.Body, level+1)
	case *If:
		for i, c := range s.Clauses {
			p.clause(c, i == 0, level)
		}
	case *Try:
		p.tryExcept(s, level)
	}
}

// clause writes a clause of an if. What stands before the first one is written already.
func (p *printer) clause(c *Clause, first bool, level int) {
	head := "else:"
	switch {
	case first:
		head = wrap(level, "if ", c.Condition, ":")
	case c.Condition != nil:
		head = wrap(level, "elif ", c.Condition, ":")
	}
	if !first {
		p.before(&c.Notes, level, false, false)
	}
	p.line(level, head, trail(&c.Notes))
	p.statements(c.Body, level+1)
}

func (p *printer) tryExcept(s *Try, level int) {
	p.line(level, "try", policy(&s.Policied), ":", trail(&s.Notes))
	p.statements(s.Body, level+1)
	for _, c := range s.Handlers {
		p.before(&c.Notes, level, false, false)
		head := "except"
		if len(c.Types) > 0 {
			head += " " + typeNames(c.Types)
		}
		if c.As != nil {
			head += " as " + c.As.Name
		}
		p.line(level, head, ":", trail(&c.Notes))
		p.statements(c.Body, level+1)
	}
}

// typeNames are the error types of an except.
func typeNames(types []Ident) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.Name
		if !IsDotted(t.Name) {
			names[i] = quote(t.Name)
		}
	}
	if len(names) == 1 {
		return names[0]
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// IsDotted reports whether a name is words with dots between them, as those of actions are.
func IsDotted(name string) bool {
	for part := range strings.SplitSeq(name, ".") {
		if part == "" || nameLength(part) != len(part) {
			return false
		}
	}
	return true
}

func idents(names []Ident, open, end string) string {
	all := make([]string, len(names))
	for i, n := range names {
		all[i] = n.Name
	}
	return open + strings.Join(all, ", ") + end
}
