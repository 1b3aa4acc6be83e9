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
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rooms are the rooms of the engine above the core, the lowest first: a call from one to an
// earlier one runs down. The log is no room: all of them write to it.
var rooms = []string{
	"internal/ident", "internal/entity", "internal/record", "internal/message", "internal/clock", "internal/workers", "internal/outage",
	"internal/steptx", "internal/inspect", "internal/request", "internal/commit", "internal/member", "internal/dispatch", "internal/attempt", "internal/post",
	"internal/placement", "internal/suspicion", "internal/sweep", "internal/serve", "internal/replay", "internal/engine",
}

// maxUpward is the share of the calls between rooms that may run up, in percent. Imports
// run down only, so such a call goes through an interface of the lower room that a higher
// one implements, or through a function that a higher one hands down.
const maxUpward = 10

// TestCallsRunDown counts the places in the code of a room that call another room. The
// list of those that run up is printed with -v.
func TestCallsRunDown(t *testing.T) {
	s, err := loadRooms()
	if err != nil {
		t.Fatal(err)
	}
	s.hand()
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

// storeys is the code of the rooms with its types.
type storeys struct {
	fset  *token.FileSet
	rooms []*storey
	// handed are the fields and parameters of a room to which a higher one gives functions.
	handed map[types.Object]bool
}

type storey struct {
	name  string
	pkg   *types.Package
	files []*ast.File
	info  *types.Info
}

// loadRooms reads the rooms from their sources, and all else from what was compiled.
func loadRooms() (*storeys, error) {
	h, err := loadHouse()
	if err != nil {
		return nil, err
	}
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Export"}
	for _, name := range rooms {
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
	s := &storeys{fset: token.NewFileSet(), handed: map[types.Object]bool{}}
	compiled := importer.ForCompiler(s.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	sources := map[string]*types.Package{}
	imports := importing(func(path string) (*types.Package, error) {
		if pkg := sources[path]; pkg != nil {
			return pkg, nil
		}
		return compiled.Import(path)
	})
	for _, name := range rooms {
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
		sources[p.ImportPath] = r.pkg
		s.rooms = append(s.rooms, r)
	}
	return s, nil
}

type importing func(path string) (*types.Package, error)

func (f importing) Import(path string) (*types.Package, error) { return f(path) }

// room returns which room declares something, -1 if none does.
func (s *storeys) room(o types.Object) int {
	return slices.IndexFunc(s.rooms, func(r *storey) bool { return o != nil && o.Pkg() == r.pkg })
}

// object is what an expression names, nil if it is no name.
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

// hand finds the functions that higher rooms give to lower ones: to fields, and to
// parameters.
func (s *storeys) hand() {
	for at, r := range s.rooms {
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
	for at, r := range s.rooms {
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
	for _, r := range s.rooms[at+1:] {
		for _, name := range slices.Sorted(maps.Keys(scope(r.pkg))) {
			o := scope(r.pkg)[name]
			if t := o.Type(); !types.IsInterface(t) && (types.Implements(t, of) || types.Implements(types.NewPointer(t), of)) {
				by = r.name
			}
		}
	}
	known[method] = by
	return by
}

// scope are the types that a package declares.
func scope(p *types.Package) map[string]types.Object {
	all := map[string]types.Object{}
	for _, name := range p.Scope().Names() {
		if o, is := p.Scope().Lookup(name).(*types.TypeName); is {
			if named, is := o.Type().(*types.Named); is && named.TypeParams().Len() == 0 {
				all[name] = o
			}
		}
	}
	return all
}
