package inspect

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/roomtest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// describe returns the description of the latest run of a workflow ID.
func describe(t *testing.T, in *Inspector, id string) *view.Description {
	t.Helper()
	d, err := in.Describe(t.Context(), id, "")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// isTime reports whether there is a time, and it is that one.
func isTime(at *time.Time, want time.Time) bool { return at != nil && at.Equal(want) }

// pendingCase is a call in a state, and what is to be shown of it.
type pendingCase struct {
	call func(w *roomtest.Work) *core.Call
	do   func(s *roomtest.Scene, r *roomtest.Run)
	want func(s *roomtest.Scene, c *view.Call) bool
}

var patient = roomtest.Retry(retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter, AttemptTimeout: time.Minute, Within: time.Hour})

func activityCall(options ...roomtest.Option) func(w *roomtest.Work) *core.Call {
	return func(w *roomtest.Work) *core.Call { return w.Start("charge", options...) }
}

var pendingCases = map[string]pendingCase{
	"running": {activityCall(patient), func(s *roomtest.Scene, r *roomtest.Run) {}, func(s *roomtest.Scene, c *view.Call) bool {
		return c.Kind == KindActivity && c.State == view.CallRunning && c.Attempt == 1 && c.Failures == 0 && c.Max == 3 && c.Node == roomtest.Node && isTime(c.Started, roomtest.Began) &&
			isTime(c.TimesOut, roomtest.Began.Add(time.Minute)) && isTime(c.Deadline, roomtest.Began.Add(time.Hour)) && c.Scheduled.Equal(roomtest.Began) && strings.Contains(c.Policy, "retry: 2") && c.Next == nil
	}},
	"running again": {activityCall(patient), func(s *roomtest.Scene, r *roomtest.Run) {
		r.Fails(1, "Busy", "not now")
		s.Pass(time.Second)
	}, func(s *roomtest.Scene, c *view.Call) bool {
		return c.State == view.CallRunning && c.Attempt == 2 && c.Failures == 1 && c.LastError == "not now" && c.LastErrorType == "Busy" && c.Node == roomtest.Node &&
			isTime(c.Started, roomtest.Began.Add(time.Second)) && isTime(c.TimesOut, roomtest.Began.Add(time.Minute+time.Second))
	}},
	"in backoff": {activityCall(patient), func(s *roomtest.Scene, r *roomtest.Run) {
		s.Pass(2 * time.Second)
		r.Fails(1, "CardDeclined", "no money")
	}, func(s *roomtest.Scene, c *view.Call) bool {
		return c.State == view.CallBackoff && c.Attempt == 2 && c.Failures == 1 && c.LastErrorType == "CardDeclined" && isTime(c.Next, roomtest.Began.Add(3*time.Second)) && c.Node == "" && c.Started == nil
	}},
	"with heartbeats": {activityCall(patient), func(s *roomtest.Scene, r *roomtest.Run) {
		s.Pass(time.Second)
		r.Step(core.Heartbeat{Call: 1, Attempt: 1, Details: roomtest.Payload(17), At: s.Now()})
	}, func(s *roomtest.Scene, c *view.Call) bool {
		return c.State == view.CallRunning && isTime(c.LastHeartbeat, roomtest.Began.Add(time.Second)) && c.Heartbeat != nil && c.Heartbeat.String() == "17"
	}},
	"completed from outside": {activityCall(patient), func(s *roomtest.Scene, r *roomtest.Run) {
		r.End(1, core.Pending, history.Payload{}, nil)
	}, func(s *roomtest.Scene, c *view.Call) bool {
		return c.State == view.CallExternal && c.Attempt == 1 && isTime(c.Started, roomtest.Began) && isTime(c.TimesOut, roomtest.Began.Add(time.Minute))
	}},
	"paused": {activityCall(patient), func(s *roomtest.Scene, r *roomtest.Run) {
		r.Fails(1, "Busy", "not now")
		s.Pass(time.Millisecond)
		r.Asks(core.Control{Operation: core.PauseCall, By: "ann", Reason: "look"})
	}, func(s *roomtest.Scene, c *view.Call) bool {
		return c.State == view.CallPaused && c.Attempt == 2 && c.Paused != nil && c.Paused.By == "ann" && c.Paused.Why == "look" && c.Paused.Since.Equal(s.Time())
	}},
	"paused by its policy": {activityCall(roomtest.Retry(retry.Policy{MaxAttempts: 1, OnExhausted: retry.Pause})), func(s *roomtest.Scene, r *roomtest.Run) {
		r.Fails(1, "Busy", "not now")
	}, func(s *roomtest.Scene, c *view.Call) bool {
		return c.State == view.CallPaused && c.Failures == 1 && c.Paused != nil && c.Paused.By == "" && c.Paused.Why == string(retry.ReasonMaxAttempts)
	}},
	"with an edited policy": {activityCall(patient), func(s *roomtest.Scene, r *roomtest.Run) {
		r.Asks(core.Control{Operation: core.EditPolicy, Policy: &retry.Policy{MaxAttempts: 9, Within: time.Minute}, By: "ann"})
	}, func(s *roomtest.Scene, c *view.Call) bool {
		return c.State == view.CallRunning && c.Max == 9 && isTime(c.Deadline, roomtest.Began.Add(time.Minute)) && c.TimesOut == nil
	}},
	"lost with its process": {activityCall(patient), func(s *roomtest.Scene, r *roomtest.Run) {
		r.Step(core.TakenOver{})
	}, func(s *roomtest.Scene, c *view.Call) bool {
		return c.Attempt == 2 && c.LostToCrashes == 1 && c.Failures == 0
	}},
	"offered in a queue": {activityCall(patient, roomtest.In("gpu")), func(s *roomtest.Scene, r *roomtest.Run) {}, func(s *roomtest.Scene, c *view.Call) bool {
		return c.State == view.CallOffered && c.Queue == "gpu" && isTime(c.Offered, roomtest.Began) && c.Unserved == "no process serves queue gpu"
	}},
	"claimed from a queue": {activityCall(patient, roomtest.In("gpu")), func(s *roomtest.Scene, r *roomtest.Run) {
		s.Pass(time.Second)
		r.Step(core.Claimed{AttemptRef: core.AttemptRef{Call: 1, Attempt: 1}, Worker: "worker-7", At: s.Now()})
	}, func(s *roomtest.Scene, c *view.Call) bool {
		return c.State == view.CallRunning && c.Node == "worker-7" && isTime(c.Started, roomtest.Began.Add(time.Second)) && isTime(c.TimesOut, roomtest.Began.Add(time.Minute+time.Second))
	}},
	"of a paused activity": {activityCall(patient), func(s *roomtest.Scene, r *roomtest.Run) {
		_, err := s.DB.Switch(s.Context(), store.Switch{Kind: store.SwitchActivity, Name: "charge", Off: true, Request: "1", By: "eve", Why: "enough"})
		s.Must(err)
	}, func(s *roomtest.Scene, c *view.Call) bool {
		return c.ActivityPaused != nil && c.ActivityPaused.By == "eve" && c.ActivityPaused.Why == "enough" && c.ActivityPaused.Since.Equal(roomtest.Began)
	}},
	"an inline step": {func(w *roomtest.Work) *core.Call {
		return w.StartCall(core.StartCall{Kind: history.StepScheduled, Name: "charge"})
	}, func(s *roomtest.Scene, r *roomtest.Run) {}, func(s *roomtest.Scene, c *view.Call) bool {
		return c.Kind == KindStep && c.State == view.CallRunning && c.Max == 5
	}},
	"a timer": {func(w *roomtest.Work) *core.Call { return w.StartTimer("charge", time.Hour) }, func(s *roomtest.Scene, r *roomtest.Run) {}, func(s *roomtest.Scene, c *view.Call) bool {
		return c.Kind == "timer" && c.State == view.CallWaiting && isTime(c.Next, roomtest.Began.Add(time.Hour)) && c.Attempt == 0 && c.Policy == ""
	}},
	"a signal": {func(w *roomtest.Work) *core.Call { return w.AwaitSignal("charge") }, func(s *roomtest.Scene, r *roomtest.Run) {}, func(s *roomtest.Scene, c *view.Call) bool {
		return c.Kind == "signal" && c.State == view.CallWaiting && c.Next == nil
	}},
}

// TestE23_ADescriptionShowsEachPendingCall: what it is, how often it was tried, its last error,
// when it goes on, until when it may, and who stopped it.
func TestE23_ADescriptionShowsEachPendingCall(t *testing.T) {
	for name, c := range pendingCases {
		t.Run(name, func(t *testing.T) {
			s, in := scene(t)
			s.Define("order", func(w *roomtest.Work) (any, error) { return nil, w.Wait(c.call(w)) })
			r := s.Begin("order", "order-17")
			c.do(s, r)
			d := describe(t, in, "order-17")
			if len(d.Pending) != 1 || d.Pending[0].Call != 1 || d.Pending[0].Name != "charge" {
				t.Fatalf("pending are %+v", d.Pending)
			}
			if !c.want(s, &d.Pending[0]) {
				text, _ := jsonOf(d.Pending[0])
				t.Errorf("it is shown as %s", text)
			}
		})
	}
}

// TestE23_AQueuedCallWaitsForItsSlot: and is not said to run.
func TestE23_AQueuedCallWaitsForItsSlot(t *testing.T) {
	s, in := scene(t)
	s.Admit = noSlot
	s.Define("order", func(w *roomtest.Work) (any, error) { return nil, w.Call("charge", patient) })
	r := s.Begin("order", "order-17")
	c := describe(t, in, "order-17").Pending[0]
	if c.State != view.CallQueued || c.Node != "" || c.Started != nil || c.TimesOut != nil {
		t.Errorf("it is %+v", c)
	}
	if attempts, err := in.Attempts(t.Context(), "order-17", "", view.AttemptRange{}); len(attempts) != 0 || err != nil {
		t.Errorf("it has the attempts %+v, %v", attempts, err)
	}
	s.Pass(time.Second)
	r.Step(core.Granted{Call: 1})
	if c := describe(t, in, "order-17").Pending[0]; c.State != view.CallRunning || !isTime(c.Started, s.Time()) {
		t.Errorf("with a slot it is %+v", c)
	}
}

// TestE90_ABlockInBackoffIsShownLikeACall: attempt, failures, last error, next time and policy.
func TestE90_ABlockInBackoffIsShownLikeACall(t *testing.T) {
	s, in := scene(t)
	policy := retry.Policy{MaxAttempts: 4, Backoff: retry.Fixed(time.Minute), Jitter: retry.NoJitter, Within: time.Hour}
	s.Define("order", func(w *roomtest.Work) (any, error) {
		block := w.StartBlock(&policy)
		failed := core.Try{
			Number: 1, Started: w.Now(), Failure: history.FromError(&roomtest.Error{Kind: "Busy", Text: "not now"}),
			Decision: retry.Decision{Retry: true, Delay: time.Minute, At: time.Unix(0, w.Now()).Add(time.Minute), Reason: retry.ReasonBackoff},
		}
		return nil, w.Wait(block.Backoff(failed))
	})
	s.Begin("order", "order-17")
	d := describe(t, in, "order-17")
	if len(d.Pending) != 1 {
		t.Fatalf("pending are %+v", d.Pending)
	}
	c := d.Pending[0]
	if c.Call != 1 || c.Kind != KindBlock || c.Name != core.BlockName || c.State != view.CallBackoff || c.Attempt != 2 || c.Failures != 1 || c.Max != 4 ||
		c.LastError != "not now" || c.LastErrorType != "Busy" || !isTime(c.Next, s.Time().Add(time.Minute)) || !isTime(c.Deadline, s.Time().Add(time.Hour)) {
		t.Errorf("the block is %+v", c)
	}
}

// TestE23_AGatedCallShowsItsPlace: at which gate, in which place, and what stops the gate.
func TestE23_AGatedCallShowsItsPlace(t *testing.T) {
	s, in := scene(t)
	door := spec.Spec{Name: "door", Limit: 1, Mode: spec.Rejoin, Breaker: spec.Breaker{Failures: 1, Cooldown: time.Hour, Wait: true}}
	s.Define("order", func(w *roomtest.Work) (any, error) { return nil, w.Call("charge", patient, roomtest.Through(door)) })
	first := s.Begin("order", "a")
	s.Serve()
	s.Pass(time.Second)
	s.Begin("order", "b")
	s.Begin("order", "c", func(start *history.Start) { start.Priority = 5 })
	s.Serve()
	for id, place := range map[string]int{"b": 2, "c": 1} {
		if c := describe(t, in, id).Pending[0]; c.State != view.CallGated || c.Gate == nil || c.Gate.Name != "door" || c.Gate.Place != place || c.Gate.Waiting != 2 || c.Gate.OpenUntil != nil {
			t.Errorf("%s: %+v", id, c.Gate)
		}
	}
	if c := describe(t, in, "a").Pending[0]; c.State != view.CallRunning || c.Gate != nil {
		t.Errorf("the one inside: %+v", c)
	}
	first.Fails(1, "Busy", "not now")
	s.Serve()
	if c := describe(t, in, "b").Pending[0]; c.Gate == nil || !isTime(c.Gate.OpenUntil, s.Time().Add(time.Hour)) {
		t.Errorf("at the open breaker: %+v", c.Gate)
	}
}

// TestE61_ADescriptionHasWhatTheRunWasStartedWith: and its limits, its deadlines and its end.
func TestE61_ADescriptionHasWhatTheRunWasStartedWith(t *testing.T) {
	s, in := scene(t)
	s.Define("order", func(w *roomtest.Work) (any, error) { return "shipped", w.Call("charge", roomtest.Seconds(1)) })
	settings := func(start *history.Start) {
		start.Input, start.Memo, start.Trace = roomtest.Payload(7), roomtest.Payload("for ann"), "00-trace"
		start.Headers, start.Attributes, start.Priority = map[string]string{"tenant": "9"}, map[string]string{"customer": "ann"}, 3
		start.RunTimeout, start.ChainDeadline, start.After = time.Minute, s.Now()+int64(time.Hour), "earlier"
	}
	good, bad := s.Begin("order", "good", settings), s.Begin("order", "bad", settings)
	d := describe(t, in, "good")
	if d.Input.String() != "7" || d.Memo.String() != `"for ann"` || d.Trace != "00-trace" || d.Headers["tenant"] != "9" || d.Attributes["customer"] != "ann" || d.Priority != 3 ||
		!isTime(d.RunDeadline, s.Time().Add(time.Minute)) || !isTime(d.ChainDeadline, s.Time().Add(time.Hour)) || d.After != "earlier" || d.Closed != nil || d.HistoryLength == 0 {
		t.Errorf("it is %+v", d)
	}
	s.Pass(time.Second)
	good.Completes(1, nil)
	bad.Fails(1, "Busy", "not now")
	d = describe(t, in, "good")
	if d.Status != view.StatusCompleted || d.Result == nil || d.Result.String() != `"shipped"` || d.Failure != nil || !isTime(d.Closed, s.Time()) || d.Error != "" {
		t.Errorf("completed it is %+v", d)
	}
	d = describe(t, in, "bad")
	if d.Status != view.StatusFailed || d.Result != nil || d.Failure == nil || d.Failure.Type != "Exhausted" || len(d.Failure.Causes) != 1 || d.Failure.Causes[0].Type+d.Failure.Causes[0].Name != "Busy" ||
		d.ErrorType != "Exhausted" || !strings.HasSuffix(d.Error, "not now") {
		t.Errorf("failed it is %+v, %+v", d, d.Failure)
	}
}

// TestE48_ADescriptionWarnsOfLimits: from four fifths of each on.
func TestE48_ADescriptionWarnsOfLimits(t *testing.T) {
	s, in := scene(t)
	in.limits = Limits{Events: 15, PendingCalls: 10, Signals: 5}
	s.Define("order", func(w *roomtest.Work) (any, error) {
		calls := make([]*core.Call, 8)
		for i := range calls {
			calls[i] = w.Start(fmt.Sprint("call-", i))
		}
		return nil, w.Wait(calls...)
	})
	r := s.Begin("order", "order-17")
	if d := describe(t, in, "order-17"); len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "8 pending calls; at 10,") {
		t.Errorf("with 8 calls: %q", d.Warnings)
	}
	for range 4 {
		r.Signals("paid", 1)
	}
	d := describe(t, in, "order-17")
	if len(d.Warnings) != 3 || !strings.Contains(d.Warnings[0], fmt.Sprintf("%d events", d.HistoryLength)) || !strings.Contains(d.Warnings[2], "4 unread signals; with 5,") {
		t.Errorf("with 4 signals: %q", d.Warnings)
	}
}

// TestE40_UpdatesWithoutAResultAreShown: oldest first, and no longer than that.
func TestE40_UpdatesWithoutAResultAreShown(t *testing.T) {
	s, in := scene(t)
	s.Define("account", func(w *roomtest.Work) (any, error) {
		w.TakeUpdates()
		w.Answer = func(name string, _ history.Payload) (any, error) {
			if name == "slow" {
				return nil, roomtest.ErrLater
			}
			return 1, nil
		}
		w.Until(func() bool { return false })
		return nil, nil
	})
	r := s.Begin("account", "a")
	for i, name := range []string{"slow", "quick", "slow"} {
		s.Pass(time.Second)
		r.Step(core.UpdateArrived{Name: name, ID: fmt.Sprint("u", i), Asker: fmt.Sprint("asker", i), Value: roomtest.Payload(1)})
	}
	d := describe(t, in, "a")
	if len(d.Updates) != 2 || d.Updates[0].ID != "u0" || d.Updates[1].ID != "u2" || d.Updates[0].Name != "slow" || !d.Updates[1].Accepted.Equal(s.Time()) {
		t.Errorf("open are %+v", d.Updates)
	}
}

// TestI22_WhatNamesNoRunIsRefused: by every verb on a run.
func TestI22_WhatNamesNoRunIsRefused(t *testing.T) {
	s, in := scene(t)
	verbs := map[string]func(id, run string) error{
		"Describe": func(id, run string) error { _, err := in.Describe(t.Context(), id, run); return err },
		"Overview": func(id, run string) error { _, err := in.Overview(t.Context(), id, run); return err },
		"Attempts": func(id, run string) error {
			_, err := in.Attempts(t.Context(), id, run, view.AttemptRange{})
			return err
		},
		"Calls":  func(id, run string) error { _, err := in.Calls(t.Context(), id, run, view.CallRange{}); return err },
		"Events": func(id, run string) error { _, err := in.Events(t.Context(), id, run, view.HistoryRange{}); return err },
		"Audit":  func(id, run string) error { _, err := in.Audit(t.Context(), id, run); return err },
		"Record": func(id, run string) error { _, err := in.Record(t.Context(), id, run); return err },
		"Why":    func(id, run string) error { _, err := in.Why(t.Context(), id, run); return err },
	}
	s.Define("order", func(w *roomtest.Work) (any, error) { return nil, w.Call("charge") })
	r := s.Begin("order", "order-17")
	for name, verb := range verbs {
		input := (*history.InputError)(nil)
		if err := verb("", ""); !errors.As(err, &input) {
			t.Errorf("%s of no workflow ID: %v", name, err)
		}
		if err := verb("#gate/door", ""); !errors.As(err, &input) {
			t.Errorf("%s of a gate: %v", name, err)
		}
		for _, of := range [][2]string{{"order-18", ""}, {"order-17", "0190"}, {"order-18", r.ID}} {
			if err := verb(of[0], of[1]); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s of run %q of %q: %v", name, of[1], of[0], err)
			}
		}
		if err := verb("order-17", r.ID); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestI22_PartsOutOfBoundsAreRefused: negative numbers, and pages that are too long.
func TestI22_PartsOutOfBoundsAreRefused(t *testing.T) {
	s, in := scene(t)
	s.Define("order", func(w *roomtest.Work) (any, error) { return nil, w.Call("charge") })
	s.Begin("order", "o")
	attempts := func(p view.AttemptRange) error { _, err := in.Attempts(t.Context(), "o", "", p); return err }
	events := func(p view.HistoryRange) error { _, err := in.Events(t.Context(), "o", "", p); return err }
	calls := func(p view.CallRange) error { _, err := in.Calls(t.Context(), "o", "", p); return err }
	ledger := func(f view.AttemptFilter) error { _, _, err := in.FindAttempts(t.Context(), f); return err }
	list := func(f view.Filter) error { _, err := in.List(t.Context(), f); return err }
	audit := func(f view.AuditFilter) error { _, err := in.AuditGroup(t.Context(), f); return err }
	doctor := func(f view.DoctorFilter) error { _, err := in.Doctor(t.Context(), f); return err }
	for i, err := range []error{
		attempts(view.AttemptRange{Call: -1}), attempts(view.AttemptRange{After: view.AttemptPlace{Call: -1}}), attempts(view.AttemptRange{After: view.AttemptPlace{Number: -1}}),
		attempts(view.AttemptRange{Limit: maxPage + 1}), attempts(view.AttemptRange{Limit: -1}),
		events(view.HistoryRange{Call: -1}), events(view.HistoryRange{After: view.Place{Turn: -1}}), events(view.HistoryRange{After: view.Place{Event: -1}}), events(view.HistoryRange{Limit: -1}),
		calls(view.CallRange{After: -1}), calls(view.CallRange{Limit: maxPage + 1}),
		ledger(view.AttemptFilter{Limit: -1}), ledger(view.AttemptFilter{MoreThan: -1}),
		list(view.Filter{Limit: -1}), list(view.Filter{Status: []string{"open"}}), list(view.Filter{Call: "running"}), list(view.Filter{Before: "order-17"}),
		audit(view.AuditFilter{Limit: -1}), audit(view.AuditFilter{Runs: maxPage + 1}), doctor(view.DoctorFilter{Limit: -1}),
	} {
		if input := (*history.InputError)(nil); !errors.As(err, &input) {
			t.Errorf("case %d: %v", i, err)
		}
	}
	for i, err := range []error{
		attempts(view.AttemptRange{Limit: maxPage}), events(view.HistoryRange{Limit: maxPage}), calls(view.CallRange{Limit: maxPage}), ledger(view.AttemptFilter{Limit: maxPage}),
		list(view.Filter{Limit: maxPage, Status: statuses}), audit(view.AuditFilter{Limit: maxPage, Runs: maxPage}), doctor(view.DoctorFilter{Limit: maxPage}),
	} {
		if err != nil {
			t.Errorf("within bounds, case %d: %v", i, err)
		}
	}
	if err := ledger(view.AttemptFilter{After: "x"}); err == nil || !strings.Contains(err.Error(), "is no place in a listing") {
		t.Errorf("a page after nothing: %v", err)
	}
	for _, state := range callStates {
		if err := list(view.Filter{Call: state}); err != nil {
			t.Errorf("by %s: %v", state, err)
		}
	}
}

// TestE64_AStoppedEngineReadsNothing: every verb says why.
func TestE64_AStoppedEngineReadsNothing(t *testing.T) {
	stopped := errors.New("stopped")
	in := Refusing(stopped)
	for name, verb := range map[string]func() error{
		"Describe":         func() error { _, err := in.Describe(t.Context(), "o", ""); return err },
		"List":             func() error { _, err := in.List(t.Context(), view.Filter{}); return err },
		"Search":           func() error { _, err := in.Search(t.Context(), view.Filter{}); return err },
		"Counts":           func() error { _, err := in.Counts(t.Context(), 0); return err },
		"Status":           func() error { _, err := in.Status(t.Context()); return err },
		"Nodes":            func() error { _, err := in.Nodes(t.Context()); return err },
		"Gates":            func() error { _, err := in.Gates(t.Context()); return err },
		"Gate":             func() error { _, err := in.Gate(t.Context(), "door"); return err },
		"Breakers":         func() error { _, _, err := in.Breakers(t.Context()); return err },
		"Schedules":        func() error { _, err := in.Schedules(t.Context()); return err },
		"DescribeSchedule": func() error { _, err := in.DescribeSchedule(t.Context(), "s"); return err },
		"Switches":         func() error { _, err := in.Switches(t.Context(), true); return err },
		"Canaries":         func() error { _, err := in.Canaries(t.Context()); return err },
		"CurrentCanary":    func() error { _, err := in.CurrentCanary(t.Context()); return err },
		"FindAttempts":     func() error { _, _, err := in.FindAttempts(t.Context(), view.AttemptFilter{}); return err },
		"FindCalls":        func() error { _, _, err := in.FindCalls(t.Context(), view.AttemptFilter{}); return err },
		"ErrorStats":       func() error { _, err := in.ErrorStats(t.Context(), view.AttemptFilter{}); return err },
		"ActivityStats":    func() error { _, err := in.ActivityStats(t.Context(), time.Time{}, time.Time{}); return err },
		"HourStats": func() error {
			_, err := in.HourStats(t.Context(), view.HourFilter{Since: roomtest.Began, Until: roomtest.Began})
			return err
		},
		"TryPolicy":  func() error { _, err := in.TryPolicy(t.Context(), retry.Policy{}, view.TrialFilter{}); return err },
		"AuditGroup": func() error { _, err := in.AuditGroup(t.Context(), view.AuditFilter{}); return err },
		"AuditGroup, a later page": func() error {
			_, err := in.AuditGroup(t.Context(), view.AuditFilter{Before: ident.NewRun(0)})
			return err
		},
		"Doctor": func() error { _, err := in.Doctor(t.Context(), view.DoctorFilter{}); return err },
	} {
		if err := verb(); !errors.Is(err, stopped) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
