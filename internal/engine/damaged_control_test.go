package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/view"
)

// TestI24_OperationsOnADamagedRunAreRefused, on many runs and on the one, without a deadline:
// before the engine has found the damage and after. The others take the operation, in the
// batches that follow, too, and what ends the damaged run is carried out.
func TestI24_OperationsOnADamagedRunAreRefused(t *testing.T) {
	extent.Unwatched(t, "it varies what is on record")
	operations := []core.Control{
		{Operation: core.PauseTheRun}, {Operation: core.ResumeTheRun}, {Operation: core.SignalTheRun, Signal: "hello"},
		{Operation: core.RetryNow}, {Operation: core.PauseCall, Calls: core.Selection{States: []string{"backoff"}}}, {Operation: core.CancelTheRun},
	}
	for _, known := range []bool{false, true} {
		for i, in := range operations {
			if testing.Short() && known != (i%2 == 1) {
				continue
			}
			t.Run(fmt.Sprintf("%s, known %t", in.Operation, known), func(t *testing.T) {
				inVirtualTime(t, func(t *testing.T, w *world) {
					in := in         // of this setting, beside which others are played
					const runs = 130 // more than a batch
					v := vandalise(w)
					f := newFragile(slowRetry)
					e := w.start(f.flow, f.activity)
					for n := range runs {
						begin(t, e, f.flow, fmt.Sprintf("x-%d", n), n)
					}
					pass(time.Minute)
					bad := describe(t, e, "x-120").RunID // in the first batch: the newest come first
					stop(t, e)
					v.turnOf(bad, 1, func([]byte) []byte { return []byte("?") })
					e = w.start(f.flow, f.activity)
					if known {
						signal(t, e, "x-120", "nudge", "", 0) // loads it
						pass(time.Second)
						damagedRun(t, e, "x-120", "turn 1 is damaged")
					}
					in.ID, in.By = "bulk", "ann"
					wants := func(r view.ControlRecord) {
						t.Helper()
						for _, part := range []string{bad, `"x-120"`, "damaged: ", "turn 1 is damaged", "restore it from a backup", "ops.ResetRun", "ops.TerminateRun"} {
							if !strings.Contains(r.Note, part) {
								t.Errorf("%q is not in: %s", part, r.Note)
							}
						}
						if r.Outcome != view.Refused || r.RunID != bad || r.WorkflowID != "x-120" {
							t.Errorf("%+v", r)
						}
					}
					refusals := func(r view.BulkResult) {
						t.Helper()
						if r.Refused != 1 || r.Runs != runs || r.Unanswered != 0 {
							t.Errorf("%d runs, %d refused, %d unanswered", r.Runs, r.Refused, r.Unanswered)
						}
						at := slices.IndexFunc(r.Records, func(r view.ControlRecord) bool { return r.Outcome == view.Refused })
						if at < 0 {
							t.Fatal("no record says that it is refused")
						}
						wants(r.Records[at])
					}
					dry, err := e.ControlAll(t.Context(), view.Filter{}, in, true)
					if err != nil {
						t.Fatal(err)
					}
					if known {
						refusals(dry)
					}
					got, err := e.ControlAll(t.Context(), view.Filter{}, in, false)
					if err != nil {
						t.Fatal(err)
					}
					refusals(got)
					if others := got.Applied + got.Unchanged; others != runs-1 {
						t.Errorf("%d others answered, want %d: %+v", others, runs-1, got)
					}
					in.ID = "single"
					var refused *request.RefusedError
					records, err := e.Control(t.Context(), "x-120", "", in)
					if !errors.As(err, &refused) || len(records) != 1 {
						t.Fatalf("alone: %+v, %v", records, err)
					}
					wants(refused.Record)
					if text := string(in.Operation) + " is refused: run "; !strings.HasPrefix(err.Error(), text) {
						t.Errorf("it begins with %q: %v", text, err)
					}
					if _, err := e.Preview(t.Context(), "x-120", in); !errors.As(err, &refused) {
						t.Errorf("preview: %v", err)
					}
					if _, err := e.Control(t.Context(), "x-120", "", core.Control{ID: "end", Operation: core.TerminateTheRun, By: "ann"}); err != nil {
						t.Errorf("terminate: %v", err)
					}
				})
			})
		}
	}
}
