package core

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// TestE139_AnEndBeforeTheTimeoutIsDurable counts, however late it is: its worker is told
// that it is taken. After that it comes too late.
func TestE139_AnEndBeforeTheTimeoutIsDurable(t *testing.T) {
	for _, name := range []string{"before", "before, and it waits for a later step", "after"} {
		timedOut, waits := name == "after", strings.Contains(name, "waits")
		t.Run(name, func(t *testing.T) {
			r := New(Config{Near: int64(time.Hour)}, history.Start{WorkflowID: "w", Run: "r"})
			r.Bind(&oneCall{run: r, start: StartCall{
				Kind: history.ActivityScheduled, Name: "work", Queue: "q", Policy: &retry.Policy{MaxAttempts: 1, AttemptTimeout: 100},
			}})
			stepped(t, r, 1)
			ref := AttemptRef{Call: 1, Attempt: 1}
			stepped(t, r, 2, Claimed{AttemptRef: ref, Worker: "w", At: 2})
			if timedOut {
				stepped(t, r, 103)
			}
			end := AttemptEnded{Call: 1, Attempt: 1, Outcome: Completed, Ended: 105, Outside: true}
			if waits { // an operation is taken first, which has a step to itself
				out := stepped(t, r, 110, Control{ID: "c", Operation: ResetTheRun, Call: 9, Fault: errors.New("there is no such call")}, More{At: 106, Ends: []AttemptEnded{end}})
				if len(out.GivenUp) != 0 || len(out.Closed) != 0 {
					t.Fatalf("before the end is heard it does %+v", out)
				}
			}
			out := stepped(t, r, 110, end)
			completed := slices.ContainsFunc(out.Events, func(e history.Event) bool { return e.Kind == history.CallCompleted })
			switch {
			case timedOut && out.Dropped != 1:
				t.Errorf("%d ends came too late", out.Dropped)
			case !timedOut && (!completed || len(out.Over) != 1 || len(out.GivenUp) != 0):
				t.Errorf("it does %+v", out)
			}
		})
	}
}

// TestE121_WhatIsOfferedAndWithdrawnInOneTurn is not offered: stores write withdrawals first, so a
// worker would find the attempt of a call that has ended.
func TestE121_WhatIsOfferedAndWithdrawnInOneTurn(t *testing.T) {
	edit := Control{ID: "e", Operation: EditPolicy, Policy: &retry.Policy{MaxAttempts: 7, QueueTimeout: time.Hour}}
	cancel := Control{ID: "c", Operation: FailNow, Failure: history.FromError(errors.New("enough"))}
	for name, inputs := range map[string][]Input{"edited, and then ended": {edit, cancel}, "ended": {cancel}} {
		r := New(Config{}, history.Start{WorkflowID: "w", Run: "r"})
		r.Bind(&oneCall{run: r, start: StartCall{Kind: history.ActivityScheduled, Name: "work", Queue: "q", Policy: &retry.Policy{}}})
		if out := stepped(t, r, 1); len(out.Offered) != 1 {
			t.Fatalf("%s: at first %+v is offered", name, out.Offered)
		}
		out := stepped(t, r, 2, inputs...)
		if len(out.Withdrawn) != 1 || len(out.Offered) != 0 {
			t.Errorf("%s: %+v is withdrawn and %+v is offered", name, out.Withdrawn, out.Offered)
		}
	}
}

// TestE139_AFailureFromOutsideIsThatFailure, whatever the code would read as a result.
func TestE139_AFailureFromOutsideIsThatFailure(t *testing.T) {
	r := New(Config{}, history.Start{WorkflowID: "w", Run: "r"})
	one := &oneCall{run: r, start: StartCall{Kind: history.ActivityScheduled, Name: "work", Policy: &retry.Policy{MaxAttempts: 1}}}
	r.Bind(one)
	stepped(t, r, 1)
	one.call.Reader = choosy{}
	out := stepped(t, r, 2, AttemptEnded{Call: 1, Attempt: 1, Outcome: Failed, Failure: history.FromError(errors.New("refused")), Ended: 2, Outside: true})
	for _, ev := range out.Events {
		if ev.Kind == history.CallFailed && strings.Contains(ev.Failure.Err().Error(), "refused") {
			return
		}
	}
	t.Errorf("on record is %+v", out.Events)
}

// choosy reads no result.
type choosy struct{}

func (choosy) Read(history.Payload) error { return errors.New("that is no result") }
