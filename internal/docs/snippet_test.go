package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
)

// packages are those that snippets may use, by the names they use them by.
var packages = map[string]string{
	"context": "context", "errors": "errors", "flag": "flag", "fmt": "fmt", "io": "io", "log": "log", "http": "net/http",
	"os": "os", "regexp": "regexp", "slog": "log/slog", "strconv": "strconv", "strings": "strings", "testing": "testing", "filepath": "path/filepath", "time": "time", "sql": "database/sql", "json": "encoding/json",

	"perdure":     module,
	"access":      module + "/access",
	"activity":    module + "/activity",
	"api":         module + "/api",
	"dashboard":   module + "/dashboard",
	"flow":        module + "/flow",
	"gate":        module + "/gate",
	"httpretry":   module + "/retry/httpretry",
	"intercept":   module + "/intercept",
	"memory":      module + "/store/memory",
	"ops":         module + "/ops",
	"perduretest": module + "/perduretest",
	"postgres":    module + "/store/postgres",
	"retry":       module + "/retry",
	"codec":       module + "/codec",
	"sqlite":      module + "/store/sqlite",
	"schedule":    module + "/schedule",
	"telemetry":   module + "/telemetry",
	"store":       module + "/store",
	"storm":       module + "/lab/storm",
	"view":        module + "/view",
	"workflow":    module + "/workflow",
}

const module = "github.com/perdure/perdure"

// snippet is Go code of a page.
type snippet struct {
	page string
	line int // of its first line
	code string
}

// page is what the Go code of a page is made of.
type page struct {
	blocks []snippet // fenced, each on its own
	common []snippet // in comments, for all blocks
}

// readPage finds the Go code of a page.
func readPage(name, text string) page {
	const inBlock, inComment = "```", "-->"
	var p page
	var at snippet
	end := ""
	number := 0
	for line := range strings.Lines(strings.ReplaceAll(text, "\r\n", "\n")) {
		number++
		trimmed := strings.TrimSpace(line)
		switch {
		case end == "" && (trimmed == "```go" || trimmed == "<!-- go"):
			at, end = snippet{page: name, line: number + 1}, inBlock
			if trimmed == "<!-- go" {
				end = inComment
			}
		case end != "" && trimmed == end:
			if end == inBlock {
				p.blocks = append(p.blocks, at)
			} else {
				p.common = append(p.common, at)
			}
			end = ""
		case end != "":
			at.code += line
		}
	}
	return p
}

// isProgram reports whether the snippet is a file of its own.
func (s snippet) isProgram() bool { return strings.HasPrefix(strings.TrimSpace(s.code), "package ") }

// file makes a file of the snippet: of a program, of declarations, or of
// statements, whatever it is.
func (s snippet) file(fset *token.FileSet) (*ast.File, error) {
	if s.isProgram() {
		return s.parse(fset, "", s.code, "")
	}
	const head = "package page\n"
	tail := ""
	if s.isStatements() {
		tail = "return nil }\n"
	}
	draft, err := s.parse(fset, head, s.code, tail)
	if err != nil {
		return nil, err
	}
	return s.parse(fset, head+imports(draft), s.code, tail)
}

// has reports whether a position is in the snippet.
func (s snippet) has(p token.Position) bool {
	return s.line <= p.Line && p.Line < s.line+strings.Count(s.code, "\n")
}

// isStatements reports whether the snippet is the inside of a function.
func (s snippet) isStatements() bool {
	_, err := s.parse(token.NewFileSet(), "package page\n", s.code, "")
	return err != nil
}

// parse parses code between a head and a tail; a tail makes it the inside of a
// function. Positions are those in the page.
func (s snippet) parse(fset *token.FileSet, head, code, tail string) (*ast.File, error) {
	if tail != "" {
		head += "func _(ctx context.Context, wf *workflow.Context, eng *perdure.Engine) error {\n"
	}
	position := ""
	if head != "" {
		position = fmt.Sprintf("//line %s:%d\n", s.page, s.line)
	}
	return parser.ParseFile(fset, "snippet", head+position+code+"\n"+tail, 0)
}

// imports are the declarations that import what the file uses.
func imports(file *ast.File) string {
	used := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := selector.X.(*ast.Ident); ok && packages[x.Name] != "" {
				used[packages[x.Name]] = true
			}
		}
		return true
	})
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(used)) {
		fmt.Fprintf(&b, "import %q\n", path)
	}
	return b.String()
}
