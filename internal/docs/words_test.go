package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

const (
	maxWords     = 30_000 // of all pages for users: what one reads in two and a half hours
	maxPageWords = 2_600  // of one page: what is longer has more than one job
)

// notForUsers are pages in docs about how perdure is tested: who uses it need not read them.
var notForUsers = []string{"proof.md", "statements.md"}

// TestThePagesForUsersAreShort counts the words of the README and of the pages in docs, without
// tables that are made from code.
func TestThePagesForUsersAreShort(t *testing.T) {
	var counts []string
	total := 0
	for path, text := range texts(t) {
		name := filepath.Base(path)
		if slices.Contains(notForUsers, name) {
			continue
		}
		n := words(text)
		total += n
		counts = append(counts, fmt.Sprintf("%6d %s", n, name))
		if n > maxPageWords {
			t.Errorf("%s has %d words, of %d at most: it has more than one job", name, n, maxPageWords)
		}
	}
	slices.Sort(counts)
	slices.Reverse(counts)
	t.Logf("%6d words in all, of %d at most\n%s", total, maxWords, strings.Join(counts, "\n"))
	if total > maxWords {
		t.Error("the pages for users have too many words")
	}
	for _, name := range notForUsers {
		if _, err := os.Stat(filepath.Join(Root(), "docs", name)); err != nil {
			t.Error(err)
		}
	}
}

var (
	madeFromCode = regexp.MustCompile(`(?m)^<!-- ([a-z0-9:-]+) -->\n`)
	comment      = regexp.MustCompile(`(?s)<!--.*?-->`)
	target       = regexp.MustCompile(`\]\([^)\s]+\)`)
)

// words counts what a reader sees of a page, code included, without sections that are made from
// code.
func words(text string) int {
	for {
		at := madeFromCode.FindStringSubmatchIndex(text)
		if at == nil {
			break
		}
		end := "<!-- /" + text[at[2]:at[3]] + " -->"
		_, after, closed := strings.Cut(text[at[1]:], end)
		if !closed {
			after = text[at[1]:]
		}
		text = text[:at[0]] + after
	}
	text = target.ReplaceAllString(comment.ReplaceAllString(text, ""), "]")
	n := 0
	for _, word := range strings.Fields(text) {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			n++
		}
	}
	return n
}

func TestWordsAreCountedAsRead(t *testing.T) {
	for text, want := range map[string]int{
		"# One two\n\nthree [four five](a-page.md#x) six.\n":                      6,
		"one <!-- go\nvar hidden = 1\n--> two":                                    2,
		"one\n<!-- a:b -->\n\n| two | three |\n\n<!-- /a:b -->\nfour":             2,
		"one\n<!-- a -->\ntwo\n<!-- /a -->\nthree\n<!-- b -->\n<!-- /b -->\nfour": 3,
		"| one | two |\n|---|--:|\n| three | |\n":                                 3,
		"```go\nvar one = 2\n```\n":                                               4,
	} {
		if got := words(text); got != want {
			t.Errorf("%q has %d words, want %d", text, got, want)
		}
	}
}
