package api_test

import (
	"cmp"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/perdure/perdure/api"
	"github.com/perdure/perdure/internal/goldenfile"
)

// TestF31_FieldsAreExplained holds what the OpenAPI document says of fields to the comments in
// the source, in the words of JSON: a name in place of Go's, the values in place of constants.
// After -update the document is another one: update that, too.
func TestF31_FieldsAreExplained(t *testing.T) {
	all := map[string]string{}
	for _, pkg := range []string{"view", "gate/spec", "retry", "schedule", "access", "internal/web"} {
		explain(t, pkg, all)
	}
	if s := all["view.Run.status"]; !strings.HasPrefix(s, "One of running, waiting-for-code, ") {
		t.Errorf("the status of a run is explained as %q", s)
	}
	asked := api.Comments()
	maps.DeleteFunc(all, func(key, _ string) bool { return !asked[key] })
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	goldenfile.Compare(t, "comments.json", string(text)+"\n")
}

// explain adds the fields of a package.
func explain(t *testing.T, pkg string, all map[string]string) {
	files, err := filepath.Glob(filepath.Join("..", pkg, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var parsed []*ast.File
	values := map[string][]string{} // of the constants that are declared together, by each of their names
	texts := map[string]string{}    // of constants, by name
	set := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
		for _, d := range f.Decls {
			if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.CONST {
				group := constants(d)
				maps.Copy(texts, group)
				for name := range group {
					values[name] = slices.DeleteFunc(inOrder(d), func(n string) bool { return group[n] == "" })
					for i, n := range values[name] {
						values[name][i] = group[n]
					}
				}
			}
		}
	}
	for _, f := range parsed {
		for _, d := range f.Decls {
			d, ok := d.(*ast.GenDecl)
			if !ok || d.Tok != token.TYPE {
				continue
			}
			for _, s := range d.Specs {
				s := s.(*ast.TypeSpec)
				if body, ok := s.Type.(*ast.StructType); ok {
					names := fieldsOf(body)
					for i, field := range body.Fields.List {
						if len(field.Names) != 1 || names[field.Names[0].Name] == "" {
							continue
						}
						if says := explained(commentOf(set, body.Fields.List[:i+1]), names, texts, values); says != "" {
							all[path.Base(pkg)+"."+s.Name.Name+"."+names[field.Names[0].Name]] = says
						}
					}
				}
			}
		}
	}
}

// constants are the texts of constants by name.
func constants(d *ast.GenDecl) map[string]string {
	found := map[string]string{}
	for _, s := range d.Specs {
		s := s.(*ast.ValueSpec)
		for i, name := range s.Names {
			if i < len(s.Values) {
				if lit, ok := s.Values[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
					found[name.Name], _ = strconv.Unquote(lit.Value)
				}
			}
		}
	}
	return found
}

func inOrder(d *ast.GenDecl) (names []string) {
	for _, s := range d.Specs {
		for _, name := range s.(*ast.ValueSpec).Names {
			names = append(names, name.Name)
		}
	}
	return names
}

var constantOf = regexp.MustCompile(`\b[Ss]ee ([A-Z]\w+)\b`)

// commentOf is the comment of the last one of a struct's fields. One without a comment has that
// of a field above it in the same paragraph that names it, as in "Error and ErrorType say why".
func commentOf(set *token.FileSet, fields []*ast.Field) string {
	last := fields[len(fields)-1]
	if own := last.Doc.Text() + " " + last.Comment.Text(); own != " " {
		return own
	}
	named := regexp.MustCompile(`\b` + last.Names[0].Name + `\b`)
	for i := len(fields) - 2; i >= 0 && set.Position(fields[i].End()).Line == set.Position(fields[i+1].Pos()).Line-1; i-- {
		if text := fields[i].Doc.Text(); text != "" {
			if named.MatchString(text) {
				return text
			}
			return ""
		}
	}
	return ""
}

// fieldsOf are the names that fields of a struct have in JSON, by those that they have in Go.
// Without a tag that is what the types that write themselves make of it.
func fieldsOf(body *ast.StructType) map[string]string {
	names := map[string]string{}
	for _, field := range body.Fields.List {
		if len(field.Names) != 1 || !field.Names[0].IsExported() {
			continue
		}
		name := field.Names[0].Name
		if field.Tag == nil {
			names[name] = strings.ToLower(hump.ReplaceAllString(name, "${1}_$2"))
			continue
		}
		tag, _ := strconv.Unquote(field.Tag.Value)
		if inJSON, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ","); inJSON != "" && inJSON != "-" {
			names[name] = inJSON
		}
	}
	return names
}

var hump = regexp.MustCompile(`([a-z])([A-Z])`)

var word = regexp.MustCompile(`[\w.]+`)

// explained returns a comment in the words of JSON.
func explained(comment string, names, texts map[string]string, values map[string][]string) string {
	says := strings.Join(strings.Fields(comment), " ")
	says = constantOf.ReplaceAllStringFunc(says, func(ref string) string {
		group := values[ref[len("see "):]]
		if len(group) == 0 {
			return ref
		}
		return "one of " + strings.Join(group, ", ")
	})
	says = word.ReplaceAllStringFunc(says, func(w string) string {
		end := strings.TrimRight(w, ".")
		switch {
		case w == "nil":
			return "absent"
		case end == "JSON": // the format, in all comments that have the word
			return w
		case texts[end] != "":
			return texts[end] + w[len(end):]
		}
		return cmp.Or(names[end], end) + w[len(end):]
	})
	if rest, ok := strings.CutPrefix(says, "one of "); ok {
		says = "One of " + rest
	}
	return says
}
