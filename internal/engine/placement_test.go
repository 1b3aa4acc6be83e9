package engine_test

import (
	"context"
	"slices"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// TestE116_ANodeDeclaresItsCode: in its row, by which other nodes and people know it.
func TestE116_ANodeDeclaresItsCode(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		charge := activity.New("charge", func(ctx context.Context, _ int) (int, error) { return 0, nil })
		plain := workflow.New("plain", func(*workflow.Context, int) (int, error) { return 0, nil })
		versioned := workflow.New("versioned", func(*workflow.Context, int) (int, error) { return 0, nil }, workflow.Version("7"))
		c := w.config(versioned, charge, plain)
		c.Build = "v3"
		e := w.startWith(c)
		nodes, err := e.Nodes(t.Context())
		if err != nil || len(nodes) != 1 {
			t.Fatalf("the nodes are %v, %v", nodes, err)
		}
		n := nodes[0]
		if n.Build != "v3" || !slices.Equal(n.Workflows, []view.Definition{{Name: "plain"}, {Name: "versioned", Version: "7"}}) || !slices.Equal(n.Activities, []string{"charge"}) {
			t.Errorf("the node is %+v", n)
		}
		c = w.config()
		c.Build = "a\x00b"
		if _, err := engine.Open(t.Context(), c); err == nil {
			t.Error("a build of control characters is taken")
		}
	})
}
