package inspect

import (
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// TestF12_AWorkflowSaysHowItsRunsGo: the open runs are counted whenever they began, the others if
// they began lately; the times are those of the runs that completed; the builds are those of
// live nodes of the group.
func TestF12_AWorkflowSaysHowItsRunsGo(t *testing.T) {
	now, minute := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC), time.Minute
	run := func(name, status string, ago, took time.Duration) view.Run {
		r := view.Run{Workflow: name, Status: status, Created: now.Add(-ago)}
		if !slices.Contains(openStatuses, status) {
			end := r.Created.Add(took)
			r.Closed = &end
		}
		return r
	}
	all := workflowSums{}
	all.addNodes([]view.Node{
		{Group: "g", State: view.NodeLive, Build: "b2", Workflows: []view.Definition{{Name: "pay", Version: "2"}, {Name: "idle"}}},
		{Group: "g", State: view.NodeLive, Build: "b1", Workflows: []view.Definition{{Name: "pay"}}},
		{Group: "g", State: view.NodeLive, Build: "b1", Workflows: []view.Definition{{Name: "pay"}}},
		{Group: "g", State: view.NodeExpired, Build: "b0", Workflows: []view.Definition{{Name: "pay"}, {Name: "gone"}}},
		{Group: "other", State: view.NodeLive, Build: "b1", Workflows: []view.Definition{{Name: "theirs"}}},
	}, "g")
	open := []view.Run{run("pay", view.StatusRunning, 100*time.Hour, 0), run("pay", view.StatusParked, minute, 0), run("pay", view.StatusPaused, minute, 0), run("a.flow", view.StatusWaitingForCode, minute, 0)}
	lately := append(slices.Clone(open[1:]),
		run("pay", view.StatusFailed, 5*minute, minute), run("pay", view.StatusTimedOut, 6*minute, minute), run("pay", view.StatusCanceled, minute, 0), run("pay", view.StatusTerminated, minute, 0),
		run("pay", view.StatusContinued, minute, 0))
	for i := range 20 {
		lately = append(lately, run("pay", view.StatusCompleted, time.Hour, time.Duration(20-i)*time.Second))
	}
	for i := range open {
		all.addOpen(&open[i])
	}
	for i := range lately {
		all.addLately(&lately[i])
	}
	stats := all.stats(true)
	if len(stats) != 3 || stats[0].Workflow != "a.flow" || stats[1].Workflow != "idle" || stats[2].Workflow != "pay" {
		t.Fatalf("the workflows are %+v", stats)
	}
	if f := stats[0]; f.Open != 1 || f.Held != 1 || f.Started != 1 || f.Builds != nil {
		t.Errorf("of the flow file: %+v", f)
	}
	if w := stats[1]; w.Started+w.Open != 0 || w.Latest != nil || w.Median != 0 || w.P95 != 0 || len(w.Builds) != 1 {
		t.Errorf("of what has no run: %+v", w)
	}
	p := stats[2]
	if want := []view.WorkflowBuild{{Build: "b1", Nodes: 2}, {Build: "b2", Version: "2", Nodes: 1}}; !slices.Equal(p.Builds, want) {
		t.Errorf("the builds are %+v", p.Builds)
	}
	if p.Open != 3 || p.Held != 1 || p.Started != 27 || p.Completed != 20 || p.Failed != 2 || p.Canceled != 2 || !p.AtLeast {
		t.Errorf("the counts are %+v", p)
	}
	if p.Median != 10*time.Second || p.P95 != 19*time.Second || !p.Latest.Equal(now.Add(-minute)) {
		t.Errorf("the times are %v, %v, %v", p.Median, p.P95, p.Latest)
	}
}

// TestF12_WorkflowsOfTheDatabase: what was started before the span counts if it is open, and only
// then.
func TestF12_WorkflowsOfTheDatabase(t *testing.T) {
	s, in := scene(t)
	s.Must(s.DB.Join(t.Context(), store.Node{ID: "n", Name: "n", Group: s.Group.Name, Lease: time.Hour, Build: "b"}))
	s.Create("pay", "old")
	s.Pass(2 * time.Hour)
	since := s.Time()
	s.Create("pay", "new")
	s.Create("flow", "file", func(start *history.Start) { start.Attributes = map[string]string{view.FileAttribute: "night.flow"} })
	stats, err := in.WorkflowStats(t.Context(), since)
	s.Must(err)
	if len(stats) != 2 || stats[0].Workflow != "night.flow" || stats[1].Workflow != "pay" {
		t.Fatalf("the workflows are %+v", stats)
	}
	if p := stats[1]; p.Open != 2 || p.Started != 1 || p.AtLeast || !p.Latest.Equal(since) {
		t.Errorf("the counts are %+v", p)
	}
}
