package determinism

import (
	"go/ast"
	"go/types"
	"slices"
)

// takesHandle says what the handle is that a verb of package workflow takes behind
// its context: an activity, or the workflow of a child.
var takesHandle = map[string]string{
	"Call": "activity", "Async": "activity",
	"RunChild": "workflow", "RunChildAsync": "workflow", "StartDetached": "workflow", "StartDetachedAsync": "workflow",
}

// checkHandles reports activities and workflows of children that nobody can have
// registered: those of which the handle is a package variable without an exported name that is used in calls
// of package workflow only. A package that does not import perdure registers
// nothing, and is left to those who do.
func (c *checker) checkHandles() {
	if !slices.ContainsFunc(c.Pkg.Imports(), func(p *types.Package) bool { return p.Path() == home }) {
		return
	}
	called := map[*types.Var]ast.Node{}
	elsewhere := map[*types.Var]bool{}
	for _, file := range c.Files {
		handles := map[*ast.Ident]bool{} // that stand where a workflow calls an activity
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || takesHandle[c.verb(call)] == "" || len(call.Args) < 2 {
				return true
			}
			if id, ok := call.Args[1].(*ast.Ident); ok {
				handles[id] = true
			}
			return true
		})
		ast.Inspect(file, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			v := c.packageVar(id)
			switch {
			case v == nil || v.Pkg() != c.Pkg:
			case handles[id]:
				if called[v] == nil {
					called[v] = id
				}
			default:
				elsewhere[v] = true
			}
			return true
		})
	}
	for v, at := range called {
		if v.Exported() || elsewhere[v] || c.isSilenced(at.Pos()) {
			continue
		}
		switch {
		case is(v.Type(), home+"/activity", "Activity"):
			c.Reportf(at.Pos(), "workflow code calls the activity %s, which nobody registers: its calls would wait for ever; pass it to perdure.Register", v.Name())
		case is(v.Type(), home+"/workflow", "Workflow"):
			c.Reportf(at.Pos(), "workflow code starts the workflow %s, which nobody registers: it would wait for code for ever; pass it to perdure.Register", v.Name())
		}
	}
}
