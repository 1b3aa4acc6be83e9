package listing

import (
	"reflect"
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
