package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
)

func fork(t *testing.T, e *engine.Engine, req request.Fork) (string, bool) {
	t.Helper()
	run, attached, err := e.ForkRun(t.Context(), req)
	if err != nil {
		t.Fatalf("fork of %q: %v", req.WorkflowID, err)
	}
	return run, attached
}

func payload(t *testing.T, v any) *history.Payload {
	t.Helper()
	p, err := history.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

// TestE60_Fork: a fork runs under a new workflow ID, in another partition. It keeps what
// precedes a call and does the rest again, whether the original run is open or closed. The
// original is not changed. The same fork requested again attaches.
func TestE60_Fork(t *testing.T) {
	needsQueries.inBothModesShared(t, 8, func(t *testing.T, w *world) {
		f := newTried()
		tries := f.threeTries()
		e := w.start(tries, f.activity)
		first := begin(t, e, tries, "x", "a")
		settle()
		same(t, "made", f.takeMade(), "a1 2")
		req := request.Fork{WorkflowID: "x", NewID: "y", Call: 2, By: request.By{Who: "ann", Why: "what if"}}
		run, attached := fork(t, e, req)
		same(t, "attached", attached, false)
		settle()
		same(t, "made by the fork", f.takeMade(), "2")
		signal(t, e, "y", "number", "s", 8)
		settle()
		same(t, "made by the fork", f.takeMade(), "4 5 of y")
		result, err := finish[string](t, e, "y")
		if err != nil {
			t.Fatal(err)
		}
		same(t, "result", result, "a1' 2' 8 4' 5 of y'")
		again, attached := fork(t, e, req)
		if again != run || !attached {
			t.Errorf("again: %s, %t", again, attached)
		}
		req.Call = 1
		var taken *request.IDInUseError
		if _, _, err := e.ForkRun(t.Context(), req); !errors.As(err, &taken) || !strings.Contains(err.Error(), "does not continue from call 1") {
			t.Errorf("another fork under the ID: %v", err)
		}
		d := describe(t, e, "y")
		if d.Base == nil || d.Base.WorkflowID != "x" || d.Base.RunID != first || d.Base.By != "ann" || d.Base.Why != "what if" || d.Chain != nil {
			t.Errorf("base %+v, chain %+v", d.Base, d.Chain)
		}
		same(t, "the other run", describe(t, e, "x").Status, "running")
		signal(t, e, "x", "number", "s", 7)
		if result, err = finish[string](t, e, "x"); err != nil {
			t.Fatal(err)
		}
		same(t, "its result", result, "a1' 2' 7 4' 5 of x'")
		f.takeMade()
		fork(t, e, request.Fork{WorkflowID: "y", NewID: "z", Call: 5})
		result, err = finish[string](t, e, "z")
		if err != nil {
			t.Fatal(err)
		}
		same(t, "a fork of the fork", result+" made "+f.takeMade(), "a1' 2' 8 4' 5 of z' made 5 of z")
	})
}

// TestE60_ForkWithAnotherInput: the call from which a fork goes on can have another input, which
// a replay accepts; and so can the run, which is parked if that changes what is kept.
func TestE60_ForkWithAnotherInput(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		f := newTried()
		tries := f.threeTries()
		e := w.start(tries, f.activity)
		begin(t, e, tries, "x", "a")
		settle()
		f.takeMade()
		req := request.Fork{WorkflowID: "x", NewID: "y", Call: 2, CallInput: payload(t, "other")}
		fork(t, e, req)
		settle()
		stop(t, e)
		e = w.start(tries, f.activity)
		signal(t, e, "y", "number", "s", 8)
		result, err := finish[string](t, e, "y")
		if err != nil {
			t.Fatal(err)
		}
		same(t, "result", result+" made "+f.takeMade(), "a1' other' 8 4' 5 of y' made other 4 5 of y")
		fork(t, e, request.Fork{WorkflowID: "x", NewID: "all", Call: 1, Input: payload(t, "b")})
		settle()
		same(t, "made from the first call on", f.takeMade(), "b1 2")
		fork(t, e, request.Fork{WorkflowID: "x", NewID: "parked", Call: 2, Input: payload(t, "b")})
		settle()
		d := describe(t, e, "parked")
		if d.Status != "parked" || d.Mismatch == nil || !strings.Contains(d.Reason, `with input "a1", the code asks for ActivityScheduled "try" with input "b1"`) {
			t.Errorf("with an input that changes what is kept: %s, %s", d.Status, d.Reason)
		}
		same(t, "made by the parked one", f.takeMade(), "")
		if err := e.Terminate(t.Context(), "parked", "", request.By{Why: "no use"}); err != nil {
			t.Fatal(err)
		}
		settle()
		same(t, "and then", describe(t, e, "parked").Status, "terminated")
		_, _, err = e.ForkRun(t.Context(), request.Fork{WorkflowID: "x", NewID: "v", Call: 3, CallInput: payload(t, 1)})
		if err == nil || !strings.Contains(err.Error(), "it has no input of its own") {
			t.Errorf("an input for a signal: %v", err)
		}
	})
}

// TestE60_ForkWaitsForCode: a forked run takes its messages once an engine has its code, even
// if none had it before.
func TestE60_ForkWaitsForCode(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		f := newTried()
		tries := f.threeTries()
		e := w.start(tries, f.activity)
		begin(t, e, tries, "x", "a")
		settle()
		stop(t, e)
		e = w.start(f.activity)
		fork(t, e, request.Fork{WorkflowID: "x", NewID: "y", Call: 2})
		signal(t, e, "y", "number", "s", 8)
		settle()
		same(t, "status", describe(t, e, "y").Status, "waiting-for-code")
		f.takeMade()
		stop(t, e)
		e = w.start(tries, f.activity)
		result, err := finish[string](t, e, "y")
		if err != nil {
			t.Fatal(err)
		}
		same(t, "result", result+" made "+f.takeMade(), "a1' 2' 8 4' 5 of y' made 2 4 5 of y")
	})
}
