package listing

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/view"
)

// TestANodeIsGoneWithoutItsWork: a worker that died has none of partitions, and its attempts until they
// are back in their queues.
func TestANodeIsGoneWithoutItsWork(t *testing.T) {
	for _, c := range []struct {
		node view.Node
		gone bool
	}{
		{view.Node{State: view.NodeDied}, true}, {view.Node{State: view.NodeLeft}, true}, {view.Node{State: view.NodeLive}, false},
		{view.Node{State: view.NodeDied, Partitions: 1}, false}, {view.Node{State: view.NodeDied, Worker: true, Attempts: 1}, false},
	} {
		if got := Gone(c.node); got != c.gone {
			t.Errorf("%+v is gone: %v", c.node, got)
		}
	}
}

// TestF2_ValuesOfFiltersAreThoseThatThereAre: what flags offer and what help and the OpenAPI
// document list is the one list of states.
func TestF2_ValuesOfFiltersAreThoseThatThereAre(t *testing.T) {
	for _, c := range []struct {
		of   reflect.Type
		name string
		want []string
	}{
		{reflect.TypeFor[Runs](), "status", wording.Statuses}, {reflect.TypeFor[ByCalls](), "call", wording.FoundStates}, {reflect.TypeFor[Attempts](), "outcome", wording.Outcomes},
	} {
		p := param.Find(c.of, c.name)
		if !slices.Equal(p.Enum, c.want) || !strings.Contains(p.Help, strings.Join(c.want, ", ")) {
			t.Errorf("%s can be %q, and %q are listed: %s", c.name, c.want, p.Enum, p.Help)
		}
	}
}

// TestF2_AttemptsAreFoundByEveryOutcome of the reference, but those of attempts that have not ended.
func TestF2_AttemptsAreFoundByEveryOutcome(t *testing.T) {
	page, err := os.ReadFile("../../docs/retries-reference.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## Outcomes of an attempt")
	table, _, _ = strings.Cut(table, "\n## ")
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` ").FindAllStringSubmatch(table, -1) {
		if name := row[1]; name != view.OutcomeRunning && name != view.OutcomeExternal {
			listed = append(listed, name)
		}
	}
	if want := slices.Sorted(slices.Values(wording.Outcomes)); !slices.Equal(slices.Sorted(slices.Values(listed)), want) {
		t.Errorf("the reference has %q, and filters %q", listed, want)
	}
}
