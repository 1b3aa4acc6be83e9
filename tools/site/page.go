package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// page is a document.
type page struct {
	source  string // its file below the root, with slashes
	target  string // below the site
	title   string
	text    []byte
	tree    ast.Node
	anchors []string
}

// markdown is what the documents are written in. Comments and pictures are the only HTML in them.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.GFM),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(html.WithUnsafe()),
)

// read parses all documents, by source.
func read(root string) ([]*page, error) {
	var pages []*page
	for _, pattern := range []string{"*.md", "docs/*.md", "examples/*/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			name, err := filepath.Rel(root, file)
			if err != nil {
				return nil, err
			}
			content, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			pages = append(pages, parse(filepath.ToSlash(name), content))
		}
	}
	if len(pages) == 0 {
		return nil, fmt.Errorf("there are no documents in %s", root)
	}
	return pages, nil
}

func parse(source string, content []byte) *page {
	p := &page{source: source, target: strings.TrimSuffix(source, ".md") + ".html", text: content}
	if path.Base(source) == "README.md" {
		p.target = path.Join(path.Dir(source), "index.html")
	}
	p.tree = markdown.Parser().Parse(text.NewReader(content), parser.WithContext(parser.NewContext(parser.WithIDs(&ids{}))))
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		heading, ok := n.(*ast.Heading)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		if id, ok := heading.AttributeString("id"); ok {
			p.anchors = append(p.anchors, string(id.([]byte)))
		}
		if heading.Level == 1 && p.title == "" {
			p.title = string(heading.Lines().Value(content))
		}
		return ast.WalkContinue, nil
	})
	return p
}

// resolve returns where a link of a page leads on the site.
func resolve(root string, p *page, link string, pages []*page) (string, error) {
	if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return link, nil
	}
	file, anchor, _ := strings.Cut(link, "#")
	to := p
	if file != "" {
		name := path.Join(path.Dir(p.source), file)
		i := slices.IndexFunc(pages, func(q *page) bool { return q.source == name })
		if i < 0 {
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); err != nil {
				return "", fmt.Errorf("%s: the link %q leads nowhere", p.source, link)
			}
			return "https://github.com/perdure/perdure/blob/main/" + name, nil
		}
		to = pages[i]
	}
	if anchor != "" && !slices.Contains(to.anchors, anchor) {
		return "", fmt.Errorf("%s: the link %q leads to no heading of %s; it has %s", p.source, link, to.source, strings.Join(to.anchors, ", "))
	}
	relative, err := filepath.Rel(path.Dir(p.target), to.target)
	if err != nil {
		return "", err
	}
	if anchor != "" {
		relative += "#" + anchor
	}
	return filepath.ToSlash(relative), nil
}

// ids gives headings the anchors that the repository's own pages have: lower case,
// without punctuation, a hyphen for each space, and a number if there are several.
type ids struct{ used map[string]int }

func (s *ids) Generate(value []byte, _ ast.NodeKind) []byte {
	id := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 127:
			return r
		}
		return -1
	}, strings.ToLower(strings.TrimSpace(string(value))))
	if s.used == nil {
		s.used = map[string]int{}
	}
	n := s.used[id]
	s.used[id]++
	if n > 0 {
		id = fmt.Sprintf("%s-%d", id, n)
	}
	return []byte(id)
}

func (s *ids) Put([]byte) {}
