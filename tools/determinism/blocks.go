package determinism

import (
	"fmt"
	"go/ast"
	"go/types"
)

// blocks are the verbs that run a function with a context of its own.
var blocks = map[string]string{
	"Timeout": "what it begins does not end with the deadline of the block",
	"Retry":   "what it begins does not belong to the try, and does not end with its deadline",
	"Go":      "a context belongs to the coroutine for which it was made",
	"Map":     "a context belongs to the coroutine for which it was made",
}

// anywhere are the verbs that are the same with every context of a coroutine.
var anywhere = map[string]bool{
	"Outer": true, "Shield": true, "Now": true, "Rand": true, "UUID": true, "GetInfo": true, "VersionOf": true,
	"SideEffect": true, "SetStatus": true, "SetAttribute": true, "RemoveAttribute": true, "NewChannel": true,
}

// block looks at a call of a verb that runs a function: what that does with a context
// from outside is not what it seems.
func (s *scan) block(n *ast.CallExpr, verb string) {
	why, is := blocks[verb]
	if !is {
		return
	}
	for _, arg := range n.Args {
		literal, ok := arg.(*ast.FuncLit)
		if !ok {
			continue
		}
		ast.Inspect(literal.Body, func(in ast.Node) bool {
			if nested, is := in.(*ast.FuncLit); is {
				return !s.takes(nested.Type, home+"/workflow", "Context") // it is looked at by itself
			}
			call, ok := in.(*ast.CallExpr)
			if !ok {
				return true
			}
			if anywhere[s.verb(call)] && (verb == "Timeout" || verb == "Retry") {
				return true
			}
			for _, arg := range call.Args {
				if v := s.outer(arg, literal); v != nil {
					hint := why + "; use the context that is passed to the function"
					if verb == "Timeout" || verb == "Retry" {
						hint += fmt.Sprintf(", or workflow.Outer(%s) if that is meant", v.Name())
					}
					s.report(finding{at: arg, what: fmt.Sprintf("uses the context %s from outside of workflow.%s", v.Name(), verb), hint: hint})
				}
			}
			return true
		})
	}
}

// outer is the context that an expression names, if it is from outside of a literal and
// not meant for use inside.
func (s *scan) outer(arg ast.Expr, literal *ast.FuncLit) *types.Var {
	id, ok := ast.Unparen(arg).(*ast.Ident)
	if !ok {
		return nil
	}
	v, ok := s.TypesInfo.Uses[id].(*types.Var)
	if !ok || !is(v.Type(), home+"/workflow", "Context") || s.meant[v] || v.Pos() >= literal.Pos() && v.Pos() <= literal.End() {
		return nil
	}
	return v
}

// findMeant notes the variables that hold contexts of workflow.Outer and workflow.Shield.
func (c *checker) findMeant() {
	for _, file := range c.Files {
		ast.Inspect(file, func(n ast.Node) bool {
			a, ok := n.(*ast.AssignStmt)
			if !ok || len(a.Lhs) != len(a.Rhs) {
				return true
			}
			for i, right := range a.Rhs {
				call, ok := ast.Unparen(right).(*ast.CallExpr)
				if !ok || c.verb(call) != "Outer" && c.verb(call) != "Shield" {
					continue
				}
				if id, ok := a.Lhs[i].(*ast.Ident); ok {
					if v, ok := c.TypesInfo.Defs[id].(*types.Var); ok {
						c.meant[v] = true
					}
				}
			}
			return true
		})
	}
}
