package docs

import "testing"

func TestCutFindsASection(t *testing.T) {
	const page = "a\n<!-- x -->\nold\n<!-- /x -->\nb\n"
	before, between, after, err := cut(page, "x")
	if err != nil || before != "a\n<!-- x -->\n" || between != "old\n" || after != "<!-- /x -->\nb\n" {
		t.Errorf("%q %q %q %v", before, between, after, err)
	}
	for _, broken := range []string{"", "<!-- x -->\n", page + page, "<!-- /x --> <!-- x -->\n"} {
		if _, _, _, err := cut(broken, "x"); err == nil {
			t.Errorf("no error for %q", broken)
		}
	}
}
