package layout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rooms are the rooms of the engine above the core, the lowest first: a call from one to an
// earlier one runs down. The log is not a room: all of them write to it.
var rooms = []string{
	"internal/ident", "internal/entity", "internal/message", "internal/record", "internal/clock", "internal/workers", "internal/outage",
	"internal/steptx", "internal/replay", "internal/inspect", "internal/request", "internal/commit", "internal/member", "internal/dispatch", "internal/attempt", "internal/post",
	"internal/placement", "internal/feed", "internal/suspicion", "internal/sweep", "internal/serve",
	"internal/registry", "internal/report", "internal/hold", "internal/codecheck", "internal/settings", "internal/engine",
}

// maxUpward is the share of the calls between rooms that may run up, in percent. Imports
// run down only, so such a call goes through an interface of the lower room that a higher
// one implements, or through a function that a higher one hands down.
const maxUpward = 10

// TestCallsRunDown counts the places in the code of a room that call another room. The
// list of those that run up is printed with -v.
func TestCallsRunDown(t *testing.T) {
	s, err := loadStoreys(rooms...)
	if err != nil {
		t.Fatal(err)
	}
	down, up := s.count()
	slices.Sort(up)
	t.Logf("%d calls run down and %d up:\n%s", down, len(up), strings.Join(up, "\n"))
	if down < 100 {
		t.Errorf("only %d calls between rooms were found: is the list of rooms complete?", down)
	}
	if all := down + len(up); len(up)*100 >= all*maxUpward {
		t.Errorf("%d of %d calls between the engine's rooms run up; less than %d%% may. Return values or events instead of calling back, or move the decision down (go test -v lists them)", len(up), all, maxUpward)
	}
}

// storeys is code in order, the lowest storey first, with its types. A storey is a room, or a
// file of a package.
type storeys struct {
	fset    *token.FileSet
	storeys []*storey
	sources map[string]*types.Package // read from their sources, by path
	at      map[string]int            // the storey of a file, by its path
	// handed are the fields and parameters of a storey to which a higher one gives functions.
	handed map[types.Object]bool
}

type storey struct {
	name  string
	pkg   *types.Package
	files []*ast.File
	info  *types.Info
}

// loadStoreys reads packages from their sources, each a storey, and all else from what was
// compiled.
func loadStoreys(packages ...string) (*storeys, error) {
	h, err := loadHouse()
	if err != nil {
		return nil, err
	}
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Export"}
	for _, name := range packages {
		args = append(args, h.module+"/"+name)
	}
	listed, err := exec.Command("go", args...).Output()
	if err != nil {
		return nil, explain(err)
	}
	exports := map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(listed)); ; {
		var p struct{ ImportPath, Export string }
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
	}
	s := &storeys{fset: token.NewFileSet(), sources: map[string]*types.Package{}, handed: map[types.Object]bool{}}
	compiled := importer.ForCompiler(s.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	imports := importing(func(path string) (*types.Package, error) {
		if pkg := s.sources[path]; pkg != nil {
			return pkg, nil
		}
		return compiled.Import(path)
	})
	for _, name := range packages {
		p := h.packages[name]
		r := &storey{name: name, info: &types.Info{
			Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
			Selections: map[*ast.SelectorExpr]*types.Selection{}, Types: map[ast.Expr]types.TypeAndValue{},
		}}
		for _, file := range p.GoFiles {
			f, err := parser.ParseFile(s.fset, filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			r.files = append(r.files, f)
		}
		config := types.Config{Importer: imports}
		if r.pkg, err = config.Check(p.ImportPath, s.fset, r.files, r.info); err != nil {
			return nil, err
		}
		s.sources[p.ImportPath] = r.pkg
		s.storeys = append(s.storeys, r)
	}
	s.index()
	return s, nil
}

// index notes in which storey each file is, and finds the functions that are handed down.
func (s *storeys) index() {
	s.at = map[string]int{}
	for i, r := range s.storeys {
		for _, f := range r.files {
			s.at[s.file(f)] = i
		}
	}
	s.hand()
}

func (s *storeys) file(n ast.Node) string { return s.fset.Position(n.Pos()).Filename }

type importing func(path string) (*types.Package, error)

func (f importing) Import(path string) (*types.Package, error) { return f(path) }

// room returns which storey declares something, -1 if none does.
func (s *storeys) room(o types.Object) int {
	if o == nil || o.Pkg() == nil || s.sources[o.Pkg().Path()] != o.Pkg() {
		return -1
	}
	if at, is := s.at[s.fset.Position(o.Pos()).Filename]; is {
		return at
	}
	return -1
}

// object is what an expression names, nil if it is not a name.
func (r *storey) object(e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return r.info.Uses[e]
	case *ast.SelectorExpr:
		return r.info.Uses[e.Sel]
	case *ast.IndexExpr:
		return r.object(e.X)
	}
	return nil
}

// hand finds the functions that higher storeys give to lower ones: to fields, and to
// parameters.
func (s *storeys) hand() {
	for at, r := range s.storeys {
		give := func(to types.Object, value ast.Expr) {
			if of := s.room(to); of < 0 || of >= at || types.IsInterface(to.Type()) {
				return
			}
			if _, is := to.Type().Underlying().(*types.Signature); is && !r.info.Types[value].IsNil() {
				s.handed[to] = true
			}
		}
		for _, f := range r.files {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.KeyValueExpr:
					if key, is := n.Key.(*ast.Ident); is {
						give(r.info.Uses[key], n.Value)
					}
				case *ast.AssignStmt:
					for i := range min(len(n.Lhs), len(n.Rhs)) {
						give(r.object(n.Lhs[i]), n.Rhs[i])
					}
				case *ast.CallExpr:
					callee, is := r.object(n.Fun).(*types.Func)
					if !is {
						break
					}
					params := callee.Origin().Signature().Params()
					for i := range min(params.Len(), len(n.Args)) {
						give(params.At(i), n.Args[i])
					}
				}
				return true
			})
		}
	}
}

// count returns how many calls run down, and which ones run up.
func (s *storeys) count() (down int, up []string) {
	for at, r := range s.storeys {
		implemented := map[*types.Func]string{}
		for _, f := range r.files {
			ast.Inspect(f, func(n ast.Node) bool {
				call, is := n.(*ast.CallExpr)
				if !is || r.info.Types[call.Fun].IsType() {
					return true
				}
				switch o := r.object(call.Fun).(type) {
				case *types.Func:
					of := s.room(o)
					switch by := s.above(at, o, implemented); {
					case by != "":
						up = append(up, s.place(call)+" "+o.Name()+" of "+by)
					case of > at: // in the same package
						up = append(up, s.place(call)+" "+o.Name()+" of "+s.storeys[of].name)
					case of >= 0 && of != at:
						down++
					}
				case *types.Var:
					if s.handed[o] || s.handed[o.Origin()] {
						up = append(up, s.place(call)+" "+o.Name()+", which is handed down")
					}
				}
				return true
			})
		}
	}
	return down, up
}

func (s *storeys) place(n ast.Node) string {
	p := s.fset.Position(n.Pos())
	return fmt.Sprintf("%s/%s:%d", filepath.Base(filepath.Dir(p.Filename)), filepath.Base(p.Filename), p.Line)
}

// above returns the higher room that implements a method of an interface of the room, ""
// if none does.
func (s *storeys) above(at int, method *types.Func, known map[*types.Func]string) string {
	receiver := method.Signature().Recv()
	if receiver == nil || s.room(method) != at {
		return ""
	}
	of, is := receiver.Type().Underlying().(*types.Interface)
	if !is {
		return ""
	}
	if by, is := known[method]; is {
		return by
	}
	by := ""
	for i, r := range s.storeys[at+1:] {
		for _, o := range scope(r.pkg) {
			if t := o.Type(); s.room(o) == at+1+i && !types.IsInterface(t) && (types.Implements(t, of) || types.Implements(types.NewPointer(t), of)) {
				by = r.name
			}
		}
	}
	known[method] = by
	return by
}

// scope are the types that a package declares, by name.
func scope(p *types.Package) (all []types.Object) {
	for _, name := range p.Scope().Names() {
		if o, is := p.Scope().Lookup(name).(*types.TypeName); is {
			if named, is := o.Type().(*types.Named); is && named.TypeParams().Len() == 0 {
				all = append(all, o)
			}
		}
	}
	return all
}
