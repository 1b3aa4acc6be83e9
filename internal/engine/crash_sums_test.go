package engine_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

// judgeSums holds what is added up over attempts and calls against the single ones
// (E22): whatever was lost on the way, nothing counts twice or not at all.
func judgeSums(t *testing.T, e *perdure.Engine, id, run string, attempts []view.Attempt) {
	t.Helper()
	want := map[int64]view.CallAttempts{}
	for _, a := range attempts {
		c := want[a.Call]
		if a.Outcome == "refused" { // it is no attempt
			want[a.Call] = c
			continue
		}
		switch c.Attempts++; a.Outcome {
		case "completed":
			c.Completed++
		case "failed":
			c.Failed++
		case "timed-out":
			c.TimedOut++
		case "lost":
			c.Lost++
		case "drained":
			c.Drained++
		case "canceled":
			c.Canceled++
		}
		if a.Started != nil {
			c.Run += a.Ended.Sub(*a.Started)
		}
		c.Backoff += a.Delay
		want[a.Call] = c
	}
	calls, err := e.Workflow(id).OfRun(run).Calls(t.Context())
	if err != nil || len(calls) != len(want) {
		t.Errorf("There are %d calls with attempts, want %d: %v", len(calls), len(want), err)
	}
	for _, c := range calls {
		got := view.CallAttempts{
			Attempts: c.Attempts, Completed: c.Completed, Failed: c.Failed, TimedOut: c.TimedOut, Lost: c.Lost, Drained: c.Drained,
			Canceled: c.Canceled, Run: c.Run, Backoff: c.Backoff,
		}
		if got != want[c.Call] {
			t.Errorf("The sums of call %d are\n%+v\nand its attempts come to\n%+v", c.Call, got, want[c.Call])
		}
	}
}

// judgeStats does so over all runs of the chain.
func judgeStats(t *testing.T, e *perdure.Engine, attempts int, histories [][]view.Event) {
	t.Helper()
	scheduled, completed, runs := 0, 0, view.WorkflowStats{Started: len(histories)}
	for _, events := range histories {
		made := map[int64]bool{}
		for _, ev := range events {
			switch history.Kind(ev.Kind) {
			case history.ActivityScheduled, history.StepScheduled:
				scheduled++
				made[ev.Call] = true
			case history.CallCompleted:
				if made[ev.Call] {
					completed++
				}
			case history.RunCompleted:
				runs.Completed++
			case history.RunFailed, history.RunTimedOut:
				runs.Failed++
			case history.RunCanceled, history.RunTerminated:
				runs.Canceled++
			}
		}
	}
	stats, err := ops.ActivityStats(t.Context(), e, time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	var sum view.ActivityStats
	for _, s := range stats {
		if s.Name == core.BlockName {
			continue // no attempt of a call
		}
		sum.Calls += s.Calls
		sum.FirstTry += s.FirstTry
		sum.Recovered += s.Recovered
		sum.ByHand += s.ByHand
		sum.Attempts += s.Attempts
	}
	good := sum.FirstTry + sum.Recovered
	if sum.Calls != int64(scheduled) || sum.Attempts != int64(attempts) || good > int64(completed) || good+sum.ByHand < int64(completed) {
		t.Errorf("Counted are %+v; the history has %d calls, of which %d completed, with %d attempts.", sum, scheduled, completed, attempts)
	}
	workflows, err := ops.WorkflowStats(t.Context(), e, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range workflows {
		w := &workflows[i]
		runs.Started, runs.Completed, runs.Failed, runs.Canceled = runs.Started-w.Started, runs.Completed-w.Completed, runs.Failed-w.Failed, runs.Canceled-w.Canceled
	}
	if runs.Started != 0 || runs.Completed != 0 || runs.Failed != 0 || runs.Canceled != 0 {
		t.Errorf("The histories are those of %d runs; so much more or less than in these is counted: %+v", len(histories), runs)
	}
}
