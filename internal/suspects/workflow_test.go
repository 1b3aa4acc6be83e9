package suspects

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestE87_AWorkflowIsFoundAsAWhole lives life after life with a workflow all of whose runs end
// the process, among runs of another one, until Limit of them were alone at a death. That
// takes few deaths, however many runs there are, and the other workflow is never accused.
func TestE87_AWorkflowIsFoundAsAWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bad, good := rapid.IntRange(Limit, 300).Draw(t, "bad"), rapid.IntRange(0, 300).Draw(t, "good")
		var left []byte
		alone := map[string]bool{}
		for deaths := int64(0); len(alone) < Limit; deaths++ {
			if deaths > Limit+1 {
				t.Fatalf("%d processes died, and %d runs were alone", deaths, len(alone))
			}
			b, err := Open(deaths+1, "node", left, func(int64) bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range b.Crashes() {
				if a.Name != "bad" {
					t.Fatalf("%+v is accused", a)
				}
				alone[a.Run] = true
			}
			if len(alone) == Limit {
				return
			}
			b.Alone(map[string]int{"bad": len(alone)})
			left = liveWith(t, b, bad, good)
		}
	})
}

// liveWith tries runs until one ends the process, and returns the book that is left.
func liveWith(t *rapid.T, b *Book, bad, good int) []byte {
	var waiting []Waiter
	for i := range bad + good {
		w := Waiter{run(i), Code{"good", "v1"}}
		if i < bad {
			w.Workflow = "bad"
		}
		waiting = append(waiting, w)
	}
	for range 2*len(waiting) + 1 {
		tried, now := b.Admit(waiting, time.Hour, true), map[string]bool{}
		for _, w := range tried {
			if now[w.Run] = true; w.Workflow == "bad" {
				return b.Write()
			}
		}
		var rest []Waiter
		for _, w := range waiting {
			if now[w.Run] {
				b.Survived(w.Run, false)
				b.WentOn(w.Run, w.Workflow)
			} else {
				rest = append(rest, w)
			}
		}
		waiting = rest
	}
	t.Fatal("no run of the workflow is tried")
	return nil
}

// TestE87_AWorkflowIsAcquitted when Limit of its runs have gone on, and not before.
func TestE87_AWorkflowIsAcquitted(t *testing.T) {
	b, err := Open(1, "node", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.Alone(map[string]int{"w": 1})
	for i := range 2 * Limit {
		if got, want := b.WentOn(run(i), "w"), i == Limit-1; got != want {
			t.Errorf("after %d runs went on it is acquitted: %v", i+1, got)
		}
	}
	if b.WentOn("other", "x") {
		t.Error("a workflow that nobody doubted is acquitted")
	}
	all := []Waiter{{"a", Code{"w", "v1"}}, {"b", Code{"w", "v1"}}}
	b.most = 2 * parts
	if got := b.Admit(all, 0, true); len(got) != 2 {
		t.Errorf("%d of its runs are tried together", len(got))
	}
}
