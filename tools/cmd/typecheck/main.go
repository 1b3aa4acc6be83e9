// Typecheck checks that the packages of the module in the working directory, and their tests,
// compile on other systems:
//
//	typecheck windows darwin
//
// It checks types from source and compiles nothing, so that it takes seconds where go vet with
// another GOOS compiles each dependency for that system first.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
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

// check returns what does not compile on a system.
func check(system string) (faults []string, err error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	all, err := packages.Load(&packages.Config{
		Mode:  packages.LoadAllSyntax,
		Env:   append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0"),
		Tests: true,
		ParseFile: func(set *token.FileSet, name string, text []byte) (*ast.File, error) {
			file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
			if file != nil && !strings.HasPrefix(name, here+string(filepath.Separator)) {
				withoutBodies(file)
			}
			return file, err
		},
	}, "./...")
	seen := map[string]bool{}
	for _, p := range all {
		if strings.HasSuffix(p.ID, ".test") {
			continue // the main package of a test binary, which go test makes
		}
		for _, e := range p.Errors {
			if !seen[e.Error()] {
				seen[e.Error()] = true
				faults = append(faults, e.Error())
			}
		}
	}
	return faults, err
}

// withoutBodies forgets the bodies of functions, which others see to.
func withoutBodies(file *ast.File) {
	for _, d := range file.Decls {
		if f, is := d.(*ast.FuncDecl); is {
			f.Body = nil
		}
	}
}
