package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/fnv"
	"strings"
)

// mutant is one fault: a part of a file is another text.
type mutant struct {
	File     string // in the module, with slashes
	Line     int
	Function string // in which it is
	Fault    string // what is done: see plant
	Was, Is  string
	from, to int // what is replaced, in bytes
}

// name is the same as long as the function and the text are: lines may move.
func (m mutant) name() string {
	return fmt.Sprintf("%s %s %s: %s", m.File, m.Function, m.Fault, clip(m.Was))
}

// rank orders mutants at random, and each time alike.
func (m mutant) rank(seed uint64) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s", seed, m.name())
	return h.Sum64()
}

// applied is the file with the fault.
func (m mutant) applied(source []byte) []byte {
	return bytes.Join([][]byte{source[:m.from], source[m.to:]}, []byte(m.Is))
}

// planter finds the faults that can be planted in a file.
type planter struct {
	file     string
	source   []byte
	set      *token.FileSet
	function string
	found    []mutant
}

// plant returns all mutants of a file. Each is a mistake that a person makes there:
//
//	bound      < is <=, and the like
//	sign       + is -, and the reverse
//	junction   && is ||, and the reverse
//	equality   == is !=, and the reverse
//	guard      an if whose body leaves is passed over
//	omission   a call without a result, or the change of a field, is left out
//	order      of two calls or changes that follow each other the second is first
//	verdict    true is returned for false, and the reverse
//	count      a field goes up by two instead of one
func plant(file string, source []byte) ([]mutant, error) {
	p := &planter{file: file, source: source, set: token.NewFileSet()}
	tree, err := parser.ParseFile(p.set, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range tree.Decls {
		f, is := d.(*ast.FuncDecl)
		if !is || f.Body == nil || f.Name.Name == "String" || f.Name.Name == "Error" {
			continue // what a person reads is compared in golden files
		}
		p.function = f.Name.Name
		ast.Inspect(f.Body, p.visit)
	}
	return p.found, nil
}

// swapped are operators, and what stands in their place.
var swapped = map[token.Token]struct {
	by    token.Token
	fault string
}{
	token.LSS: {token.LEQ, "bound"}, token.LEQ: {token.LSS, "bound"}, token.GTR: {token.GEQ, "bound"}, token.GEQ: {token.GTR, "bound"},
	token.EQL: {token.NEQ, "equality"}, token.NEQ: {token.EQL, "equality"},
	token.LAND: {token.LOR, "junction"}, token.LOR: {token.LAND, "junction"},
	token.ADD: {token.SUB, "sign"}, token.SUB: {token.ADD, "sign"},
}

func (p *planter) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		by, is := swapped[n.Op]
		if is && !isNil(n.X) && !isNil(n.Y) && !isText(n.X) && !isText(n.Y) {
			at := p.offset(n.OpPos)
			p.add(n, by.fault, at, at+len(n.Op.String()), by.by.String())
		}
	case *ast.IfStmt:
		// An if that only hands an error on is left out: such faults would be half of all.
		if n.Else == nil && n.Init == nil && leaves(n.Body) && !handsOn(n) {
			p.add(n.Cond, "guard", p.offset(n.Cond.Pos()), p.offset(n.Cond.End()), "false && ("+p.text(n.Cond)+")")
		}
	case *ast.ReturnStmt:
		for _, r := range n.Results {
			if name, is := r.(*ast.Ident); is && (name.Name == "true" || name.Name == "false") {
				p.add(n, "verdict", p.offset(r.Pos()), p.offset(r.End()), map[string]string{"true": "false", "false": "true"}[name.Name])
			}
		}
	case *ast.BlockStmt:
		p.statements(n.List)
	case *ast.CaseClause:
		p.statements(n.Body)
	case *ast.CommClause:
		p.statements(n.Body)
	}
	return true
}

// statements plants what is about statements that follow each other.
func (p *planter) statements(list []ast.Stmt) {
	for i, s := range list {
		if inc, is := s.(*ast.IncDecStmt); is && isField(inc.X) {
			p.add(s, "count", p.offset(s.Pos()), p.offset(s.End()), p.text(inc.X)+map[token.Token]string{token.INC: " += 2", token.DEC: " -= 2"}[inc.Tok])
		}
		if !acts(s) {
			continue
		}
		p.add(s, "omission", p.offset(s.Pos()), p.offset(s.End()), "")
		if i > 0 && acts(list[i-1]) {
			first, second := list[i-1], s
			between := string(p.source[p.offset(first.End()):p.offset(second.Pos())])
			p.add(first, "order", p.offset(first.Pos()), p.offset(second.End()), p.text(second)+between+p.text(first))
		}
	}
}

func (p *planter) add(at ast.Node, fault string, from, to int, is string) {
	was := p.text(at)
	if fault == "order" {
		was = string(p.source[from:to])
	}
	p.found = append(p.found, mutant{
		File: p.file, Line: p.set.Position(at.Pos()).Line, Function: p.function, Fault: fault,
		Was: was, Is: is, from: from, to: to,
	})
}

func (p *planter) offset(at token.Pos) int { return p.set.Position(at).Offset }

func (p *planter) text(n ast.Node) string {
	return string(p.source[p.offset(n.Pos()):p.offset(n.End())])
}

// acts reports whether a statement does something that others see: a call without a result, or
// a change of a field. Locks are none of it, for without them nothing moves, and logs are prose.
func acts(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.IncDecStmt:
		return isField(s.X)
	case *ast.AssignStmt:
		return len(s.Lhs) == 1 && s.Tok != token.DEFINE && isField(s.Lhs[0])
	case *ast.ExprStmt:
		call, is := s.X.(*ast.CallExpr)
		if !is {
			return false
		}
		switch f := call.Fun.(type) {
		case *ast.Ident:
			return f.Name != "panic"
		case *ast.SelectorExpr:
			switch f.Sel.Name {
			case "Lock", "Unlock", "RLock", "RUnlock", "Debug", "Info", "Warn", "Error", "Log":
				return false
			}
			return true
		}
	}
	return false
}

// isField reports whether what is changed outlives the function: a field, or an element of one.
func isField(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.SelectorExpr:
		return true
	case *ast.IndexExpr:
		return isField(x.X)
	case *ast.StarExpr:
		return true
	}
	return false
}

func isNil(x ast.Expr) bool {
	name, is := x.(*ast.Ident)
	return is && name.Name == "nil"
}

func isText(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.BasicLit:
		return x.Kind == token.STRING || x.Kind == token.CHAR
	case *ast.BinaryExpr:
		return isText(x.X) || isText(x.Y)
	}
	return false
}

// leaves reports whether a block ends by going elsewhere.
func leaves(b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return false
	}
	switch b.List[len(b.List)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	}
	return false
}

// handsOn reports whether an if does nothing but return the error that it has found.
func handsOn(n *ast.IfStmt) bool {
	test, is := n.Cond.(*ast.BinaryExpr)
	return is && isNil(test.Y) && len(n.Body.List) == 1
}

// clip is a text in one line.
func clip(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	const most = 90
	if r := []rune(text); len(r) > most {
		return string(r[:most-3]) + "..."
	}
	return text
}
