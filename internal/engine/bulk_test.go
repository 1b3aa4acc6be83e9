package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// TestE60_Bulk: many runs in one request; a dry run counts and does nothing; the
// same request again does nothing twice; only what the filter passes is touched.
func TestE60_Bulk(t *testing.T) {
	extent.Unwatched(t, "it is about a number")
	needsQueries.inBothModes(t, func(t *testing.T, w *world) {
		const runs = 230 // more than two batches
		f := newFragile(slowRetry)
		other := workflow.New("other", func(wf *workflow.Context, n int) (string, error) {
			return workflow.Call(wf, f.activity, n, activity.Retry(slowRetry))
		})
		e := w.start(f.flow, f.activity, other)
		for n := range runs {
			begin(t, e, f.flow, fmt.Sprintf("x-%d", n), n)
		}
		begin(t, e, other, "y", 1)
		pass(time.Minute)
		in := core.Control{ID: "b1", Operation: core.RetryNow, By: "ann", Reason: "the gateway is back", Calls: core.Selection{States: []string{"backoff"}}}
		filter := view.Filter{Workflow: "flow", IDPrefix: "x-"}
		all := func(dry bool) view.BulkResult {
			t.Helper()
			r, err := e.ControlAll(t.Context(), filter, in, dry)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		if r := all(true); r.Runs != runs || r.Calls != runs || r.Applied != 0 || !r.DryRun || r.Records[0].Note != "backoff" {
			t.Errorf("dry: %+v", r)
		}
		same(t, "a dry run does nothing", f.ran.Load(), runs+1)
		f.broken.Store(false)
		if r := all(false); r.Runs != runs || r.Applied != runs || len(r.Records) != runs || r.Request != "b1" {
			t.Errorf("%d runs, %d applied, %d records", r.Runs, r.Applied, len(r.Records))
		}
		pass(time.Second)
		same(t, "ran", f.ran.Load(), 2*runs+1)
		if r := all(false); r.Runs != 0 || r.Applied != 0 {
			t.Errorf("again: %+v", r)
		}
		same(t, "the other one", onlyCall(t, e, "y").Failures, 1)
		in = core.Control{ID: "b2", Operation: core.PauseCall}
		filter = view.Filter{}
		if r := all(false); r.Runs != 1 || r.Applied != 1 {
			t.Errorf("without a selection: %+v", r)
		}
		if r := all(false); r.Runs != 1 || r.Applied != 1 {
			t.Errorf("the same answer again: %+v", r)
		}
		audit, err := e.Audit(t.Context(), "y", "")
		if err != nil || len(audit) != 1 {
			t.Errorf("audit: %+v, %v", audit, err)
		}
	})
}

// TestE60_BulkUnanswered: without an owner the requests stand, and that is said.
func TestE60_BulkUnanswered(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		f := newFragile(slowRetry)
		e := w.start(f.flow, f.activity)
		for n := range 3 {
			begin(t, e, f.flow, fmt.Sprint(n), n)
		}
		pass(time.Minute)
		w.kill(e)
		client := w.open(w.config())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		in := core.Control{ID: "b", Operation: core.RetryNow}
		r, err := client.ControlAll(ctx, view.Filter{}, in, false)
		if !errors.Is(err, request.ErrNoAnswer) || r.Unanswered != 3 || r.Calls != 3 {
			t.Errorf("%+v, %v", r, err)
		}
		stop(t, client)
		f.broken.Store(false)
		e = w.start(f.flow, f.activity)
		pass(time.Minute)
		same(t, "ran", f.ran.Load(), 6)
		if r, err := e.ControlAll(t.Context(), view.Filter{Status: []string{string(store.Completed)}}, in, false); err != nil || r.Calls != 0 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// TestE60_BulkBeforeACursor touches what a listing from there shows, as its dry run says, and no run
// that is newer because its chain went on.
func TestE60_BulkBeforeACursor(t *testing.T) {
	needsQueries.inBothModes(t, func(t *testing.T, w *world) {
		var chain workflow.Workflow[int, int]
		chain = workflow.New("chain", func(wf *workflow.Context, n int) (int, error) {
			if n > 0 {
				return n, workflow.Sleep(wf, 48*time.Hour)
			}
			if _, err := workflow.Receive(wf, proceed); err != nil {
				return 0, err
			}
			return workflow.ContinueAsNew(wf, chain, n+1)
		})
		e := w.start(chain)
		begin(t, e, chain, "goes on", 0)
		pass(time.Second)
		begin(t, e, chain, "before", 1)
		pass(time.Second)
		begin(t, e, chain, "goes on, too", 0)
		pass(time.Second)
		cursor := begin(t, e, chain, "at", 1)
		pass(time.Second)
		signal(t, e, "goes on", "proceed", "", "now")
		signal(t, e, "goes on, too", "proceed", "", "now")
		pass(time.Second)
		in := core.Control{Operation: core.CancelTheRun, By: "ann", Reason: "enough"}
		for _, dry := range []bool{true, false} {
			r, err := e.ControlAll(t.Context(), view.Filter{Before: cursor}, in, dry)
			if err != nil || r.Runs != 1 {
				t.Errorf("dry: %t: %d runs, %v", dry, r.Runs, err)
			}
		}
		pass(time.Second)
		for id, want := range map[string]string{"before": "canceled", "goes on": "running", "goes on, too": "running", "at": "running"} {
			if d := describe(t, e, id); string(d.Status) != want {
				t.Errorf("%s is %s, want %s", id, d.Status, want)
			}
		}
	})
}
