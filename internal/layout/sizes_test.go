package layout

import (
	"go/ast"
	"testing"
)

// maxMethods is how many methods a type may have. Where one has more, its number stands here and
// may only fall.
var maxMethods = map[string]int{
	"internal/engine": 100,
	"internal/core":   75, // Run

	"cmd/perdure/internal/cli": 40, "api": 40, "dashboard": 40, "internal/command": 40,
}

// maxFields is how many fields an Engine may have.
const maxFields = 25

// TestTypesFitAHead: a type with too many methods, or an Engine with too many fields, has parts that
// ought to have types of their own.
func TestTypesFitAHead(t *testing.T) {
	h := load(t)
	for room, most := range maxMethods {
		methods, fields := map[string]int{}, 0
		for _, s := range sources(t, h, room) {
			for _, d := range s.file.Decls {
				if f, is := d.(*ast.FuncDecl); is && f.Recv != nil {
					methods[receiver(f).Name]++
				}
				if g, is := d.(*ast.GenDecl); is && room == "internal/engine" {
					fields = max(fields, fieldsOf(g, "Engine"))
				}
			}
		}
		if len(methods) < 5 || room == "internal/engine" && fields == 0 {
			t.Errorf("%s has %d types with methods, and its Engine %d fields: does this test still find them?", room, len(methods), fields)
		}
		for name, n := range methods {
			if n > most {
				t.Errorf("%s.%s has %d methods; at most %d are allowed", room, name, n, most)
			}
		}
		if fields > maxFields {
			t.Errorf("Engine has %d fields; at most %d are allowed", fields, maxFields)
		}
	}
}

// fieldsOf returns how many fields a declared struct has, 0 if it is not in the declaration.
func fieldsOf(g *ast.GenDecl, name string) (n int) {
	for _, s := range g.Specs {
		spec, is := s.(*ast.TypeSpec)
		if !is || spec.Name.Name != name {
			continue
		}
		if structure, is := spec.Type.(*ast.StructType); is {
			for _, f := range structure.Fields.List {
				n += max(len(f.Names), 1)
			}
		}
	}
	return n
}
