package determinism

import (
	"go/ast"
	"go/types"
)

// logsLive reports whether a call is one of a method of a logger that workflow.Logger
// made, which is silent while the run replays.
func (c *checker) logsLive(n *ast.CallExpr, f *types.Func) bool {
	if recv := f.Signature().Recv(); recv == nil || !is(recv.Type(), "log/slog", "Logger") {
		return false
	}
	method, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr)
	return ok && c.isWorkflowLogger(method.X, map[*types.Var]bool{})
}

// isWorkflowLogger reports whether an expression is what workflow.Logger returned, or made
// of it: by With or WithGroup, or a variable that holds nothing else. Seen are the
// variables that are being looked at.
func (c *checker) isWorkflowLogger(x ast.Expr, seen map[*types.Var]bool) bool {
	switch x := ast.Unparen(x).(type) {
	case *ast.CallExpr:
		f := c.callee(x)
		if f == nil {
			return false
		}
		if pathOf(f) == home+"/workflow" {
			return f.Name() == "Logger"
		}
		return c.logsLive(x, f)
	case *ast.Ident:
		v, ok := c.TypesInfo.Uses[x].(*types.Var)
		if !ok {
			return false
		}
		if seen[v] {
			return true
		}
		seen[v] = true
		values := c.valuesOf(v)
		for _, value := range values {
			if value == nil || !c.isWorkflowLogger(value, seen) {
				return false
			}
		}
		return len(values) > 0
	}
	return false
}

// valuesOf returns what is assigned to a variable, nil unless it is a single expression.
func (c *checker) valuesOf(v *types.Var) (values []ast.Expr) {
	note := func(names, from []ast.Expr) {
		for i, name := range names {
			id, ok := name.(*ast.Ident)
			if !ok || c.TypesInfo.Defs[id] != v && c.TypesInfo.Uses[id] != v {
				continue
			}
			if len(names) != len(from) {
				values = append(values, nil)
				continue
			}
			values = append(values, from[i])
		}
	}
	for _, file := range c.Files {
		if v.Pos() < file.FileStart || v.Pos() > file.FileEnd {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				note(n.Lhs, n.Rhs)
			case *ast.ValueSpec:
				names := make([]ast.Expr, len(n.Names))
				for i, name := range n.Names {
					names[i] = name
				}
				note(names, n.Values)
			}
			return true
		})
	}
	return values
}
