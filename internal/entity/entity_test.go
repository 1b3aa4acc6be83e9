package entity

import (
	"testing"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

func TestKindsAndNamesAreReadFromIDs(t *testing.T) {
	g := store.Group{Name: "workers", First: 256, Partitions: 256}
	for _, kind := range []Kind{Gate, Schedule} {
		for _, name := range []string{"payments", "a/b", ""} {
			s := Find(g, kind, name)
			if KindOf(s.Run) != kind || KindOf(s.WorkflowID) != kind {
				t.Errorf("run %q or workflow ID %q is not that of a %s", s.Run, s.WorkflowID, kind)
			}
			if got := NameOf(s.Run); got != name {
				t.Errorf("run %q has the name %q, not %q", s.Run, got, name)
			}
			if s.Partition < g.First || s.Partition >= g.First+g.Partitions {
				t.Errorf("%q is in partition %d, which is not in %+v", s.WorkflowID, s.Partition, g)
			}
			if history.CheckWorkflowID(s.WorkflowID) == nil {
				t.Errorf("a run may have the workflow ID %q", s.WorkflowID)
			}
		}
	}
	for _, id := range []string{"order-17", "0198-0000", "gate/payments", "#gates/x"} {
		if KindOf(id) != Run {
			t.Errorf("%q is that of a %s", id, KindOf(id))
		}
	}
}

// The IDs and places below are in databases that exist.
func TestPlacesAndNamesNeverChange(t *testing.T) {
	g := store.Group{Partitions: 256}
	for id, want := range map[string]int{"order-17": 238, "": 37, "#gate/payments": 197, "#schedule/nightly": 141} {
		if got := Place(g, id); got != want {
			t.Errorf("%q is in partition %d, was in %d", id, got, want)
		}
	}
	if s := Find(g, Gate, "payments"); s.Run != "#gate/0/payments" || s.WorkflowID != "#gate/payments" || s.Kind.Type() != "#gate" {
		t.Errorf("the gate is %+v", s)
	}
	if s := Find(g, Schedule, "nightly"); s.Run != "#schedule/0/nightly" || s.WorkflowID != "#schedule/nightly" || s.Kind.Type() != "#schedule" {
		t.Errorf("the schedule is %+v", s)
	}
}
