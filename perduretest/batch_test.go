package perduretest_test

import (
	"context"
	"slices"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/workflow"
)

// batch is a part of the items: some, from one on.
type batch struct{ From, Count int }

// items are the numbers of a batch: they need no place in the input.
func (b batch) items() []int {
	items := make([]int, b.Count)
	for i := range items {
		items[i] = b.From + i
	}
	return items
}

// parts cuts a batch into smaller ones.
func (b batch) parts(size int) []batch {
	var parts []batch
	for part := range slices.Chunk(b.items(), size) {
		parts = append(parts, batch{part[0], len(part)})
	}
	return parts
}

// TestE107_AHundredThousandItems: more items than a history has events are worked off
// both ways that docs/limits.md shows, each item once, with bounded numbers of children
// and calls at a time. By day both numbers are a fifth: each batch costs the same.
func TestE107_AHundredThousandItems(t *testing.T) {
	items := extent.AtNight(20_000, 100_000)
	if testing.Short() {
		items = 5_000
	}
	events := max(items/2, 5_000)
	const size, width = 1000, 50
	double := activity.Declare[int, int]("double")
	some := workflow.New("some", func(wf *workflow.Context, b batch) (int, error) {
		done, err := workflow.Map(wf, b.items(), func(wf *workflow.Context, item int) (int, error) {
			return workflow.Call(wf, double, item)
		}, workflow.Limit(width))
		sum := 0
		for _, n := range done {
			sum += n
		}
		return sum, err
	})
	all := workflow.New("all", func(wf *workflow.Context, b batch) (int, error) {
		sums, err := workflow.Map(wf, b.parts(size), func(wf *workflow.Context, part batch) (int, error) {
			return workflow.RunChild(wf, some, part)
		}, workflow.Limit(4))
		sum := 0
		for _, n := range sums {
			sum += n
		}
		return sum, err
	})
	type rest struct {
		batch
		Sum int
	}
	chain := workflow.Declare[rest, int]("chain")
	chain = chain.Impl(func(wf *workflow.Context, r rest) (int, error) {
		now := batch{r.From, min(size, r.Count)}
		sum, err := workflow.RunChild(wf, some, now)
		if err != nil || now.Count == r.Count {
			return r.Sum + sum, err
		}
		return workflow.ContinueAsNew(wf, chain, rest{batch{r.From + size, r.Count - size}, r.Sum + sum})
	})
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		env.Register(some, all, chain)
		body := perduretest.Mock(env, double, func(_ context.Context, item int) (int, error) { return 2 * item, nil })
		want := items * (items - 1)
		if sum, err := perduretest.Run(env, all, "children", batch{0, items}); sum != want || err != nil {
			t.Errorf("by children: %d, %v, want %d", sum, err, want)
		}
		if n := len(body.Executions()); n != items {
			t.Errorf("%d executions, want %d", n, items)
		}
		if events := env.Workflow("children").History(); len(events) > 10*items/size+10 {
			t.Errorf("the parent has %d events", len(events))
		}
		if sum, err := perduretest.Run(env, chain, "chain", rest{batch{0, items}, 0}); sum != want || err != nil {
			t.Errorf("by continue-as-new: %d, %v, want %d", sum, err, want)
		}
	}, perduretest.Engine(perdure.MaxHistory(events)))
}
