package docs

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// addresses are the anchors of docs/glossary.md. Screens, errors and pages of others lead there, so
// what is here stays: a word that perdure no longer uses says which one took its place.
var addresses = strings.Fields(`
	activity attempt backoff blob block breaker budget build call canary chain child codec engine epoch
	external finding fire gate gated glossary group history in-doubt jitter key lease ledger lost node
	offered overlap parked partition paused pinned policy policy-trial priority quarantined query queue
	queued rate replay retention run saga schedule selection signal slot step switch timer token turn
	unknown update waiting-for-code worker workflow workflow-id`)

// TestTheGlossaryHasTheWordsOfScreens: each word that users meet on screens and in flags has an
// address that stays.
func TestTheGlossaryHasTheWordsOfScreens(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(Root(), "docs", "glossary.md"))
	if err != nil {
		t.Fatal(err)
	}
	has := headings(string(text))
	for _, address := range addresses {
		if !has[address] {
			t.Errorf("glossary.md has no #%s any more, to which others lead", address)
		}
	}
	for _, state := range constants(t, "view/call.go", "The states of open calls") {
		if !has[state.value] && state.value != "running" && state.value != "waiting" { // which need no explanation
			t.Errorf("calls are shown as %s, which glossary.md does not explain", state.value)
		}
	}
	for _, address := range slices.Sorted(maps.Keys(has)) {
		if !slices.Contains(addresses, address) {
			t.Errorf("#%s of glossary.md is not on the list of addresses that stay; add it", address)
		}
	}
}

// TestTheGlossaryIsInOrder: who looks for a word finds it by its letters.
func TestTheGlossaryIsInOrder(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(Root(), "docs", "glossary.md"))
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	eachProseLine(string(text), func(number int, line string) {
		if word, ok := strings.CutPrefix(line, "### "); ok {
			if word = strings.ToLower(word); word < last {
				t.Errorf("line %d: %q stands after %q", number, word, last)
			}
			last = word
		}
	})
}
