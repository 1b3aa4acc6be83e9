package docs

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// TestLinksLeadSomewhere follows every relative link in the Markdown files: the file must
// exist, and if it is a Markdown file itself, so must the heading after #.
func TestLinksLeadSomewhere(t *testing.T) {
	for _, fault := range brokenLinks(t, filepath.Join("..", "..")) {
		t.Error(fault)
	}
}

// brokenLinks says of each link that leads nowhere, in the documents below root, where it is
// and why.
func brokenLinks(t *testing.T, root string) (faults []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".md" && d.Name() != "llms.txt" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		for _, l := range markdownLinks(string(text)) {
			if problem := follow(root, name, l.target); problem != "" {
				faults = append(faults, fmt.Sprintf("%s:%d: the link %q leads nowhere: %s.", filepath.ToSlash(name), l.line, l.target, problem))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return faults
}

// link is the target of a Markdown link and the line it stands on.
type link struct {
	line   int
	target string
}

var (
	inlineLink    = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)>?(?:\s+["'(][^)]*)?\)`)
	referenceLink = regexp.MustCompile(`^ {0,3}\[[^\]]+\]:\s+<?([^\s>]+)>?`)
	codeSpan      = regexp.MustCompile("`+[^`]*`+")
)

// markdownLinks finds the links outside of code.
func markdownLinks(text string) []link {
	var links []link
	eachProseLine(text, func(number int, line string) {
		line = codeSpan.ReplaceAllString(line, "")
		for _, m := range inlineLink.FindAllStringSubmatch(line, -1) {
			links = append(links, link{number, m[1]})
		}
		if m := referenceLink.FindStringSubmatch(line); m != nil {
			links = append(links, link{number, m[1]})
		}
	})
	return links
}

const endOfComment = "-->"

// eachProseLine visits the lines outside of fenced code blocks and of comments
// that have lines of their own, counted from 1.
func eachProseLine(text string, visit func(number int, line string)) {
	number, fence := 0, ""
	for line := range strings.Lines(text) {
		number++
		trimmed := strings.TrimSpace(line)
		switch {
		case fence == endOfComment:
			if strings.HasSuffix(trimmed, endOfComment) {
				fence = ""
			}
		case fence != "":
			if strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]) == "" {
				fence = ""
			}
		case strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~"):
			fence = trimmed[:3]
		case strings.HasPrefix(trimmed, "<!--") && !strings.Contains(trimmed, endOfComment):
			fence = endOfComment
		default:
			visit(number, strings.TrimRight(line, "\r\n"))
		}
	}
}

// follow says what is wrong with a link in the file from, or "" if nothing is.
// Links to other sites are not followed: their fate must not decide a build.
func follow(root, from, target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return "it is not a valid address"
	}
	if u.Scheme != "" || u.Host != "" {
		return ""
	}
	path := filepath.Join(root, filepath.Dir(from), filepath.FromSlash(u.Path))
	switch {
	case u.Path == "":
		path = filepath.Join(root, from)
	case strings.HasPrefix(u.Path, "/"):
		path = filepath.Join(root, filepath.FromSlash(u.Path))
	}
	if inside, err := filepath.Rel(root, path); err != nil || strings.HasPrefix(inside, "..") {
		return "it points outside of the repository"
	}
	if _, err := os.Stat(path); err != nil {
		return "no such file exists"
	}
	if u.Fragment == "" || filepath.Ext(path) != ".md" {
		return ""
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	if !headings(string(text))[u.Fragment] {
		return fmt.Sprintf("it has no heading for #%s", u.Fragment)
	}
	return ""
}

// headings are the anchors of a document as code hosts make them: lower case,
// spaces to hyphens, punctuation dropped, and a number behind the second of a
// name.
func headings(text string) map[string]bool {
	anchors := map[string]bool{}
	eachProseLine(text, func(_ int, line string) {
		title := strings.TrimLeft(line, "#")
		if level := len(line) - len(title); level < 1 || level > 6 || !strings.HasPrefix(title, " ") {
			return
		}
		var b strings.Builder
		for _, r := range strings.ToLower(strings.TrimSpace(title)) {
			switch {
			case r == ' ':
				b.WriteByte('-')
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				b.WriteRune(r)
			}
		}
		anchor := b.String()
		for n := 1; anchors[anchor]; n++ {
			anchor = fmt.Sprintf("%s-%d", b.String(), n)
		}
		anchors[anchor] = true
	})
	return anchors
}

func TestABrokenLinkIsFound(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "docs"), 0o755); err != nil {
		t.Fatal(err)
	}
	write("README.md", strings.Join([]string{
		"# Title",                            // 1
		"[good](docs/a.md) [bad](docs/b.md)", // 2
		"[anchor](docs/a.md#the-house) [x](docs/a.md#y)",     // 3
		"[site](https://example.com/none) `[code](none.md)`", // 4
		"```",
		"[fenced](none.md)", // 6
		"```",
		"![image](pic.png \"a title\") [self](#title)", // 8
		"[ref]: docs/none.md",                          // 9
		"[dir](docs) [out](../up.md)",                  // 10
	}, "\n"))
	write("docs/a.md", "## The *house*!\n[back](../README.md)\n")

	var lines []string
	for _, fault := range brokenLinks(t, root) {
		place, _, _ := strings.Cut(fault, ": ")
		lines = append(lines, place)
	}
	want := []string{"README.md:2", "README.md:3", "README.md:8", "README.md:9", "README.md:10"}
	if !slices.Equal(lines, want) {
		t.Errorf("faults at %v\nwant      %v", lines, want)
	}
}

func TestAnchorsOfHeadings(t *testing.T) {
	got := headings("# One\n## Two words, here\n## One\n#no\n```\n# code\n```\n### `go run` & more\n")
	for _, want := range []string{"one", "two-words-here", "one-1", "go-run--more"} {
		if !got[want] {
			t.Errorf("no anchor %q in %v", want, got)
		}
	}
	if len(got) != 4 {
		t.Errorf("anchors %v; want 4", got)
	}
}
