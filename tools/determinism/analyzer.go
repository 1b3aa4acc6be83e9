package determinism

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Analyzer reports what workflow code must not do. It is safe for concurrent use.
var Analyzer = &analysis.Analyzer{
	Name:      "determinism",
	Doc:       "find what workflow code must not do: clocks, randomness, goroutines, channels, the order of maps, I/O, variables that change, handles that are not registered",
	URL:       "https://pkg.go.dev/github.com/perdure/perdure/tools/determinism",
	Run:       run,
	FactTypes: []analysis.Fact{(*impure)(nil), (*mutable)(nil)},
}

// impure is a fact about a function: what it does that workflow code must not.
type impure struct {
	What string // "reads the machine's clock with time.Now (file.go:12)"
	Hint string
}

func (*impure) AFact() {}

func (i *impure) String() string { return i.What }

// mutable is a fact about a package variable: something assigns it.
type mutable struct{}

func (*mutable) AFact() {}

func (*mutable) String() string { return "mutable" }

// checker is one run of the analyzer on a package.
type checker struct {
	*analysis.Pass
	functions map[*types.Func]*ast.FuncDecl
	known     map[*types.Func]*impure // nil: nothing found, or being looked at
	silenced  map[string]map[int]bool // lines of files
	meant     map[*types.Var]bool     // contexts for use in blocks to which they do not belong
}

func run(pass *analysis.Pass) (any, error) {
	c := &checker{
		Pass:      pass,
		functions: map[*types.Func]*ast.FuncDecl{},
		known:     map[*types.Func]*impure{},
		silenced:  map[string]map[int]bool{},
		meant:     map[*types.Var]bool{},
	}
	if trusted(pass.Pkg.Path()) || !ours(pass) {
		return nil, nil
	}
	c.readComments()
	c.findMutable()
	c.findMeant()
	for _, file := range pass.Files {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				if obj, ok := pass.TypesInfo.Defs[f.Name].(*types.Func); ok {
					c.functions[obj] = f
				}
			}
		}
	}
	for f := range c.functions {
		if found := c.impurity(f); found != nil {
			pass.ExportObjectFact(f, found)
		}
	}
	for _, file := range pass.Files {
		c.checkWorkflows(file)
	}
	c.checkHandles()
	return nil, nil
}

// ours reports whether the package is of a module that is being checked: the
// standard library and other modules are not looked into.
func ours(pass *analysis.Pass) bool {
	if pass.Module == nil || pass.Module.Path == "" {
		return !isStandard(pass.Pkg.Path())
	}
	return pass.Module.Path != "std" && pass.Module.Version == ""
}

func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// home is where perdure's packages are.
const home = "github.com/perdure/perdure"

// trusted are perdure's own packages: they see to it that what they do can be
// replayed.
func trusted(path string) bool {
	rest, ok := strings.CutPrefix(path, home)
	if !ok || strings.HasSuffix(rest, "_test") {
		return false
	}
	switch rest {
	case "", "/workflow", "/activity", "/retry", "/gate", "/store", "/perduretest":
		return true
	}
	return strings.HasPrefix(rest, "/internal/") || strings.HasPrefix(rest, "/store/")
}

// checkWorkflows reports what is wrong in the workflow code of a file.
func (c *checker) checkWorkflows(file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		var signature *ast.FuncType
		var body *ast.BlockStmt
		switch n := n.(type) {
		case *ast.FuncDecl:
			signature, body = n.Type, n.Body
		case *ast.FuncLit:
			signature, body = n.Type, n.Body
		default:
			return true
		}
		if body == nil || !c.takes(signature, home+"/workflow", "Context") {
			return true
		}
		s := scan{checker: c, context: firstName(signature), found: c.tell}
		s.code(body)
		return false // literals in it were scanned with it
	})
}

// tell reports what is found in workflow code, of which all is looked at.
func (c *checker) tell(f finding) (goOn bool) {
	if !c.isSilenced(f.at.Pos()) {
		c.Report(analysis.Diagnostic{
			Pos: f.at.Pos(), End: f.at.End(),
			Message:        fmt.Sprintf("workflow code %s: %s", f.what, f.hint),
			SuggestedFixes: f.fixes,
		})
	}
	return true
}

// impurity returns what a function does that workflow code must not, nil if
// nothing is known.
func (c *checker) impurity(f *types.Func) *impure {
	if found, done := c.known[f]; done {
		return found
	}
	c.known[f] = nil
	decl := c.functions[f]
	if decl == nil {
		var fact impure
		if c.ImportObjectFact(f, &fact) {
			c.known[f] = &fact
		}
		return c.known[f]
	}
	// Workflow code has its findings reported where they are.
	if c.takes(decl.Type, home+"/workflow", "Context") {
		return nil
	}
	s := scan{checker: c, found: func(x finding) bool {
		if !c.isSilenced(x.at.Pos()) {
			if !x.far {
				x.what += " (" + c.place(x.at) + ")"
			}
			c.known[f] = &impure{What: x.what, Hint: x.hint}
		}
		return c.known[f] == nil
	}}
	s.code(decl.Body)
	return c.known[f]
}

// takes reports whether the first parameter is a type of a package, or a pointer
// to one.
func (c *checker) takes(f *ast.FuncType, pkg, name string) bool {
	if f.Params == nil || len(f.Params.List) == 0 {
		return false
	}
	return is(c.TypesInfo.TypeOf(f.Params.List[0].Type), pkg, name)
}

func is(t types.Type, pkg, name string) bool {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == name && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == pkg
}

func firstName(f *ast.FuncType) string {
	if names := f.Params.List[0].Names; len(names) > 0 && names[0].Name != "_" {
		return names[0].Name
	}
	return ""
}

// place is where a node is, without the directory, which differs between machines.
func (c *checker) place(n ast.Node) string {
	p := c.Fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", p.Filename[strings.LastIndexByte(p.Filename, '/')+1:], p.Line)
}

// directive begins a comment that silences the analyzer.
const directive = "//perdure:deterministic"

func (c *checker) readComments() {
	for _, file := range c.Files {
		for _, group := range file.Comments {
			for _, comment := range group.List {
				reason, ok := strings.CutPrefix(comment.Text, directive)
				if !ok {
					continue
				}
				if strings.TrimSpace(reason) == "" {
					c.Reportf(comment.Pos(), "%s needs a reason: why does a replay do the same here?", directive)
				}
				p := c.Fset.Position(comment.Pos())
				if c.silenced[p.Filename] == nil {
					c.silenced[p.Filename] = map[int]bool{}
				}
				c.silenced[p.Filename][p.Line] = true
				c.silenced[p.Filename][p.Line+1] = true
			}
		}
	}
}

func (c *checker) isSilenced(at token.Pos) bool {
	p := c.Fset.Position(at)
	return c.silenced[p.Filename][p.Line]
}
