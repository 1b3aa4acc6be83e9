package inspect

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/roomtest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// TestE61_FindByCalls: runs are found by what their calls wait for and by the error of the latest
// attempt, and a page goes on where the one before ended, whatever has begun meanwhile.
func TestE61_FindByCalls(t *testing.T) {
	s, in := scene(t)
	s.Define("fails", charges(roomtest.Seconds(5)))
	s.Define("pauses", charges(roomtest.Retry(retry.Policy{MaxAttempts: 1, OnExhausted: retry.Pause})))
	s.Define("crashes", charges(roomtest.Retry(retry.Policy{CrashLimit: 1})))
	s.Define("queue", charges(roomtest.In("gpu")))
	begin := func(workflow, id string) *roomtest.Run {
		s.Pass(10 * time.Millisecond)
		return s.Begin(workflow, id)
	}
	begin("crashes", "q").Step(core.TakenOver{})
	begin("fails", "a").Fails(1, "Busy", "no")
	begin("pauses", "b").Fails(1, "Declined", "no")
	begin("fails", "c").Fails(1, "Busy", "no")
	begin("queue", "d")
	s.Admit = noSlot
	begin("fails", "e")
	s.Admit = nil
	begin("fails", "runs")
	for want, f := range map[string]view.Filter{
		"c a": {Call: view.CallBackoff}, "b": {Call: view.CallPaused}, "q": {Call: view.CallQuarantined}, "d": {Call: view.CallOffered}, "e": {Call: view.CallQueued},
		"b ": {ErrorType: "Declined"}, "c a ": {ErrorType: "Busy"}, "": {Call: view.CallGated}, "runs e c a": {Workflow: "fails"},
	} {
		runs, err := in.List(t.Context(), f)
		var ids []string
		for _, r := range runs {
			ids = append(ids, r.WorkflowID)
		}
		if got := strings.Join(ids, " "); err != nil || got != strings.TrimSpace(want) {
			t.Errorf("%+v finds %q, %v; want %q", f, got, err, want)
		}
	}
	first, err := in.List(t.Context(), view.Filter{Limit: 3})
	if err != nil || len(first) != 3 {
		t.Fatal(first, err)
	}
	begin("fails", "later")
	rest, err := in.List(t.Context(), view.Filter{Before: first[2].RunID})
	if err != nil || len(rest) != 4 || rest[0].WorkflowID != "c" {
		t.Errorf("the next page is %+v, %v", rest, err)
	}
}

// TestF13_OneAuditTellsEverything: what was done to runs and activities is told together, latest
// first, what a reset took over is told once, and the bounds say what they left out.
func TestF13_OneAuditTellsEverything(t *testing.T) {
	s, in := scene(t)
	s.Define("order", func(w *roomtest.Work) (any, error) {
		_ = w.Call("reserve", roomtest.Seconds(3))
		return nil, w.Call("charge", roomtest.Seconds(3))
	})
	old := s.Begin("order", "old")
	s.Pass(time.Second)
	x := s.Begin("order", "x")
	x.Completes(1, 1)
	x.Asks(core.Control{Operation: core.PauseTheRun, ID: "p", By: "ann", Reason: "look"})
	s.Pass(time.Second)
	x.Asks(core.Control{Operation: core.ResumeTheRun, ID: "q", By: "bob"})
	s.Pass(time.Second)
	x.Asks(core.Control{Operation: core.ResetTheRun, ID: "r", Call: 2, By: "ann", Reason: "mended"})
	s.Pass(time.Second)
	_, err := s.DB.Switch(t.Context(), store.Switch{Kind: store.SwitchActivity, Name: "charge", Off: true, Request: "w", By: "eve", Why: "enough"})
	s.Must(err)
	s.Pass(time.Second)
	old.Asks(core.Control{Operation: core.PauseTheRun, ID: "z", By: "eve"})
	told := func(f view.AuditFilter) (lines []string, a *view.Audit) {
		t.Helper()
		a, err := in.AuditGroup(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range a.Records {
			lines = append(lines, strings.TrimSpace(r.Kind+" "+r.Name+" "+r.Operation+" by "+r.By+" "+r.Why))
		}
		return lines, a
	}
	all := []string{
		"workflow old pause-run by eve", "activity charge pause by eve enough", "workflow x reset by ann mended",
		"workflow x resume-run by bob", "workflow x pause-run by ann look",
	}
	got, a := told(view.AuditFilter{})
	if fmt.Sprint(got) != fmt.Sprint(all) || a.More || a.Unread || a.Runs != 3 {
		t.Fatalf("it tells %q, more %v, unread %v, of %d runs", got, a.More, a.Unread, a.Runs)
	}
	reset := a.Records[2].Time
	for name, c := range map[string]struct {
		f            view.AuditFilter
		want         []string
		more, unread bool
	}{
		"the latest two":           {view.AuditFilter{Limit: 2}, all[:2], true, false},
		"as many as there are":     {view.AuditFilter{Limit: 5}, all, false, false},
		"the newest run":           {view.AuditFilter{Runs: 1}, all[1:2], false, true},
		"as many runs":             {view.AuditFilter{Runs: 3}, all, false, false},
		"the runs before":          {view.AuditFilter{Before: s.Latest("x").ID}, []string{all[0], all[2], all[3], all[4]}, false, false},
		"before the reset":         {view.AuditFilter{Until: reset}, all[3:], false, false},
		"since the reset":          {view.AuditFilter{Since: reset}, all[:3], false, false},
		"before everything":        {view.AuditFilter{Until: roomtest.Began}, nil, false, false},
		"of a run that has closed": {view.AuditFilter{Since: reset.Add(time.Second), Until: reset.Add(2 * time.Second)}, all[1:2], false, false},
	} {
		got, a := told(c.f)
		if fmt.Sprint(got) != fmt.Sprint(c.want) || a.More != c.more || a.Unread != c.unread {
			t.Errorf("%s: %q, more %v, unread %v; want %q", name, got, a.More, a.Unread, c.want)
		}
	}
}
