package engine_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/store"
)

// onDisk are the shapes whose crash points are enumerated on the databases on each push: as
// few as write in every way in which any shape writes.
var onDisk = []string{
	"cancel-in-backoff", "timeout-of-a-chain", "terminated", "attributes", "external", "paused-activity", "paused-run",
	"reset-ended", "children-awaited", "pinned-and-moved", "step-transactions", "gate-forgotten", "updates", "gate-edited",
}

// TestShapesOnDiskWriteInEveryWay: what any shape asks of the store at a write, one of those
// that are played on the databases asks too: each verb, each part of a turn, each state of a
// run and of a call.
func TestShapesOnDiskWriteInEveryWay(t *testing.T) {
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

// waysOf plays a shape without faults and returns how it wrote.
func waysOf(t *testing.T, s shape) map[string]bool {
	t.Helper()
	stage := newStage(t, settings[0], s)
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) { stage.play(t, env, s) }, stage.options...)
	return stage.book.ways
}

// writes notes in which ways a turn writes: the parts that it has, and the states of its run
// and of its calls.
func (b *book) writes(turn *store.Turn) {
	parts := reflect.ValueOf(turn).Elem()
	for i := range parts.NumField() {
		if !parts.Field(i).IsZero() {
			b.ways["a turn with "+parts.Type().Field(i).Name] = true
		}
	}
	if turn.Create != nil {
		b.ways[fmt.Sprintf("a run that begins %s", turn.Create.Status)] = true
	}
	if turn.State != nil {
		b.ways[fmt.Sprintf("a run that becomes %s", turn.State.Status)] = true
	}
	for _, c := range turn.Calls {
		b.ways[fmt.Sprintf("a call that becomes %s", c.State)] = true
	}
}
