package codec

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/store"
)

// TestEveryVerbIsLookedAt: a verb of stores has a method here, which encodes and decodes its documents,
// or carries none and is passed on to the store inside.
func TestEveryVerbIsLookedAt(t *testing.T) {
	carryNothing := strings.Fields(`
		Attend Backlogs Claim Close Counts Delete Dissolve Due Floor Leave Line Listen Nodes Owners Release Renew
		Secret Tallies Transact Workers
		Export Seal Sealed`) // the rows of a copy are as they are stored
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var own []string
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, is := d.(*ast.FuncDecl); is && f.Recv != nil {
				if star, is := f.Recv.List[0].Type.(*ast.StarExpr); is && slices.Contains([]string{"coded", "transaction"}, star.X.(*ast.Ident).Name) {
					own = append(own, f.Name.Name)
				}
			}
		}
	}
	for verb := range reflect.TypeFor[store.Store]().Methods() {
		if here, passed := slices.Contains(own, verb.Name), slices.Contains(carryNothing, verb.Name); here == passed {
			t.Errorf("%s has a method here: %t, and is passed on: %t", verb.Name, here, passed)
		}
	}
}
