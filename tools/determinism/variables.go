package determinism

import (
	"go/ast"
	"go/token"
	"go/types"
)

// findMutable notes which variables of the package somebody assigns after they
// were initialised.
func (c *checker) findMutable() {
	for _, file := range c.Files {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.AssignStmt:
					for _, left := range n.Lhs {
						c.noteMutable(left)
					}
				case *ast.IncDecStmt:
					c.noteMutable(n.X)
				case *ast.UnaryExpr:
					if n.Op == token.AND { // who has its address may change it
						c.noteMutable(n.X)
					}
				case *ast.RangeStmt:
					if n.Tok == token.ASSIGN {
						c.noteMutable(n.Key)
						c.noteMutable(n.Value)
					}
				}
				return true
			})
		}
	}
}

func (c *checker) noteMutable(target ast.Expr) {
	if v := c.global(target); v != nil && v.Pkg() == c.Pkg && !c.ImportObjectFact(v, new(mutable)) {
		c.ExportObjectFact(v, new(mutable))
	}
}

// global is the package variable that an assignment to the expression changes.
func (c *checker) global(target ast.Expr) *types.Var {
	for {
		switch t := target.(type) {
		case *ast.ParenExpr:
			target = t.X
		case *ast.IndexExpr:
			target = t.X
		case *ast.StarExpr:
			target = t.X
		case *ast.SelectorExpr:
			if v := c.packageVar(t.Sel); v != nil {
				return v
			}
			target = t.X
		case *ast.Ident:
			return c.packageVar(t)
		default:
			return nil
		}
	}
}

func (c *checker) packageVar(id *ast.Ident) *types.Var {
	v, ok := c.TypesInfo.Uses[id].(*types.Var)
	if !ok || v.IsField() || v.Pkg() == nil || v.Parent() != v.Pkg().Scope() {
		return nil
	}
	return v
}

// assigned looks at what an assignment changes.
func (s *scan) assigned(left ast.Expr) {
	if v := s.global(left); v != nil {
		s.report(finding{at: left, what: "assigns the package variable " + v.Name(), hint: "a replay does it again, and other runs see it; keep it in a local variable, or do it in an activity"})
	}
}

// machine are variables of the standard library that stand for the machine.
var machine = map[string]bool{
	"os.Args": true, "os.Stdin": true, "os.Stdout": true, "os.Stderr": true, "crypto/rand.Reader": true,
	"net/http.DefaultClient": true, "net/http.DefaultTransport": true, "net.DefaultResolver": true, "time.Local": true,
}

// variable looks at the use of a name.
func (s *scan) variable(id *ast.Ident) {
	v := s.packageVar(id)
	if v == nil {
		return
	}
	if machine[v.Pkg().Path()+"."+v.Name()] {
		s.report(finding{at: id, what: "uses " + v.Pkg().Name() + "." + v.Name(), hint: "another machine has another one; use it in an activity or a step, and pass on what comes of it"})
		return
	}
	if isStandard(v.Pkg().Path()) || trusted(v.Pkg().Path()) {
		return
	}
	if s.ImportObjectFact(v, new(mutable)) {
		s.report(finding{at: id, what: "uses the package variable " + v.Name() + ", which is assigned somewhere", hint: "a replay may find another value; pass it in with the input, or read it in a step"})
	}
}
