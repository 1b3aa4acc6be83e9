package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	when "github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// chores is what the runs of a schedule have done: an independent book.
type chores struct {
	mu   sync.Mutex
	done map[string]int // by workflow ID: how often their code came to its end
}

// chore is a workflow that takes its time, in days of 24 hours, and says when it was
// to begin.
func (c *chores) chore(takes time.Duration) workflow.Workflow[string, string] {
	return workflow.New("chore", func(wf *workflow.Context, in string) (string, error) {
		info := workflow.GetInfo(wf)
		if err := workflow.Sleep(wf, takes); err != nil {
			return "", err
		}
		if in == "fail" {
			return "", errors.New("it is too much")
		}
		_, err := workflow.Do(wf, "note", func(context.Context) (int, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.done[info.WorkflowID]++
			return 0, nil
		})
		if err != nil {
			return "", err
		}
		return info.Schedule + " at " + info.Nominal.Format("15:04"), nil
	}, workflow.Version("1"))
}

func newChores() *chores { return &chores{done: map[string]int{}} }

// set makes a schedule of chores.
func set(t *testing.T, e *engine.Engine, name, in string, spec when.Spec) {
	t.Helper()
	input, err := history.Encode(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.SetSchedule(t.Context(), name, spec, request.Start{Type: "chore", Input: input}); err != nil {
		t.Fatal(err)
	}
}

func describeSchedule(t *testing.T, e *engine.Engine, name string) *view.Schedule {
	t.Helper()
	s, err := e.DescribeSchedule(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// runsOf lists the runs of a schedule, oldest first: the nominal time of each and its
// status. Two of one workflow ID are a fault.
func runsOf(t *testing.T, e *engine.Engine, name string) (runs []string) {
	t.Helper()
	list, err := e.List(t.Context(), view.Filter{IDPrefix: name + "/", Limit: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, r := range list {
		if seen[r.WorkflowID] {
			t.Errorf("%s was started twice", r.WorkflowID)
		}
		seen[r.WorkflowID] = true
		runs = append(runs, strings.TrimPrefix(r.WorkflowID, name+"/")+" "+r.Status)
	}
	slices.Sort(runs)
	return runs
}

// hours are nominal times after the beginning of virtual time, with a status.
func hours(status string, at ...int) (want []string) {
	for _, n := range at {
		want = append(want, time.Date(2000, 1, 1, n, 0, 0, 0, time.UTC).Format(time.RFC3339)+" "+status)
	}
	return want
}

func expectRuns(t *testing.T, e *engine.Engine, name string, want ...[]string) {
	t.Helper()
	all := slices.Concat(want...)
	slices.Sort(all)
	if got := runsOf(t, e, name); !slices.Equal(got, all) {
		t.Errorf("%s has started %q, want %q", name, got, all)
	}
}

// TestE49_ScheduleFires: a schedule that any process makes fires on the node that
// serves it, each nominal time once, whoever lives; each fire, its run and what came
// of it can be seen.
func TestE49_ScheduleFires(t *testing.T) {
	needsQueries.inBothModes(t, func(t *testing.T, w *world) {
		book := newChores()
		e, all := askers(t, w, book.chore(10*time.Minute))
		from := all[len(all)-1]
		set(t, from, "s", "x", when.Spec{Cron: "0 * * * *"})
		if d := describeSchedule(t, from, "s"); len(d.Next) != 5 || d.Next[0].Nominal.Hour() != 1 || d.Workflow != "chore" || d.Spec.CatchUp != when.DefaultCatchUp {
			t.Errorf("before the first fire it is %+v", d)
		}
		pass(3*time.Hour + 5*time.Minute)
		expectRuns(t, e, "s", hours("completed", 1, 2), hours("running", 3))
		set(t, e, "s", "x", when.Spec{Cron: "0 * * * *"}) // as it is
		settle()
		d := describeSchedule(t, from, "s")
		if len(d.Open) != 1 || d.Open[0].Nominal.Hour() != 3 || len(d.Recent) != 2 || d.Recent[0].Status != "completed" || d.Recent[0].Nominal.Hour() != 2 || d.Started != 3 {
			t.Errorf("after three it is %+v", d)
		}
		run := describe(t, from, d.Open[0].WorkflowID)
		if run.RunID != d.Open[0].RunID || run.Schedule == nil || run.Schedule.Name != "s" || run.Schedule.Nominal.Hour() != 3 || run.Parent != nil {
			t.Errorf("its run is %+v", run)
		}
		pass(10 * time.Minute)
		stop(t, e)
		pass(6 * time.Hour)
		e = w.start(book.chore(10 * time.Minute))
		if !w.in.shared {
			from = e
		}
		pass(time.Hour)
		// The first that was missed runs, the others would overlap with it.
		expectRuns(t, e, "s", hours("completed", 1, 2, 3, 4, 10))
		if d := describeSchedule(t, e, "s"); d.Skipped != 5 || d.Missed != 0 {
			t.Errorf("skipped are %d, missed %d", d.Skipped, d.Missed)
		}
		if got, err := finish[string](t, e, "s/2000-01-01T02:00:00Z"); got != "s at 02:00" || err != nil {
			t.Errorf("the code was told %q, %v", got, err)
		}
		list, err := from.Schedules(t.Context())
		if err != nil || len(list) != 1 || list[0].Name != "s" {
			t.Errorf("listed are %+v, %v", list, err)
		}
		gates, err := from.Gates(t.Context())
		if err != nil || len(gates) != 0 {
			t.Errorf("gates are %+v, %v", gates, err)
		}
		for id, n := range book.done {
			if n != 1 {
				t.Errorf("%s has run %d times", id, n)
			}
		}
	})
}

// TestE49_ScheduleByHand: whoever wants it pauses a schedule, resumes, triggers,
// fills back and deletes it, from any process.
func TestE49_ScheduleByHand(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		book := newChores()
		e, all := askers(t, w, book.chore(time.Minute))
		from := all[len(all)-1]
		ctx := t.Context()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			settle()
		}
		for _, err := range []error{
			from.PauseSchedule(ctx, "s", true, request.By{}), from.DeleteSchedule(ctx, "s", request.By{}),
			func() error { _, err := from.TriggerSchedule(ctx, "s", "", request.By{}); return err }(),
			func() error {
				_, err := from.BackfillSchedule(ctx, "s", time.Now(), time.Now(), "", request.By{})
				return err
			}(),
		} {
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("of a schedule that there is not: %v", err)
			}
		}
		set(t, from, "s", "x", when.Spec{Every: time.Hour})
		must(from.PauseSchedule(ctx, "s", true, request.By{Who: "Ada", Why: "too much"}))
		pass(2*time.Hour + 30*time.Minute)
		if d := describeSchedule(t, from, "s"); d.Paused == nil || d.Paused.By != "Ada" || d.Paused.Why != "too much" || len(d.Next) != 0 {
			t.Errorf("paused it is %+v", d)
		}
		id, err := from.TriggerSchedule(ctx, "s", "", request.By{Who: "Bob", Why: "now"})
		must(err)
		if r := describe(t, e, id); r.Status != "running" || r.Schedule == nil {
			t.Errorf("triggered is %+v", r)
		}
		pass(5 * time.Minute)
		if f := describeSchedule(t, from, "s").Recent; len(f) != 1 || f[0].Kind != "trigger" || f[0].By != "Bob" || f[0].Status != "completed" {
			t.Errorf("on record is %+v", f)
		}
		must(from.PauseSchedule(ctx, "s", false, request.By{}))
		pass(time.Hour)
		begin := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		n, err := from.BackfillSchedule(ctx, "s", begin.Add(time.Hour), begin.Add(3*time.Hour), "", request.By{})
		must(err)
		if n != 3 {
			t.Errorf("filled back are %d", n)
		}
		pass(10 * time.Minute)
		trigger := strings.TrimPrefix(id, "s/") + " completed"
		expectRuns(t, e, "s", hours("completed", 1, 2, 3), []string{trigger})
		if f := describeSchedule(t, from, "s").Recent; f[0].Status != "id-in-use" || f[0].Error == "" {
			t.Errorf("what was fired before is on record as %+v", f[0])
		}
		for _, test := range []struct{ from, until time.Duration }{{time.Hour, 100 * time.Hour}, {90 * time.Minute, 100 * time.Minute}, {-2000 * time.Hour, 0}} {
			if _, err := from.BackfillSchedule(ctx, "s", begin.Add(test.from), begin.Add(test.until), "", request.By{}); err == nil {
				t.Errorf("a range from %s to %s was taken", test.from, test.until)
			}
		}
		must(from.DeleteSchedule(ctx, "s", request.By{}))
		if _, err := from.DescribeSchedule(ctx, "s"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("deleted it is there: %v", err)
		}
		pass(2 * time.Hour)
		expectRuns(t, e, "s", hours("completed", 1, 2, 3), []string{trigger})
		set(t, from, "s", "x", when.Spec{Every: time.Hour})
		pass(time.Hour)
		if runs := runsOf(t, e, "s"); len(runs) != 5 {
			t.Errorf("made anew it has started %q", runs)
		}
	})
}

// TestE49_OverlapOfABackfill: what fills back does with overlapping fires as it is told,
// whatever the schedule does else.
func TestE49_OverlapOfABackfill(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		e := w.start(newChores().chore(10 * time.Minute))
		begin := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		set(t, e, "s", "x", when.Spec{Every: time.Hour, Overlap: when.Skip})
		if err := e.PauseSchedule(t.Context(), "s", true, request.By{}); err != nil {
			t.Fatal(err)
		}
		pass(5 * time.Hour)
		for _, c := range []struct {
			from, until int
			overlap     when.Overlap
			running     int
		}{{1, 2, when.AllowAll, 2}, {3, 4, when.Skip, 1}} {
			at := func(n int) time.Time { return begin.Add(time.Duration(n) * time.Hour) }
			if _, err := e.BackfillSchedule(t.Context(), "s", at(c.from), at(c.until), c.overlap, request.By{}); err != nil {
				t.Fatal(err)
			}
			pass(time.Minute)
			same(t, string(c.overlap), len(describeSchedule(t, e, "s").Open), c.running)
			pass(time.Hour)
		}
	})
}

// TestE49_RetriedRunsOfASchedule: a run that is retried is open until the last of its
// chain has ended; the schedule sees how.
func TestE49_RetriedRunsOfASchedule(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		e := w.start(newChores().chore(10 * time.Minute))
		input, _ := history.Encode("fail")
		policy := retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(30 * time.Minute), Jitter: retry.NoJitter}
		err := e.SetSchedule(t.Context(), "s", when.Spec{Every: time.Hour}, request.Start{Type: "chore", Input: input, Settings: history.Settings{Retry: &policy}})
		if err != nil {
			t.Fatal(err)
		}
		pass(2*time.Hour + 20*time.Minute)
		d := describeSchedule(t, e, "s")
		if len(d.Open) != 1 || d.Open[0].Nominal.Hour() != 1 || d.Skipped != 1 {
			t.Errorf("while it is retried the schedule is %+v", d)
		}
		run := describe(t, e, "s/2000-01-01T01:00:00Z")
		if len(run.Chain) != 3 || run.Chain[0].Initiator != "schedule" || run.Chain[1].Initiator != "retry" || run.Schedule == nil {
			t.Errorf("the run is %+v", run)
		}
		pass(20 * time.Minute)
		d = describeSchedule(t, e, "s")
		if len(d.Recent) != 1 || d.Recent[0].Status != "failed" || !strings.Contains(d.Recent[0].Error, "it is too much") {
			t.Errorf("it ended as %+v", d.Recent)
		}
	})
}

// TestE49_SchedulesOverNodes: schedules are shared among nodes as runs are; one that
// dies is taken over from, and nothing is lost or fired twice.
func TestE49_SchedulesOverNodes(t *testing.T) {
	needsFencing.inAGroup(t, func(t *testing.T, w *world) {
		book := newChores()
		one, two := w.node("one", book.chore(10*time.Second)), w.node("two", book.chore(10*time.Second))
		const many = 8
		for i := range many {
			set(t, one, fmt.Sprint("s", i), "x", when.Spec{Cron: "* * * * *", Overlap: when.BufferAll})
		}
		pass(2*time.Minute + 5*time.Second)
		w.kill(one)
		pass(4 * time.Minute)
		three := w.node("three", book.chore(10*time.Second))
		pass(2 * time.Minute)
		stop(t, two)
		pass(30 * time.Second)
		for i := range many {
			expectRuns(t, three, fmt.Sprint("s", i), minutes("completed", 8))
		}
		for id, n := range book.done {
			if n != 1 {
				t.Errorf("%s has run %d times", id, n)
			}
		}
	})
}

// minutes are the first n nominal times of a schedule for each minute, with a status.
func minutes(status string, n int) (want []string) {
	for i := range n {
		want = append(want, time.Date(2000, 1, 1, 0, i+1, 0, 0, time.UTC).Format(time.RFC3339)+" "+status)
	}
	return want
}

// TestF39_ABackfillUnderAKeyHasOneAnswer: the key brings back what it has done, not what the
// range or the schedule would come to now.
func TestF39_ABackfillUnderAKeyHasOneAnswer(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		_, all := askers(t, w, newChores().chore(time.Minute))
		e := all[len(all)-1]
		set(t, e, "s", "x", when.Spec{Every: time.Hour})
		pass(10*time.Hour + time.Minute)
		begin := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		fill := func(from, until time.Duration) int {
			t.Helper()
			n, err := e.BackfillSchedule(t.Context(), "s", begin.Add(from), begin.Add(until), "", request.By{Request: "k"})
			if err != nil {
				t.Error(err)
			}
			settle()
			return n
		}
		if n := fill(2*time.Hour, 3*time.Hour); n != 2 {
			t.Fatalf("%d times", n)
		}
		if n := fill(2*time.Hour, 7*time.Hour); n != 2 {
			t.Errorf("another range under the key is said to have fired %d times", n)
		}
		set(t, e, "s", "x", when.Spec{Every: 24 * time.Hour})
		settle()
		if n := fill(2*time.Hour, 3*time.Hour); n != 2 {
			t.Errorf("after the schedule was changed it is said to have fired %d times", n)
		}
	})
}
