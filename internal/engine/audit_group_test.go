package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/view"
)

// TestF13_OneAuditTellsEverything: what was done to runs and activities is told together,
// latest first; what a reset took over is told once; the bounds say what they left out.
func TestF13_OneAuditTellsEverything(t *testing.T) {
	needsQueries.inBothModes(t, func(t *testing.T, w *world) {
		f := newTried()
		tries := f.threeTries()
		e := w.start(tries, f.activity)
		began := time.Now()
		begin(t, e, tries, "old", "o")
		settle()
		f.setBroken("4", true)
		begin(t, e, tries, "x", "a")
		settle()
		if _, err := e.Control(t.Context(), "x", "", core.Control{Operation: core.PauseTheRun, ID: "p", By: "ann", Reason: "look"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if _, err := e.Control(t.Context(), "x", "", core.Control{Operation: core.ResumeTheRun, ID: "q", By: "bob"}); err != nil {
			t.Fatal(err)
		}
		signal(t, e, "x", "number", "s", 7)
		settle()
		f.setBroken("4", false)
		time.Sleep(time.Second)
		reset(t, e, "x", core.Control{ID: "r", Call: 4, By: "ann", Reason: "mended"})
		settle()
		time.Sleep(time.Second)
		if _, err := e.SwitchActivity(t.Context(), "try", true, "w", request.By{Who: "eve", Why: "enough"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if _, err := e.Control(t.Context(), "old", "", core.Control{Operation: core.PauseTheRun, ID: "z", By: "eve"}); err != nil {
			t.Fatal(err)
		}
		told := func(filter view.AuditFilter) (string, *view.Audit) {
			t.Helper()
			a, err := e.AuditGroup(t.Context(), filter)
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, r := range a.Records {
				all = append(all, r.Kind+" "+r.Name+" "+r.Operation+" by "+r.By+" "+r.Why)
			}
			if !slices.IsSortedFunc(a.Records, func(x, y view.AuditRecord) int { return y.Time.Compare(x.Time) }) {
				t.Errorf("not latest first: %+v", a.Records)
			}
			return strings.Join(all, "\n"), a
		}
		all, a := told(view.AuditFilter{})
		same(t, "audit", all, "workflow old pause-run by eve \nactivity try pause by eve enough\nworkflow x reset by ann mended\n"+
			"workflow x resume-run by bob \nworkflow x pause-run by ann look")
		if a.More || a.Unread || a.Runs != 3 {
			t.Errorf("more %t, unread %t, %d runs read", a.More, a.Unread, a.Runs)
		}
		latest, a := told(view.AuditFilter{Limit: 2})
		same(t, "the latest two", latest, "workflow old pause-run by eve \nactivity try pause by eve enough")
		if !a.More {
			t.Error("a limit that cut is not told")
		}
		same(t, "as many as there are", func() bool { _, a := told(view.AuditFilter{Limit: 5}); return a.More }(), false)
		newest, a := told(view.AuditFilter{Runs: 1})
		same(t, "the newest run", newest, "activity try pause by eve enough\nworkflow x reset by ann mended")
		if !a.Unread || a.Runs != 1 {
			t.Errorf("runs that were not read are not told: %+v", a)
		}
		earlier, _ := told(view.AuditFilter{Before: a.Searched})
		same(t, "the runs before", earlier, "workflow old pause-run by eve \nworkflow x resume-run by bob \nworkflow x pause-run by ann look")
		same(t, "as many runs as there are", func() bool { _, a := told(view.AuditFilter{Runs: 3}); return a.Unread }(), false)
		early, _ := told(view.AuditFilter{Until: a.Records[1].Time})
		same(t, "before the reset", early, "workflow x resume-run by bob \nworkflow x pause-run by ann look")
		late, _ := told(view.AuditFilter{Since: a.Records[1].Time})
		same(t, "since the reset", late, "workflow old pause-run by eve \nactivity try pause by eve enough\nworkflow x reset by ann mended")
		none, _ := told(view.AuditFilter{Until: began})
		same(t, "before all", none, "")
		if _, err := e.AuditGroup(t.Context(), view.AuditFilter{Runs: -1}); err == nil {
			t.Error("a negative number of runs is accepted")
		}
	})
}
