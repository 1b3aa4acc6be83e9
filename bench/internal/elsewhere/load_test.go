package elsewhere

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// library type-checks the declarations of packages from their source, without the bodies of
// functions, in the order in which they import each other.
type library struct {
	fset     *token.FileSet
	packages map[string]*types.Package
	imports  map[string]string // of the package that is being checked: what its paths mean
}

// listed is a package as go list prints it.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
}

// load loads everything that this package imports with its build tag.
func load(extra ...string) (*library, error) {
	args := append([]string{"list", "-tags", "elsewhere", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap", "."}, extra...)
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // files of C have no types
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	l := &library{fset: token.NewFileSet(), packages: map[string]*types.Package{"unsafe": types.Unsafe}}
	for all := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := all.Decode(&p); errors.Is(err, io.EOF) {
			return l, nil
		} else if err != nil {
			return nil, err
		}
		if p.ImportPath == "unsafe" {
			continue
		}
		var files []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(l.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			files = append(files, file)
		}
		l.imports = p.ImportMap
		if l.packages[p.ImportPath], err = l.check(p.ImportPath, files, true); err != nil {
			return nil, err
		}
	}
}

// check type-checks a package that imports what is loaded.
func (l *library) check(path string, files []*ast.File, declarations bool) (*types.Package, error) {
	config := types.Config{Importer: l, IgnoreFuncBodies: declarations, FakeImportC: true, Sizes: types.SizesFor("gc", "amd64")}
	return config.Check(path, l.fset, files, nil)
}

// Import is that of types.Importer.
func (l *library) Import(path string) (*types.Package, error) {
	if vendored := l.imports[path]; vendored != "" {
		path = vendored
	}
	if p := l.packages[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s is not loaded", path)
}
