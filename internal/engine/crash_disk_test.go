package engine_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/store"
)

// onDisk are the shapes that are struck on the databases on each push: as few as write in every
// way in which any shape writes. Each way is struck where it comes first.
var onDisk = []string{
	"cancel-in-backoff", "timeout-of-a-chain", "terminated", "attributes", "external", "paused-activity", "paused-run",
	"reset-ended", "children-awaited", "pinned-and-moved", "step-transactions", "gate-forgotten", "updates", "gate-edited", "gate-key-breaker",
}

// TestShapesOnDiskWriteInEveryWay: what any shape asks of the store at a write, one of those
// that are played on the databases asks too: each verb, each part of a turn, each state of a
// run and of a call.
func TestShapesOnDiskWriteInEveryWay(t *testing.T) {
	extent.Unwatched(t, "it is about the shapes")
	all, disk := map[string][]string{}, map[string]bool{}
	for _, s := range shapes {
		for way := range waysOf(t, s) {
			all[way] = append(all[way], s.name)
			disk[way] = disk[way] || slices.Contains(onDisk, s.name)
		}
	}
	for _, way := range slices.Sorted(maps.Keys(all)) {
		if !disk[way] {
			t.Errorf("no shape on disk writes %s; these do: %q", way, all[way])
		}
	}
	if len(all) < 40 {
		t.Errorf("there are only %d ways: %q", len(all), slices.Sorted(maps.Keys(all)))
	}
}

// strikesOnDisk are the writes, by shape, at which something happens on the databases.
func strikesOnDisk(t *testing.T) map[string][]int {
	t.Helper()
	seen, strikes := map[string]bool{}, map[string][]int{}
	for _, s := range shapes {
		if !slices.Contains(onDisk, s.name) {
			continue
		}
		for way, write := range waysOf(t, s) {
			if !seen[way] && !slices.Contains(strikes[s.name], write) {
				strikes[s.name] = append(strikes[s.name], write)
			}
			seen[way] = true
		}
		slices.Sort(strikes[s.name])
	}
	return strikes
}

// waysOf plays a shape without faults and returns how it wrote, and at which write first.
func waysOf(t *testing.T, s shape) map[string]int {
	t.Helper()
	stage := newStage(t, everywhere[0], s)
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) { stage.play(t, env, s) }, stage.options...)
	return stage.book.ways
}

// wrote notes a way in which the store was written to.
func (b *book) wrote(way string) {
	if _, known := b.ways[way]; !known {
		b.ways[way] = b.writeNumber()
	}
}

// writes notes in which ways a turn writes: the parts that it has, and the states of its run
// and of its calls.
func (b *book) writes(turn *store.Turn) {
	parts := reflect.ValueOf(turn).Elem()
	for i := range parts.NumField() {
		if !parts.Field(i).IsZero() {
			b.wrote("a turn with " + parts.Type().Field(i).Name)
		}
	}
	if turn.Create != nil {
		b.wrote(fmt.Sprintf("a run that begins %s", turn.Create.Status))
	}
	if turn.State != nil {
		b.wrote(fmt.Sprintf("a run that becomes %s", turn.State.Status))
	}
	for _, c := range turn.Calls {
		b.wrote(fmt.Sprintf("a call that becomes %s", c.State))
	}
}
