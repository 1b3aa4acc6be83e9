package determinism

import (
	"go/ast"
	"go/token"
	"go/types"
)

// rangeOver looks at what a loop ranges over.
func (s *scan) rangeOver(n *ast.RangeStmt) {
	const hint = "the order differs from run to run; range over slices.Sorted(maps.Keys(m))"
	switch s.TypesInfo.TypeOf(n.X).Underlying().(type) {
	case *types.Chan:
		s.report(finding{at: n.X, what: "receives from a Go channel", hint: "what comes is not recorded; use workflow.NewChannel"})
	case *types.Map:
		if n.Key != nil && !blank(n.Key, n.Value) && !s.orderless(n.Body) {
			s.report(finding{at: n.X, what: "ranges over a map", hint: hint})
		}
	case *types.Signature:
		call, ok := ast.Unparen(n.X).(*ast.CallExpr)
		if !ok {
			return
		}
		f := s.callee(call)
		if f == nil || pathOf(f) != "maps" || blank(n.Key, n.Value) || s.orderless(n.Body) {
			return
		}
		switch f.Name() {
		case "All", "Keys", "Values":
			s.report(finding{at: n.X, what: "ranges over a map with maps." + f.Name(), hint: hint})
		}
	}
}

func blank(names ...ast.Expr) bool {
	for _, e := range names {
		if id, ok := e.(*ast.Ident); e != nil && (!ok || id.Name != "_") {
			return false
		}
	}
	return true
}

// orderless reports whether the result of a loop's body does not depend on the
// order of its rounds: it fills maps and counters, deletes, or gathers what is
// then to be sorted, and does nothing else. That the slice is sorted is not
// checked: who gathers the keys of a map and does not sort them is rare.
func (s *scan) orderless(body *ast.BlockStmt) bool {
	plain := true
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			plain = plain && s.harmless(n)
		case *ast.ReturnStmt, *ast.BranchStmt, *ast.GoStmt, *ast.DeferStmt, *ast.SendStmt, *ast.FuncLit:
			if b, ok := n.(*ast.BranchStmt); !ok || b.Tok != token.CONTINUE {
				plain = false
			}
		case *ast.AssignStmt:
			plain = plain && s.commutes(n)
		}
		return plain
	})
	return plain
}

// harmless reports whether a call is of a builtin or a conversion.
func (s *scan) harmless(n *ast.CallExpr) bool {
	t := s.TypesInfo.Types[n.Fun]
	return t.IsType() || t.IsBuiltin()
}

// commutes reports whether assignments in any order have one result.
func (s *scan) commutes(n *ast.AssignStmt) bool {
	switch n.Tok {
	case token.DEFINE:
		return true
	case token.ADD_ASSIGN, token.SUB_ASSIGN, token.OR_ASSIGN, token.AND_ASSIGN, token.XOR_ASSIGN:
		b, ok := s.TypesInfo.TypeOf(n.Lhs[0]).Underlying().(*types.Basic)
		return ok && b.Info()&types.IsInteger != 0 // adding floats or strings depends on the order
	case token.ASSIGN:
		for i, left := range n.Lhs {
			if _, index := left.(*ast.IndexExpr); index {
				continue
			}
			if len(n.Rhs) != len(n.Lhs) {
				return false
			}
			call, ok := n.Rhs[i].(*ast.CallExpr)
			if !ok {
				return false
			}
			id, ok := call.Fun.(*ast.Ident)
			if !ok || id.Name != "append" && id.Name != "max" && id.Name != "min" {
				return false
			}
		}
		return true
	}
	return false
}
