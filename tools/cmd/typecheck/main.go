// Typecheck checks that the packages of the module in the working directory, and their tests,
// compile on other systems:
//
//	typecheck windows darwin
//
// It checks types from source and compiles nothing, so that it takes seconds where go vet with
// another GOOS compiles each dependency for that system first. Of the packages of other modules it
// reads the declarations only, and it keeps no types of expressions: that were half of the work.
package main

import (
	"bytes"
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
	"runtime"
	"slices"
	"strings"
	"sync"
)

func main() {
	failed := false
	for _, system := range os.Args[1:] {
		faults, err := check(system)
		if err != nil {
			faults = []string{err.Error()}
		}
		for _, f := range faults {
			fmt.Fprintf(os.Stderr, "%s: %s\n", system, f)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// listed is a package as go list describes it.
type listed struct {
	ImportPath, Dir, Name string
	GoFiles, CgoFiles     []string
	Imports               []string
	ImportMap             map[string]string // of imports, what they are here
	ForTest               string            // of which package's test it is
	DepOnly               bool              // it is not one of this module, or has been checked as one
	Error                 *struct{ Err string }
	Module                *struct{ GoVersion string }

	done  chan struct{} // closed when it has been checked
	types *types.Package
}

// checker checks the packages of one system.
type checker struct {
	set      *token.FileSet
	packages map[string]*listed
	sizes    types.Sizes
	slots    chan struct{} // of those that work

	mu     sync.Mutex
	faults []string
}

// check returns what does not compile on a system.
func check(system string) ([]string, error) {
	c := &checker{set: token.NewFileSet(), packages: map[string]*listed{}, sizes: types.SizesFor("gc", runtime.GOARCH), slots: make(chan struct{}, runtime.NumCPU())}
	if err := c.list(system); err != nil {
		return nil, err
	}
	var wg sync.WaitGroup
	for _, p := range c.packages {
		wg.Go(func() {
			defer close(p.done)
			c.check(p)
		})
	}
	wg.Wait()
	slices.Sort(c.faults)
	return slices.Compact(c.faults), nil
}

// list asks the go command for the packages of the module, those of their tests, and all that they
// depend on.
func (c *checker) list(system string) error {
	list := exec.Command("go", "list", "-e", "-deps", "-test", "-json=ImportPath,Dir,Name,GoFiles,CgoFiles,Imports,ImportMap,ForTest,DepOnly,Error,Module", "./...")
	list.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
	var said bytes.Buffer
	list.Stderr = &said
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list: %w: %s", err, &said)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &listed{done: make(chan struct{})}
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if p.Error != nil {
			c.fault(p.Error.Err)
		}
		if strings.HasSuffix(p.ImportPath, ".test") {
			continue // the main package of a test binary, which go test makes
		}
		c.packages[p.ImportPath] = p
	}
}

// check checks a package when those that it imports have been.
func (c *checker) check(p *listed) {
	if p.ImportPath == "unsafe" {
		p.types = types.Unsafe
		return
	}
	for _, path := range p.Imports {
		if q := c.packages[path]; q != nil && q != p {
			<-q.done
		}
	}
	c.slots <- struct{}{}
	defer func() { <-c.slots }()
	var files []*ast.File
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.Dir, name)
		}
		file, err := parser.ParseFile(c.set, name, nil, parser.SkipObjectResolution)
		if err != nil && !p.DepOnly {
			c.fault(err.Error())
		}
		if file == nil {
			continue
		}
		if p.DepOnly || p.knows(name) {
			declare(file)
		}
		files = append(files, file)
	}
	config := types.Config{
		Importer:         importer{c, p},
		IgnoreFuncBodies: p.DepOnly,
		FakeImportC:      true,
		Sizes:            c.sizes,
		Error: func(err error) {
			if e, is := errors.AsType[types.Error](err); !p.DepOnly && (!is || !p.knows(e.Fset.Position(e.Pos).Filename)) {
				c.fault(err.Error())
			}
		},
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	p.types, _ = config.Check(p.path(), c.set, files, nil)
}

// knows reports whether a file of a package that is compiled for its test has been checked without it.
func (p *listed) knows(file string) bool {
	return p.ForTest != "" && !strings.HasSuffix(file, "_test.go")
}

// declare leaves of a file what it declares: bodies, and values whose type is said, are of no use.
func declare(file *ast.File) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			d.Body = nil
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, is := s.(*ast.ValueSpec); is && d.Tok == token.VAR && v.Type != nil {
					v.Values = nil
				}
			}
		}
	}
}

// path is the import path of a package, of a variant for a test, too.
func (p *listed) path() string {
	path, _, _ := strings.Cut(p.ImportPath, " ")
	return path
}

func (c *checker) fault(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, text)
}

// importer finds what a package imports among those that have been checked.
type importer struct {
	*checker
	of *listed
}

func (i importer) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if mapped, ok := i.of.ImportMap[path]; ok {
		path = mapped
	}
	p := i.packages[path]
	if p == nil || p.types == nil {
		return nil, fmt.Errorf("package %s is not there", path)
	}
	return p.types, nil
}
