package determinism

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// finding is something that workflow code must not do.
type finding struct {
	at    ast.Node
	what  string // "reads the clock with time.Now"
	hint  string
	fixes []analysis.SuggestedFix
	far   bool // it is in another function, and what says in which
}

// scan goes through the code of a function. found is called for each finding and
// returns whether to continue.
type scan struct {
	*checker
	context string // the name of the *workflow.Context, if there is one
	found   func(finding) bool
	over    bool
}

func (s *scan) report(f finding) {
	if !s.over && !s.found(f) {
		s.over = true
	}
}

// code looks at a piece of code and everything in it that runs as part of it.
func (s *scan) code(root ast.Node) {
	ast.Inspect(root, func(n ast.Node) bool {
		if s.over || n == nil {
			return false
		}
		return s.node(n)
	})
}

// node looks at one node and answers whether to look into it.
func (s *scan) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncLit:
		return !s.takes(n.Type, "context", "Context")
	case *ast.GoStmt:
		s.report(finding{at: n, what: "starts a goroutine", hint: "the order in which goroutines run is not recorded; use workflow.Go"})
		return false
	case *ast.SelectStmt:
		s.report(finding{at: n, what: "uses select", hint: "which channel is ready first is not recorded; use workflow.Select"})
		return false
	case *ast.SendStmt:
		s.report(finding{at: n, what: "sends on a Go channel", hint: "nobody can receive there in a replay; use workflow.NewChannel"})
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			s.report(finding{at: n, what: "receives from a Go channel", hint: "what comes is not recorded; use workflow.NewChannel, or workflow.Receive for signals"})
		}
	case *ast.RangeStmt:
		s.rangeOver(n)
	case *ast.AssignStmt:
		for _, left := range n.Lhs {
			s.assigned(left)
		}
	case *ast.IncDecStmt:
		s.assigned(n.X)
	case *ast.Ident:
		s.variable(n)
	case *ast.CallExpr:
		return s.call(n)
	}
	return true
}

// call looks at a call and answers whether to look into it.
func (s *scan) call(n *ast.CallExpr) bool {
	f := s.callee(n)
	if f == nil {
		return true
	}
	switch verb := s.verb(n); {
	case f.Name() == "New" && s.context != "" && (pathOf(f) == home+"/activity" || pathOf(f) == home+"/workflow"):
		s.report(finding{at: n, what: "makes a handle", hint: "what it is of must be registered before it can run; declare it at package level and register it with perdure.Register"})
		return false
	case verb == "Do", verb == "DoAsync", verb == "SideEffect":
		s.outside(n, verb)
		return false
	case verb != "":
		s.block(n, verb)
		return true
	}
	if known, ok := forbidden(f); ok && !s.logsLive(n, f) {
		s.report(finding{at: n, what: known.what + " with " + nameOf(f), hint: known.hint, fixes: s.fix(n, f)})
		return true
	}
	if trusted(pathOf(f)) {
		return true
	}
	if found := s.impurity(f); found != nil {
		s.report(finding{at: n, what: fmt.Sprintf("calls %s, which %s", nameOf(f), found.What), hint: found.Hint, far: true})
	}
	return true
}

// outside looks at a call of an inline step or side effect, whose closure runs
// outside of workflow code, and the arguments beside it.
func (s *scan) outside(n *ast.CallExpr, verb string) {
	for _, arg := range n.Args {
		literal, ok := arg.(*ast.FuncLit)
		if !ok {
			s.code(arg)
			continue
		}
		ast.Inspect(literal.Body, func(in ast.Node) bool {
			if id, ok := in.(*ast.Ident); ok && !s.over {
				v, ok := s.TypesInfo.Uses[id].(*types.Var)
				if ok && is(v.Type(), home+"/workflow", "Context") && (v.Pos() < literal.Pos() || v.Pos() > literal.End()) {
					s.report(finding{at: id, what: "uses its context inside workflow." + verb, hint: "the closure runs outside of workflow code; use what the context gives before, and pass it in"})
				}
			}
			return true
		})
	}
}

// callee is the function or method that a call names, nil if that shows only when
// the program runs.
func (c *checker) callee(n *ast.CallExpr) *types.Func {
	fun := ast.Unparen(n.Fun)
	switch generic := fun.(type) {
	case *ast.IndexExpr:
		fun = generic.X
	case *ast.IndexListExpr:
		fun = generic.X
	}
	var id *ast.Ident
	switch fun := fun.(type) {
	case *ast.Ident:
		id = fun
	case *ast.SelectorExpr:
		id = fun.Sel
	default:
		return nil
	}
	f, _ := c.TypesInfo.Uses[id].(*types.Func)
	if f == nil {
		return nil
	}
	if recv := f.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
		return nil
	}
	return f.Origin()
}

// verb is the function of package workflow that a call names, "" if it is none.
func (c *checker) verb(n *ast.CallExpr) string {
	if f := c.callee(n); f != nil && pathOf(f) == home+"/workflow" {
		return f.Name()
	}
	return ""
}

func pathOf(o types.Object) string {
	if o.Pkg() == nil {
		return ""
	}
	return o.Pkg().Path()
}

// nameOf is a function as a reader knows it: time.Now, (*sql.DB).Query.
func nameOf(f *types.Func) string {
	recv := f.Signature().Recv()
	if recv == nil {
		return f.Pkg().Name() + "." + f.Name()
	}
	short := func(p *types.Package) string { return p.Name() }
	t := types.TypeString(recv.Type(), short)
	if _, pointer := recv.Type().(*types.Pointer); pointer {
		t = "(" + t + ")"
	}
	return t + "." + f.Name()
}

// fix replaces a call where the replacement has the same type.
func (s *scan) fix(n *ast.CallExpr, f *types.Func) []analysis.SuggestedFix {
	if s.context == "" || len(n.Args) != 0 {
		return nil
	}
	var verb string
	switch {
	case pathOf(f) == "time" && f.Name() == "Now":
		verb = "Now"
	case f.Pkg().Name() == "uuid" && f.Name() == "NewString":
		verb = "UUID"
	default:
		return nil
	}
	text := fmt.Sprintf("workflow.%s(%s)", verb, s.context)
	return []analysis.SuggestedFix{{
		Message:   "Use " + text,
		TextEdits: []analysis.TextEdit{{Pos: n.Pos(), End: n.End(), NewText: []byte(text)}},
	}}
}
