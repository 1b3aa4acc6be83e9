package inspect

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/roomtest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"pgregory.net/rapid"
)

// TestF12_AWorkflowSaysHowItsRunsGo: the open runs are counted whenever they began; what began or
// ended, and how long it took, is that of the hours; the builds are those of live nodes of the group.
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
	hour := now.Add(-2 * time.Hour).UnixNano()
	lately := []counted{
		{Tally: store.Tally{TallyKey: store.TallyKey{Bucket: hour, Type: "a.flow"}, Started: 1}},
		{Tally: store.Tally{TallyKey: store.TallyKey{Bucket: hour, Type: "pay"}, Started: 27, FirstTry: 18, Failed: 2}, took: took{{core.Within(1000 * time.Millisecond), 1}, {core.Within(1500 * time.Millisecond), 9}, {core.Within(2000 * time.Millisecond), 10}}},
		{Tally: store.Tally{TallyKey: store.TallyKey{Bucket: hour + int64(time.Hour), Type: "pay"}, FirstTry: 2, Canceled: 2}},
	}
	for i := range open {
		all.addOpen(&open[i])
	}
	for i := range lately {
		all.addCounted(&lately[i])
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
	// The tenth is the last of nine, the nineteenth the ninth of ten.
	if p.Median != 1500*time.Millisecond || p.P95 != 2*time.Second || !p.Latest.Equal(now.Add(-2*time.Hour)) {
		t.Errorf("the times are %v, %v, %v", p.Median, p.P95, p.Latest)
	}
}

// TestF12_WorkflowsOfTheDatabase: what was started before the span counts if it is open, and only
// then.
func TestF12_WorkflowsOfTheDatabase(t *testing.T) {
	s, in := scene(t)
	s.Must(s.DB.Join(t.Context(), store.Node{ID: "n", Name: "n", Group: s.Group.Name, Lease: time.Hour, Build: "b"}))
	s.Define("pay", charges())
	s.Define("flow", charges())
	s.Begin("pay", "old")
	s.Pass(2 * time.Hour)
	since := s.Time()
	s.Begin("pay", "new")
	s.Begin("flow", "file", func(start *history.Start) { start.Attributes = map[string]string{view.FileAttribute: "night.flow"} })
	stats, err := in.WorkflowStats(t.Context(), since)
	s.Must(err)
	if len(stats) != 2 || stats[0].Workflow != "night.flow" || stats[1].Workflow != "pay" {
		t.Fatalf("the workflows are %+v", stats)
	}
	if p := stats[1]; p.Open != 2 || p.Started != 1 || p.AtLeast || !p.Latest.Equal(since) {
		t.Errorf("the counts are %+v", p)
	}
}

// TestF12_HoursSayWhatBeganAndEnded: of all workflows, of one, and of the calls of an activity.
func TestF12_HoursSayWhatBeganAndEnded(t *testing.T) {
	s, in := scene(t)
	s.Define("pay", charges())
	s.Define("ship", charges())
	ended := s.Begin("pay", "ended")
	s.Begin("pay", "open")
	s.Begin("ship", "other").Step(core.Control{Operation: core.TerminateTheRun})
	s.Pass(2*time.Hour + 10*time.Second)
	ended.Completes(1, 1)
	hours := func(f view.HourFilter) []view.HourStats {
		f.Since, f.Until = roomtest.Began, s.Time()
		stats, err := in.HourStats(t.Context(), f)
		s.Must(err)
		if len(stats) != 3 || !stats[2].Hour.Equal(roomtest.Began.Add(2*time.Hour)) || stats[1] != (view.HourStats{Hour: roomtest.Began.Add(time.Hour)}) {
			t.Fatalf("the hours are %+v", stats)
		}
		return stats
	}
	about := func(d time.Duration) bool { return d > 4*time.Hour/3 && d < 3*time.Hour }
	all := hours(view.HourFilter{})
	if h := all[0]; h.Started != 3 || h.Canceled != 1 || h.Completed+h.Failed != 0 || h.Median != 0 {
		t.Errorf("the first hour is %+v", h)
	}
	if h := all[2]; h.Started != 0 || h.Completed != 1 || h.Attempts != 1 || !about(h.Median) || h.P95 != h.Median {
		t.Errorf("the last hour is %+v", h)
	}
	if h := hours(view.HourFilter{Workflow: "ship"}); h[0].Started != 1 || h[0].Canceled != 1 || h[2].Completed+h[2].Attempts != 0 {
		t.Errorf("of one workflow: %+v", h)
	}
	if h := hours(view.HourFilter{Activity: "charge"}); h[0].Started != 0 || h[2].Completed != 1 || h[2].Attempts != 1 || !about(h[2].P95) {
		t.Errorf("of an activity: %+v", h)
	}
	for _, bad := range []view.HourFilter{{}, {Until: s.Time()}, {Since: s.Time(), Until: roomtest.Began}, {Since: roomtest.Began, Until: roomtest.Began.Add(32 * 24 * time.Hour)}} {
		if _, err := in.HourStats(t.Context(), bad); !errors.As(err, new(*history.InputError)) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// TestF12_PercentilesOfClasses are within the class of the rank, in the order of the times.
func TestF12_PercentilesOfClasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Int64Range(0, int64(100*24*time.Hour)), 1, 200).Draw(t, "times")
		var classes took
		for _, d := range all {
			classes = append(classes, classed{core.Within(time.Duration(d)), 1})
		}
		slices.Sort(all)
		last := time.Duration(0)
		for _, percent := range []int64{1, 50, 95, 100} {
			got, true := classes.percentile(percent), time.Duration(all[(int64(len(all))*percent+99)/100-1])
			if end := core.Within(true); got < core.WithinFrom(end) || got > end || got < last {
				t.Fatalf("%d %%: %s, and the true time is %s", percent, got, true)
			}
			last = got
		}
	})
}
