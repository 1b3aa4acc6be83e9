package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// source is a Go file of the module, whose comments tables are made of.
func source(t *testing.T, path string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(Root(), path), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// field is a field of a struct as its source has it.
type field struct{ name, doc, json string }

// fields are those of a struct type, in order.
func fields(t *testing.T, path, typeName string) []field {
	t.Helper()
	var found []field
	ast.Inspect(source(t, path), func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != typeName {
			return true
		}
		for _, f := range spec.Type.(*ast.StructType).Fields.List {
			for _, name := range f.Names {
				found = append(found, field{name.Name, prose(f.Doc, f.Comment), tag(f.Tag)})
			}
		}
		return false
	})
	if len(found) == 0 {
		t.Fatalf("%s has no struct %s", path, typeName)
	}
	return found
}

// tag is the name of a field in JSON.
func tag(lit *ast.BasicLit) string {
	if lit == nil {
		return ""
	}
	text, _ := strconv.Unquote(lit.Value) // the compiler has accepted it
	name, _, _ := strings.Cut(reflect.StructTag(text).Get("json"), ",")
	return name
}

// constant is a constant of type string as its source has it.
type constant struct{ name, value, doc string }

// constants are those of the group whose comment begins with a text, or of a type.
func constants(t *testing.T, path, group string) []constant {
	t.Helper()
	var found []constant
	for _, decl := range source(t, path).Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.CONST {
			continue
		}
		typed, _ := gen.Specs[0].(*ast.ValueSpec).Type.(*ast.Ident)
		if !strings.HasPrefix(gen.Doc.Text(), group) && (typed == nil || typed.Name != group) {
			continue
		}
		for _, s := range gen.Specs {
			spec := s.(*ast.ValueSpec)
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, constant{spec.Names[0].Name, value, prose(spec.Doc, spec.Comment)})
		}
	}
	if len(found) == 0 {
		t.Fatalf("%s has no constants under %q", path, group)
	}
	return found
}

// function is a function as its source has it.
type function struct{ name, doc string }

// functions are those without a receiver that return a type.
func functions(t *testing.T, path, result string) []function {
	t.Helper()
	var found []function
	for _, decl := range source(t, path).Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil || f.Type.Results == nil {
			continue
		}
		if r, ok := f.Type.Results.List[0].Type.(*ast.Ident); ok && r.Name == result {
			found = append(found, function{f.Name.Name, prose(f.Doc, nil)})
		}
	}
	if len(found) == 0 {
		t.Fatalf("%s has no function that returns %s", path, result)
	}
	return found
}

// prose is a comment as one line.
func prose(doc, comment *ast.CommentGroup) string {
	if doc == nil {
		doc = comment
	}
	return strings.Join(strings.Fields(doc.Text()), " ")
}

// table makes a table of Markdown.
func table(header []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) {
		for i, cell := range cells {
			cells[i] = strings.ReplaceAll(cell, "|", `\|`)
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	line(header)
	b.WriteString(strings.Repeat("|---", len(header)) + "|\n")
	for _, row := range rows {
		line(row)
	}
	return b.String()
}

// code sets text as code, and nothing as nothing.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
