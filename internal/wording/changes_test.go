package wording

import (
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/view"
)

// TestF11_ChangesAreSaid: who died and who stopped, builds side by side, runs that moved, what is
// on trial, and who did what.
func TestF11_ChangesAreSaid(t *testing.T) {
	now := time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	s := &view.Status{Counts: view.Counts{Away: 3}, Changes: view.Changes{
		Nodes: []view.NodeChange{
			{Name: "web-1", Died: 77, Last: ago(40 * time.Second), Live: true}, {Name: "web-2", Died: 1, Last: ago(2 * time.Minute)},
			{Name: "web-3", Died: 1, Left: 2, Last: ago(3 * time.Minute), Live: true}, {Name: "gpu", Worker: true, Left: 1, Last: ago(4 * time.Minute)},
		},
		MoreNodes: 1, Forgotten: true, Joined: 2,
		Builds: []view.ServingBuild{{Build: "41", Nodes: 2, Since: ago(9 * time.Hour)}, {Build: "42", Nodes: 1, Since: ago(12 * time.Minute)}},
		Suspects: []view.Suspect{
			{Activity: "charge", Count: 2, WorkflowID: "order-17", Call: 3, Deaths: 1, Workflow: "order"}, {Workflow: "order", Count: 1, WorkflowID: "order-18"},
		},
		Operations: []view.AuditRecord{
			{Time: ago(time.Minute), Kind: "activity", Name: "charge", Operation: "pause", By: "zoe", Why: "the bank is down", Outcome: view.Applied},
			{Time: ago(2 * time.Minute), Kind: "gate", Name: "door", Operation: "probe", Outcome: view.Refused},
		},
		MoreOperations: 4,
	}}
	want := []string{
		"web-1 died 77 times, last 40s ago; it is back.",
		"web-2 died 2m00s ago; it is not back.",
		"web-3 died, and stopped 2 times, last 3m00s ago; it is back.",
		"The worker gpu stopped 4m00s ago.",
		"1 other node ended too.",
		"More may have died: the database remembers no process that ended earlier.",
		"2 nodes of other names joined.",
		"2 builds have served side by side for 12m00s: 41 (2 nodes), 42 (1 node).",
		"3 workflows are served by other nodes than those of their partitions, because their code fits there.",
		"On trial, because processes died meanwhile: 2 calls of charge (order-17, call 3, alone at 1 death).",
		"On trial, because processes died meanwhile: the code of 1 workflow order (order-18).",
		"Pause of activity charge 1m00s ago by zoe: the bank is down.",
		"Probe of gate door 2m00s ago (refused).",
		"4 earlier operations.",
	}
	if got := Changes(s, now); !slices.Equal(got, want) {
		for _, line := range got {
			t.Log(line)
		}
		t.Error("these are the changes")
	}
	if got := Changes(&view.Status{Changes: view.Changes{Joined: 4, Builds: s.Changes.Builds[:1]}}, now); got != nil {
		t.Errorf("without changes: %q", got)
	}
}
