package main

import (
	"bytes"
	_ "embed"
	"errors"
	"html/template"
	"path"
	"path/filepath"
	"strings"

	"github.com/yuin/goldmark/ast"
)

//go:embed page.html
var layout string

var tmpl = template.Must(template.New("page").Parse(layout))

// menu is what every page leads to, in the order of a reader's day.
var menu = []string{
	"README.md", "docs/should-i-use-it.md", "docs/getting-started.md", "docs/workflows.md", "docs/testing.md", "docs/concepts.md", "docs/glossary.md", "docs/coming-from.md",
	"docs/retries.md", "docs/gates.md", "docs/tenants.md", "docs/notation.md", "docs/flow.md", "docs/services.md", "docs/transactions.md", "docs/http.md", "docs/deploy-version-2.md", "docs/deploying.md", "docs/moving.md",
	"docs/production.md", "docs/dashboard.md", "docs/scaling.md", "docs/queues.md", "docs/limits.md", "docs/errors.md", "docs/logs.md", "docs/middleware.md", "docs/codec.md", "docs/telemetry.md", "docs/performance.md", "docs/retry-storms.md",
	"docs/retries-reference.md", "docs/proof.md", "docs/statements.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md",
}

// entry is a line of the menu.
type entry struct {
	Title, Link string
	Here        bool
}

// render makes the HTML of a page. Its links are changed in its tree.
func render(root string, p *page, pages []*page) ([]byte, error) {
	var faults []error
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, ok := n.(*ast.Link); ok && entering {
			to, err := resolve(root, p, string(link.Destination), pages)
			faults = append(faults, err)
			link.Destination = []byte(to)
		}
		return ast.WalkContinue, nil
	})
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	var body, html bytes.Buffer
	if err := markdown.Renderer().Render(&body, p.text, p.tree); err != nil {
		return nil, err
	}
	err := tmpl.Execute(&html, struct {
		Title string
		Menu  []entry
		Body  template.HTML
	}{p.title, entries(p, pages), template.HTML(body.String())})
	return html.Bytes(), err
}

// entries is the menu as a page has it.
func entries(p *page, pages []*page) []entry {
	var list []entry
	for _, source := range menu {
		for _, q := range pages {
			if q.source != source {
				continue
			}
			link, err := filepath.Rel(path.Dir(p.target), q.target)
			if err != nil {
				continue
			}
			list = append(list, entry{strings.TrimSpace(q.title), filepath.ToSlash(link), p == q})
		}
	}
	return list
}
