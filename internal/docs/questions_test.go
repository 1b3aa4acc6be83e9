package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTenQuestionsAreOneClickFromTheReadme: what a newcomer asks leads from the README to a section
// that answers it, in these words among others.
func TestTenQuestionsAreOneClickFromTheReadme(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(Root(), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for question, answer := range map[string]struct{ link, says string }{
		"What happens when I kill it?":                                      {"docs/concepts.md#what-happens-to-your-code", "After a crash"},
		"What if one customer is too loud?":                                 {"docs/tenants.md", "keys take turns"},
		"How do I make a payment at a bank that knows no idempotency keys?": {"docs/retries.md#unknown-outcomes", "activity.Verify"},
		"How do I deploy a change while runs are open?":                     {"docs/deploy-version-2.md", "workflow.VersionOf"},
		"What about a value of 5 MB?":                                       {"docs/limits.md#what-to-do-at-a-limit", "Keep large values elsewhere"},
		"Can I use it from Python?":                                         {"docs/http.md#a-client-in-another-language", "ython"},
		"How fast is it?":                                                   {"docs/performance.md", "Throughput"},
		"How is it proven?":                                                 {"docs/proof.md", "perdure torture"},
		"How do I test my workflows?":                                       {"docs/testing.md", "EveryWrite"},
		"When should I not use it?":                                         {"docs/should-i-use-it.md", "Probably not"},
	} {
		row, _, _ := strings.Cut(string(readme)[max(0, strings.Index(string(readme), question)):], "\n")
		if !strings.HasPrefix(row, question) || !strings.Contains(row, "]("+answer.link+")") {
			t.Errorf("the README does not lead from %q to %s", question, answer.link)
			continue
		}
		file, anchor, _ := strings.Cut(answer.link, "#")
		page, err := os.ReadFile(filepath.Join(Root(), file))
		if err != nil {
			t.Error(err)
		} else if !strings.Contains(part(string(page), anchor), answer.says) {
			t.Errorf("%s does not say %q", answer.link, answer.says)
		}
	}
}

// part is what stands below the heading with an anchor, or all of a page.
func part(text, anchor string) string {
	if anchor == "" {
		return text
	}
	var found strings.Builder
	in := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "## ") {
			in = headings(line)[anchor]
		}
		if in {
			found.WriteString(line)
		}
	}
	return found.String()
}
