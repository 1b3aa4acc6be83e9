package inspect

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/roomtest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// TestI12_TheEndOfACallHasItsErrorsType: one field says what kind of error ended a call, and one
// what the last attempt failed with.
func TestI12_TheEndOfACallHasItsErrorsType(t *testing.T) {
	s, in := scene(t)
	s.Define("order", func(w *roomtest.Work) (any, error) {
		for _, name := range []string{"succeeds", "recovers", "exhausts", "stops"} {
			_ = w.Call(name, roomtest.Seconds(2))
		}
		_ = w.Call("slow", roomtest.Retry(retry.Policy{MaxAttempts: 1, AttemptTimeout: time.Second}))
		return nil, w.Wait(w.AwaitSignal("never"))
	})
	r := s.Begin("order", "run")
	r.Completes(1, 1)
	r.Fails(2, "Away", "it is away")
	s.Pass(time.Second)
	r.Completes(2, 1)
	r.Fails(3, "Away", "it is away")
	s.Pass(time.Second)
	r.Fails(3, "Stuck", "it is stuck")
	away := &roomtest.Error{Kind: "Away", Text: "it is away"}
	r.End(4, core.Failed, history.Payload{}, history.FromError(retry.Terminal(fmt.Errorf("while it was asked: %w", away))))
	r.End(5, core.TimedOut, history.Payload{}, history.FromError(&retry.TimeoutError{Limit: time.Second}))
	events, err := in.Events(t.Context(), "run", "", view.HistoryRange{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, ev := range events {
		var said struct {
			Name      string
			ErrorType string `json:"error_type"`
			Retry     struct {
				LastErrorType string `json:"last_error_type"`
			}
		}
		if err := json.Unmarshal(ev.Record, &said); err != nil {
			t.Fatal(err)
		}
		if ev.Call != 0 && (said.Name != ev.Name || ev.Name == "") || said.ErrorType != ev.ErrorType {
			t.Errorf("the event says %+v, its record %+v", ev, said)
		}
		if ev.Kind == "CallCompleted" || ev.Kind == "CallFailed" {
			got[ev.Name] = said.ErrorType + "/" + said.Retry.LastErrorType
		}
	}
	if want := map[string]string{"succeeds": "/", "recovers": "/Away", "exhausts": "Exhausted/Stuck", "stops": "Away/Away", "slow": "Exhausted/Timeout"}; !maps.Equal(got, want) {
		t.Errorf("the types are %v, not %v", got, want)
	}
	if events[0].Kind != string(history.RunStarted) || events[0].Turn != 0 || events[0].Name != "order" || !events[0].Time.Equal(roomtest.Began) {
		t.Errorf("it begins with %+v", events[0])
	}
}

// TestI12_NamesOfCallsAreFoundFarBack: a part of a long history names calls that began long
// before it, however few turns are read.
func TestI12_NamesOfCallsAreFoundFarBack(t *testing.T) {
	s, in := scene(t)
	s.Define("long", func(w *roomtest.Work) (any, error) {
		waits := map[int]*core.Call{}
		for i := range 300 {
			if i%50 == 7 {
				waits[i] = w.Start(fmt.Sprint("late-", i))
			}
			if err := w.Wait(w.AwaitSignal("next")); err != nil {
				return nil, err
			}
		}
		for _, i := range slices.Sorted(maps.Keys(waits)) {
			_ = w.Wait(waits[i])
		}
		return nil, w.Wait(w.AwaitSignal("last"))
	})
	r := s.Begin("long", "l")
	for range 300 {
		r.Signals("next", 1)
	}
	last := r.Turn.Number
	late := map[int64]string{}
	for _, c := range describe(t, in, "l").Pending {
		if strings.HasPrefix(c.Name, "late-") {
			late[c.Call] = c.Name
			r.Completes(c.Call, 1)
		}
	}
	events, err := in.Events(t.Context(), "l", "", view.HistoryRange{After: view.Place{Turn: last, Event: view.EndOfTurn}})
	if err != nil {
		t.Fatal(err)
	}
	named := map[int64]string{}
	for _, ev := range events {
		if ev.Kind == "CallCompleted" {
			named[ev.Call] = ev.Name
		}
	}
	if !maps.Equal(named, late) || len(late) != 6 {
		t.Errorf("the names are %v, not %v", named, late)
	}
	for call, name := range late { // the same of one call alone, and of its attempts
		part, err := in.Events(t.Context(), "l", "", view.HistoryRange{Call: call})
		if err != nil || len(part) != 3 || part[2].Name != name {
			t.Errorf("of call %d: %+v, %v", call, part, err)
		}
		attempts, err := in.Attempts(t.Context(), "l", "", view.AttemptRange{Call: call, Limit: 3})
		if err != nil || len(attempts) != 1 || attempts[0].Name != name || attempts[0].Outcome != view.OutcomeCompleted {
			t.Errorf("of call %d the attempts %+v, %v", call, attempts, err)
		}
	}
}

// TestE41_ARecordingIsTheHistory: start and turns, as they are on record.
func TestE41_ARecordingIsTheHistory(t *testing.T) {
	s, in := scene(t)
	s.Define("order", charges(roomtest.Seconds(2)))
	r := s.Begin("order", "order-17")
	s.Pass(time.Second)
	r.Completes(1, 1)
	rec, err := in.Record(t.Context(), "order-17", "")
	if err != nil || rec.Start.Run != r.ID || len(rec.Turns) != 2 || rec.Turns[1].Time != s.Now() || rec.Turns[0].Events[0].Kind != history.ActivityScheduled {
		t.Errorf("it is %+v, %v", rec, err)
	}
}

// TestE60_EveryOperationIsAudited: who did what to which call, when, why and with which outcome;
// what the engine did has no name.
func TestE60_EveryOperationIsAudited(t *testing.T) {
	s, in := scene(t)
	s.Define("order", func(w *roomtest.Work) (any, error) {
		return nil, errors.Join(w.Wait(w.Start("charge", roomtest.Seconds(3)), w.AwaitSignal("paid"), w.AwaitSignal("never")))
	})
	r := s.Begin("order", "order-17")
	asks := []core.Control{
		{Operation: core.PauseCall, ID: "1", By: "ann", Reason: "look"},
		{Operation: core.ResumeCall, ID: "2", By: "bob"},
		{Operation: core.EditPolicy, ID: "3", By: "ann", Change: "[retry: 8]"},
		{Operation: core.RetryNow, ID: "4", By: "eve", Calls: core.Selection{Call: 99}},
		{Operation: core.PauseTheRun, ID: "5", By: "ann"},
		{Operation: core.PauseTheRun, ID: "6", By: "bob"},
		{Operation: core.ResumeTheRun, ID: "7", By: "ann"},
		{Operation: core.SignalTheRun, ID: "8", Signal: "paid", By: "shop"},
	}
	for _, c := range asks {
		s.Pass(time.Second)
		r.Asks(c)
	}
	s.Pass(time.Second)
	r.Step(core.Control{Operation: core.CancelTheRun, Reason: "too late", By: "ann"})
	audit, err := in.Audit(t.Context(), "order-17", "")
	if err != nil || len(audit) != len(asks)+1 {
		t.Fatalf("%d are on record, %v", len(audit), err)
	}
	outcomes := []string{view.Applied, view.Applied, view.Applied, view.NotPending, view.Applied, view.Unchanged, view.Applied, view.Applied, view.Applied}
	for i, a := range audit {
		at := roomtest.Began.Add(time.Duration(i+1) * time.Second)
		if a.Outcome != outcomes[i] || !a.Time.Equal(at) || a.RunID != r.ID || a.WorkflowID != "order-17" {
			t.Errorf("record %d is %+v", i, a)
		}
		if i < len(asks) && (a.Request != asks[i].ID || a.By != asks[i].By || a.Why != asks[i].Reason || a.Operation != string(asks[i].Operation)) {
			t.Errorf("%+v is recorded as %+v", asks[i], a)
		}
	}
	if a := audit[0]; a.Call != 1 || a.Name != "charge" {
		t.Errorf("the call is not named: %+v", a)
	}
	if !strings.Contains(string(audit[2].Policy), "9") {
		t.Errorf("the policy is not on record: %s", audit[2].Policy)
	}
	if a := audit[8]; a.Operation != "cancel" || a.Why != "too late" || a.By != "ann" || a.Request != "" {
		t.Errorf("a plain cancellation is %+v", a)
	}
}

// TestE11_AChainIsShownAsOne: in order, with why each run began and how it ended.
func TestE11_AChainIsShownAsOne(t *testing.T) {
	s, in := scene(t)
	s.Define("poller", func(w *roomtest.Work) (any, error) {
		if err := w.Wait(w.AwaitSignal("next")); err != nil {
			return nil, err
		}
		w.Continue("poller", roomtest.Payload("again"))
		return nil, roomtest.ErrEnded
	})
	first := s.Begin("poller", "p")
	if d := describe(t, in, "p"); d.Chain != nil {
		t.Errorf("a single run has the chain %+v", d.Chain)
	}
	for i := range shownRuns + 4 {
		s.Pass(time.Second)
		s.Latest("p").Signals("next", i)
	}
	d := describe(t, in, "p")
	if len(d.Chain) != shownRuns || d.Chain[shownRuns-1].RunID != d.RunID || d.Chain[0].Number != 6 || d.Input.String() != `"again"` {
		t.Fatalf("the chain is %+v", d.Chain)
	}
	for i, r := range d.Chain[:shownRuns-1] {
		if r.Initiator != history.ContinueAsNew || r.Status != view.StatusContinued || r.Number != i+6 || r.Closed == nil || !r.Closed.Equal(d.Chain[i+1].Created) {
			t.Errorf("run %d is %+v", i, r)
		}
	}
	old, err := in.Describe(t.Context(), "p", first.ID)
	if err != nil || old.Status != view.StatusContinued || old.Next == "" || len(old.Chain) != shownRuns {
		t.Errorf("the first run is %+v, %v", old, err)
	}
}

// TestE40_ChildrenAreShownWithTheirStatus: and where they came from.
func TestE40_ChildrenAreShownWithTheirStatus(t *testing.T) {
	s, in := scene(t)
	s.Define("child", charges())
	s.Define("parent", func(w *roomtest.Work) (any, error) {
		awaited := w.StartChild(core.StartChild{Workflow: "child", WorkflowID: "a", OnParentClose: history.TerminateChild})
		other := w.StartChild(core.StartChild{Workflow: "child", WorkflowID: "b"})
		late := w.StartChild(core.StartChild{Workflow: "child", WorkflowID: "c", Detached: true})
		return nil, w.Wait(awaited, other, late, w.AwaitSignal("never"))
	})
	parent := s.Begin("parent", "p")
	children := func() (all []string) {
		for _, c := range describe(t, in, "p").Pending {
			if c.Child != nil {
				all = append(all, fmt.Sprint(c.Kind, " ", c.Child.WorkflowID, " ", c.Child.Status, " ", c.Child.OnParentClose))
			}
		}
		return all
	}
	if got, want := children(), []string{"child a starting terminate", "child b starting cancel", "detached c starting "}; !slices.Equal(got, want) {
		t.Errorf("before they begin: %q", got)
	}
	s.Serve()
	if got, want := children(), []string{"child a running terminate", "child b running cancel"}; !slices.Equal(got, want) {
		t.Errorf("once they run: %q", got)
	}
	d := describe(t, in, "a")
	if d.Parent == nil || d.Parent.WorkflowID != "p" || d.Parent.RunID != parent.ID || d.Parent.Call != 1 || d.Parent.Detached {
		t.Errorf("its parent is %+v", d.Parent)
	}
	if c := describe(t, in, "c").Parent; c == nil || !c.Detached {
		t.Errorf("the parent of a detached run is %+v", c)
	}
	s.Latest("a").Completes(1, 1)
	s.Serve()
	if got, want := children(), []string{"child b running cancel"}; !slices.Equal(got, want) {
		t.Errorf("once one has ended: %q", got)
	}
}

// TestE60_AResetIsShown: from which run and call it goes on, and what it copied is not its own.
func TestE60_AResetIsShown(t *testing.T) {
	s, in := scene(t)
	s.Define("order", func(w *roomtest.Work) (any, error) {
		_, _ = w.Call("reserve", roomtest.Seconds(3)), w.Call("charge", roomtest.Seconds(3))
		return nil, w.Call("ship")
	})
	r := s.Begin("order", "o")
	r.Fails(1, "Busy", "no")
	s.Pass(time.Second)
	r.Completes(1, 1)
	r.Completes(2, 1)
	r.Asks(core.Control{Operation: core.ResetTheRun, ID: "again", Call: 2, By: "ann", Reason: "wrong card"})
	d := describe(t, in, "o")
	if d.RunID == r.ID || d.Base == nil || d.Base.RunID != r.ID || d.Base.Call != 2 || d.Base.By != "ann" || d.Base.Why != "wrong card" || len(d.Chain) != 2 || d.Chain[1].Initiator != history.ResetOfRun {
		t.Fatalf("it is %+v, %+v", d.Base, d.Chain)
	}
	if len(d.Pending) != 1 || d.Pending[0].Call != 2 {
		t.Errorf("pending are %+v", d.Pending)
	}
	audit, err := in.Audit(t.Context(), "o", "")
	if err != nil || len(audit) == 0 || audit[0].Operation != "reset" || audit[0].Note != "continues from run "+r.ID+" of workflow o" {
		t.Errorf("the audit is %+v, %v", audit, err)
	}
	calls, err := in.Calls(t.Context(), "o", "", view.CallRange{})
	if err != nil || len(calls) != 1 || calls[0].RunID != r.ID || calls[0].Call != 1 {
		t.Errorf("the copied call is %+v, %v", calls, err)
	}
	attempts, err := in.Attempts(t.Context(), "o", "", view.AttemptRange{})
	if err != nil || len(attempts) != 2 || attempts[0].RunID != r.ID || attempts[0].NotKept != 0 || attempts[1].RunID != "" {
		t.Errorf("the attempts are %+v, %v", attempts, err)
	}
	row, err := in.Find(t.Context(), "o", r.ID)
	s.Must(err)
	start := r.Core.Start()
	var cut *CutError
	if _, err := in.CutAt(t.Context(), row.Partition, &start, 99, false); !errors.As(err, &cut) {
		t.Errorf("from a call that it has not: %v", err)
	}
	var refused *view.RefusedError
	if !errors.As(error(cut), &refused) || refused.Record.Outcome != view.Refused {
		t.Errorf("it is refused as %+v", refused)
	}
}

// TestE98_WhatBecameKnownOfAWorkerIsTold: a lost attempt of a worker that lived on says so.
func TestE98_WhatBecameKnownOfAWorkerIsTold(t *testing.T) {
	for _, c := range []struct {
		owners []store.Ownership
		want   bool
	}{
		{nil, false},
		{[]store.Ownership{{Node: "n", Since: 5, Survived: true}}, true},
		{[]store.Ownership{{Node: "n", Since: 5, Survived: true}, {Node: "n", Since: 9}}, false},
		{[]store.Ownership{{Node: "n", Since: 5}, {Node: "n", Since: 11, Survived: true}}, false},
		{[]store.Ownership{{Node: "other", Since: 5, Survived: true}}, false},
	} {
		if got := outlived(c.owners, "n", 10); got != c.want {
			t.Errorf("%+v: %v", c.owners, got)
		}
	}
}
