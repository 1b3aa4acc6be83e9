package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/workflow"
)

// TestE117_E87_CodeThatEndsNodesAway: a hundred runs of an old version, away from home, and
// one whose code ends its process. After few deaths it is alone, and parked with their
// count; all others go on, and are not held up by it.
func TestE117_E87_CodeThatEndsNodesAway(t *testing.T) {
	for name, c := range map[string]struct {
		partitions, most int
		homeDies         bool
	}{
		"home lives":      {1, 8, false}, // as many deaths as TestE87_I9_CodeThatEndsItsProcess has
		"home dies":       {1, 12, true},
		"many partitions": {4, 12, false},
		"all die":         {4, 12, true},
	} {
		t.Run(name, func(t *testing.T) {
			inAGroupOf(t, c.partitions, func(t *testing.T, w *world) { codeThatEndsNodes(t, w, c.partitions, c.most, c.homeDies) })
		})
	}
}

func codeThatEndsNodes(t *testing.T, w *world, partitions, most int, homeDies bool) {
	const runs = 100
	var dying atomic.Bool
	stride := activity.New("stride", func(_ context.Context, n int) (int, error) { return n + 1, nil })
	version := func(old bool) workflow.Workflow[int, int] {
		return workflow.New("order", func(wf *workflow.Context, n int) (int, error) {
			if old {
				if _, err := workflow.Call(wf, stride, n); err != nil {
					return 0, err
				}
			}
			if _, err := workflow.Receive(wf, proceed); err != nil {
				return 0, err
			}
			if old && n < 0 {
				dying.Store(true)
				//perdure:deterministic the process dies meanwhile
				time.Sleep(5 * time.Second)
			}
			return n, nil
		})
	}
	older, newer := version(true), version(false)
	a := w.versionNode("old-0", "1", older, stride)
	for i := range runs {
		begin(t, a, older, fmt.Sprintf("run-%d", i), i)
	}
	begin(t, a, older, "poison", -1)
	pass(time.Second)
	home := w.versionNode("home", "2", newer, stride)
	pass(time.Minute)
	stop(t, a)
	pass(10 * time.Second) // all partitions are those of the new version
	a = w.versionNode("old-1", "1", older, stride)
	pass(2 * time.Second)
	wantAll(t, home, "running", "run-%d", runs)
	signal(t, home, "poison", "proceed", "", "now")
	deaths := 0
	for range 600 {
		pass(100 * time.Millisecond)
		if dying.Swap(false) {
			if deaths++; deaths > most {
				t.Fatalf("%d nodes died: %s", deaths, describe(t, home, "poison").Reason)
			}
			w.kill(a)
			if homeDies && deaths%2 == 0 {
				w.kill(home)
				home = w.versionNode("home", "2", newer, stride)
			}
			pass(15 * time.Second)
			dying.Store(false)
			a = w.versionNode(fmt.Sprint("old-", deaths+1), "1", older, stride)
		}
		if describe(t, home, "poison").Status == "parked" && strings.Contains(describe(t, home, "poison").Reason, "ended its process 3 times in a row") {
			break
		}
	}
	d := describe(t, home, "poison")
	if d.Status != "parked" || !strings.Contains(d.Reason, "ended its process 3 times in a row") {
		t.Errorf("after %d deaths it is %s: %s", deaths, d.Status, d.Reason)
	}
	t.Logf("%d nodes died", deaths)
	wantAll(t, home, "running", "run-%d", runs)
	for i := range runs {
		signal(t, home, fmt.Sprintf("run-%d", i), "proceed", "", "now")
	}
	pass(10 * time.Second)
	wantAll(t, home, "completed", "run-%d", runs)
	// Its node leaves, and another one of its version comes: it is not tried again.
	stop(t, a)
	pass(10 * time.Second)
	d = describe(t, home, "poison")
	if d.Status != "parked" || !strings.Contains(d.Reason, "ended its process 3 times in a row") {
		t.Errorf("at home it is %s: %s", d.Status, d.Reason)
	}
	w.versionNode("old-last", "1", older, stride)
	pass(10 * time.Second)
	if dying.Load() {
		t.Error("it was tried again")
	}
	pass(time.Minute)
	// A partition that is handed over during trials keeps its book for the owner after a death.
	if rows, err := engine.Standing(home); err != nil || partitions == 1 && len(rows) > 0 {
		t.Errorf("books are left: %v, %v", rows, err)
	}
	if err := home.Terminate(t.Context(), "poison", "", request.By{Why: "enough"}); err != nil {
		t.Error(err)
	}
	pass(time.Second)
	if d := describe(t, home, "poison"); d.Status != "terminated" || dying.Load() {
		t.Errorf("it is %s", d.Status)
	}
}
