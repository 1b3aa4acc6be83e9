package hold_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/coro"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/hold"
	"github.com/perdure/perdure/internal/logs"
	"github.com/perdure/perdure/internal/outage"
	"github.com/perdure/perdure/internal/placement"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/internal/registry"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/internal/suspects"
	"github.com/perdure/perdure/internal/suspicion"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// reasons are those of a node with build "b" that has the workflow "order".
func reasons(t *testing.T) *hold.Reasons {
	t.Helper()
	order := workflow.New("order", func(*workflow.Context, int) (int, error) { return 0, nil })
	r, err := registry.New(registry.Config{Workflows: []seal.Workflow{order}, Build: "b"})
	if err != nil {
		t.Fatal(err)
	}
	db, err := memory.New().Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &hold.Reasons{
		Node: "n1", Build: "b", Process: "p", Clock: clock.New(7), Registry: r,
		Nodes:     placement.New(placement.Config{Context: t.Context(), Store: db, Watch: outage.New(logs.New(slog.Default(), false))}),
		Suspicion: suspicion.New(suspicion.Config{}),
	}
}

// TestE10_WhatIsMissingIsNamed: the workflow that is not registered, or the build.
func TestE10_WhatIsMissingIsNamed(t *testing.T) {
	r := reasons(t)
	for _, c := range []struct{ workflow, pin, want string }{
		{"order", "", ""},
		{"order", "b", ""},
		{"order", "a", "it stays on build a, with which it began or to which it was moved, and the engine n1 has build b"},
		{"other", "", `workflow "other" is not registered with the engine n1`},
		{"other", "a", "it stays on build a, with which it began or to which it was moved, and the engine n1 has build b"},
	} {
		h := r.Missing(c.workflow, c.pin)
		switch {
		case (h != nil) != (c.want != ""):
			t.Errorf("%+v: got %+v", c, h)
		case h != nil && (h.Status != core.StatusWaitingForCode || h.Detail.Reason != c.want || h.Detail.Since < 7):
			t.Errorf("%+v: got %+v", c, h)
		}
	}
}

// TestE41_WhenCodeIsTriedAgain: a fault of the code, when the code has another fingerprint; one of
// this process, when it has restarted; and damage is said to be damage.
func TestE41_WhenCodeIsTriedAgain(t *testing.T) {
	r := reasons(t)
	order := r.Registry.Workflow("order")
	code := r.Registry.Fingerprint(order, "")
	for name, c := range map[string]struct {
		err                   error
		restart, damaged, row bool
		broken, reason        string
	}{
		"mismatch":   {err: fmt.Errorf("replay: %w", &core.Mismatch{Turn: 3})},
		"panic":      {err: &coro.PanicError{Value: "bad input", Stack: []byte("at")}, broken: view.BrokenPanicked, reason: "the workflow's code panicked: bad input"},
		"stuck":      {err: &replay.StuckError{}, restart: true, broken: view.BrokenStuck},
		"unread":     {err: &post.UnreadEnd{Cause: errors.New("no key")}, restart: true},
		"useless":    {err: &replay.DamageError{Value: "no row", Stack: []byte("at")}, restart: true, damaged: true},
		"unreadable": {err: &history.DamageError{Err: errors.New("it ends early")}, restart: true, damaged: true, row: true},
		"refused":    {err: errors.New("the row is too large"), restart: true, row: true},
	} {
		h := r.Failed(code, c.err)
		if c.row {
			h = r.Unloadable(c.err)
		}
		d := h.Detail
		if again := d.Fingerprint == r.UntilRestart(); again != c.restart || !again && d.Fingerprint != code {
			t.Errorf("%s: its fingerprint is %q", name, d.Fingerprint)
		}
		if h.Status != core.StatusParked || d.Broken != c.broken || (d.Mismatch != nil) != (name == "mismatch") {
			t.Errorf("%s: %+v", name, h)
		}
		if want := c.reason; want != "" && d.Reason != want || d.Reason == "" {
			t.Errorf("%s: its reason is %q", name, d.Reason)
		}
		if hold.IsDamage(c.err) != c.damaged || r.Unloadable(c.err).Detail.Damaged != c.damaged {
			t.Errorf("%s: damage is %t", name, !c.damaged)
		}
		past := &core.Past{Start: history.Start{Type: "order"}, State: core.State{Status: core.StatusParked, Detail: core.EncodeDetail(d)}}
		if r.Still(order, past) == nil {
			t.Errorf("%s: the same code in the same process is tried again", name)
		}
		row := &store.Run{Type: "order", RunState: store.RunState{Status: store.Parked, Detail: past.State.Detail}}
		if r.WorthTrying(row) {
			t.Errorf("%s: it is said to be worth another try", name)
		}
		restarted := *r
		restarted.Process = "q"
		if again := restarted.Still(order, past) == nil; again != c.restart || restarted.WorthTrying(row) != c.restart {
			t.Errorf("%s: after a restart it is tried again: %t", name, again)
		}
		d.Fingerprint = "other code"
		row.Detail = core.EncodeDetail(d)
		if past.State.Detail = row.Detail; r.Still(order, past) != nil || !r.WorthTrying(row) {
			t.Errorf("%s: other code is not tried", name)
		}
	}
	past := &core.Past{Start: history.Start{Type: "order"}, State: core.State{Status: core.StatusRunning}}
	if r.Still(order, past) != nil {
		t.Error("a run that is not parked is held")
	}
}

// TestE3_CodeThatEndsItsProcess is held after enough deaths, each alone; other code gets its own
// tries.
func TestE3_CodeThatEndsItsProcess(t *testing.T) {
	r := reasons(t)
	order := r.Registry.Workflow("order")
	code := r.Registry.Fingerprint(order, "")
	id := func() string { return "order-17" }
	for deaths, held := range map[int]bool{0: false, suspects.Limit - 1: false, suspects.Limit: true} {
		suspect := suspects.Run{Deaths: deaths, Code: code}
		h := r.Crashing(order, suspect, id)
		if (h != nil) != held {
			t.Errorf("%d deaths: %+v", deaths, h)
		}
		if h != nil && (h.Detail.Broken != view.BrokenCrashed || h.Detail.Deaths != deaths || !strings.HasSuffix(h.Detail.Reason, "perdure resume-run order-17")) {
			t.Errorf("%d deaths: %+v", deaths, h.Detail)
		}
		suspect.Code = "other"
		if h := r.Crashing(order, suspect, id); h != nil {
			t.Errorf("other code: %+v", h)
		}
	}
}
