package core

import (
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// backingOff is a run whose call failed at 10 and is due at 1010, with attempts on record
// 20 ahead of that, and 200 if they need no slot until then.
func backingOff(t *testing.T, moving *bool, start StartCall) *Run {
	t.Helper()
	r := New(Config{Ahead: 20, Early: 200, Unslotted: func() bool { return *moving }, Near: int64(time.Hour)},
		history.Start{WorkflowID: "w", Run: "r"})
	start.Kind, start.Name = history.ActivityScheduled, "work"
	start.Policy = &retry.Policy{Backoff: retry.Fixed(1000), Jitter: retry.NoJitter}
	r.Bind(&oneCall{run: r, start: start})
	stepped(t, r, 1)
	if start.Queue != "" {
		stepped(t, r, 2, Claimed{AttemptRef: AttemptRef{Call: 1, Attempt: 1}, Worker: "w", At: 2})
	}
	stepped(t, r, 10, AttemptEnded{Call: 1, Attempt: 1, Outcome: Failed, Failure: history.FromError(errors.New("down")), Ended: 10})
	return r
}

// TestE147_EarlyOnlyIfSlotsMove: an attempt is on record early if it needs no slot until
// its time, and else shortly before that; it starts at its time.
func TestE147_EarlyOnlyIfSlotsMove(t *testing.T) {
	moving := true
	r := backingOff(t, &moving, StartCall{})
	if due := r.NextDue(); due != 810 {
		t.Errorf("it is looked at at %d, want 810", due)
	}
	out := stepped(t, r, 810)
	if len(out.Dispatch) != 1 || out.Dispatch[0].Attempt != 2 || out.Dispatch[0].Started != 1010 {
		t.Errorf("these start: %+v", out.Dispatch)
	}
	moving = false
	r = backingOff(t, &moving, StartCall{})
	if out := stepped(t, r, 810); !out.Empty() || r.NextDue() != 990 {
		t.Errorf("while calls wait for slots it does %+v, and is looked at at %d", out, r.NextDue())
	}
	if out := stepped(t, r, 990); len(out.Dispatch) != 1 || out.Dispatch[0].Started != 1010 {
		t.Errorf("these start: %+v", out.Dispatch)
	}
	moving = true
	r = backingOff(t, &moving, StartCall{Queue: "elsewhere"})
	if due := r.NextDue(); due != 990 {
		t.Errorf("one for a queue is looked at at %d", due)
	}
}

// TestE147_WhatNeverBeganHasItsNumber: an attempt that got no slot in time waits for one
// as the same attempt, and the ledger knows of it once; a slot that came late is when it
// started.
func TestE147_WhatNeverBeganHasItsNumber(t *testing.T) {
	moving := true
	r := backingOff(t, &moving, StartCall{})
	stepped(t, r, 810)
	out, err := r.Step(1110, []Input{AttemptEnded{Call: 1, Attempt: 2, Outcome: Drained, Unbegun: true, Ended: 1110}}, func(*Call) bool { return false })
	if err != nil || len(out.Attempts) != 0 || len(out.Rows) != 1 || out.Rows[0].State != Queued || out.Rows[0].Attempt != 2 {
		t.Fatalf("it does %+v, %v", out, err)
	}
	out = stepped(t, r, 1500, Granted{Call: 1})
	if len(out.Dispatch) != 1 || out.Dispatch[0].Attempt != 2 || out.Dispatch[0].Started != 1500 || out.Dispatch[0].Queued != 1010 {
		t.Fatalf("these start: %+v", out.Dispatch)
	}
	out = stepped(t, r, 1700, AttemptEnded{Call: 1, Attempt: 2, Outcome: Completed, Began: 1600, Ended: 1650})
	if len(out.Attempts) != 1 || out.Attempts[0].Started != 1600 || out.Attempts[0].Ended != 1650 {
		t.Errorf("the ledger is told %+v", out.Attempts)
	}
}

// TestE147_RetryNowShortlyBeforeItsTime: whoever asks for an attempt that is on record ahead of
// its time is told that it is about to begin, not that it runs.
func TestE147_RetryNowShortlyBeforeItsTime(t *testing.T) {
	for at, want := range map[int64]string{1009: "its next attempt is about to begin", 1010: "an attempt is running already"} {
		moving := true
		r := backingOff(t, &moving, StartCall{})
		stepped(t, r, 810)
		out := stepped(t, r, at, Control{ID: "now", Operation: RetryNow})
		if len(out.Events) != 1 || out.Events[0].Outcome != Unchanged || out.Events[0].Note != want {
			t.Errorf("at %d the answer is %+v, want %q", at, out.Events, want)
		}
	}
}

// TestU1_WhatIsAskedAboutIsOnRecordWhenItBegins: an attempt that would not simply be repeated if it
// was lost is not on record before it has a slot: it would be in doubt without having begun.
func TestU1_WhatIsAskedAboutIsOnRecordWhenItBegins(t *testing.T) {
	for policy, may := range map[*retry.Policy]bool{
		{}:                               true,
		{OnUnknown: retry.RepeatUnknown}: true,
		{OnUnknown: retry.FailUnknown}:   false,
		{OnUnknown: retry.PauseUnknown}:  false,
		{OnUnknown: retry.VerifyUnknown}: false,
		{CrashLimit: 1}:                  false,
		{Rules: []retry.Rule{{Types: []string{retry.TypeWorkerLost}, OnUnknown: retry.FailUnknown}}}: false,
	} {
		if c := (&Call{Policy: policy}); c.MayWaitOnRecord() != may {
			t.Errorf("%+v: it may wait on record: %t", *policy, !may)
		}
	}
}
