package syntax

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTheEditorGrammarHasTheKeywordsOfTheParser: the TextMate grammar colours the
// keywords and the keys of brackets that there are, and no others.
func TestTheEditorGrammarHasTheKeywordsOfTheParser(t *testing.T) {
	data, err := os.ReadFile("../../../flow/editor/flow.tmLanguage.json")
	if err != nil {
		t.Fatal(err)
	}
	var grammar struct {
		Patterns   []struct{ Include string }
		Repository map[string]struct {
			Match    string
			Patterns []struct{ Include, Begin, End, Match string }
		}
	}
	if err := json.Unmarshal(data, &grammar); err != nil {
		t.Fatal(err)
	}
	words := func(name string) []string {
		m := regexp.MustCompile(`\(([\w|-]+)\)`).FindStringSubmatch(grammar.Repository[name].Match)
		if m == nil {
			t.Fatalf("%s: %q", name, grammar.Repository[name].Match)
		}
		return strings.Split(m[1], "|")
	}
	got := slices.Sorted(slices.Values(slices.Concat(words("keyword"), words("constant"), words("operatorWord"))))
	if want := slices.Sorted(slices.Values(Keywords)); !slices.Equal(got, want) {
		t.Errorf("the keywords are %q, want %q", got, want)
	}
	var keys []string
	for key := range isPolicyKey {
		if key != "stop" && key != "pause" { // which stand alone
			keys = append(keys, key)
		}
	}
	keys = append(keys, "gate", "limit", "errors", "rate", "burst", "mode")
	slices.Sort(keys)
	if got := slices.Sorted(slices.Values(words("brackets"))); !slices.Equal(got, keys) {
		t.Errorf("the keys of brackets are %q, want %q", got, keys)
	}
	for _, p := range grammar.Repository["all"].Patterns {
		if _, there := grammar.Repository[strings.TrimPrefix(p.Include, "#")]; !there {
			t.Errorf("%s is not there", p.Include)
		}
	}
	for name, rule := range grammar.Repository {
		if rule.Match == "" {
			continue
		}
		// Go has no lookahead; what stands before it has to be right.
		if _, err := regexp.Compile(strings.Split(rule.Match, "(?=")[0]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
