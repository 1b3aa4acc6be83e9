package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// TestI21_CodeReachesNoEntity: a workflow starts children under IDs of gates and
// schedules, detached ones too, and sends them signals. Each is refused as an error that is
// not retried, also for a workflow whose own ID begins with a #. The gate and the schedule
// of these names work before and after.
func TestI21_CodeReachesNoEntity(t *testing.T) {
	hostile := []string{"#gate/payments", "#schedule/nightly", "#answer/x", "#gate"}
	pay := activity.New("pay", func(context.Context, int) (int, error) { return 7, nil })
	payer := workflow.New("payer", func(wf *workflow.Context, _ int) (int, error) {
		return workflow.Call(wf, pay, 0, activity.Through(gate.New("payments", 1)))
	})
	attacker := workflow.New("attacker", func(wf *workflow.Context, _ int) (string, error) {
		for _, id := range hostile {
			_, child := workflow.RunChild(wf, napper, 0, workflow.ChildID(id))
			_, detached := workflow.StartDetached(wf, napper, 0, workflow.ChildID(id))
			//perdure:deterministic the range has no effect but a failure
			for what, err := range map[string]error{"a child": child, "a detached child": detached, "a signal": workflow.Send(wf, id, poke, "x")} {
				if refused := (*view.InputError)(nil); !errors.As(err, &refused) {
					return "", fmt.Errorf("%s of ID %s: %v", what, id, err)
				}
			}
		}
		child := workflow.RunChildAsync(wf, napper, 0)
		_, err := child.Get(wf)
		return child.ID(), err
	})
	inBothModes(t, func(t *testing.T, w *world) {
		e := w.start(pay, payer, attacker, napper)
		complete(t, e, payer, "before", 0)
		if id := complete(t, e, attacker, "#17", 0); !strings.HasPrefix(id, "#17/sleeper/") {
			t.Errorf("the child of #17 has the ID %q", id)
		}
		complete(t, e, payer, "after", 0)
	})
}

// TestI21_OldStartsOfEntitiesAreRefused: an earlier version let a workflow ask for a child
// whose ID is that of a gate. The message waits in the inbox: its parent is told, and
// the gate works.
func TestI21_OldStartsOfEntitiesAreRefused(t *testing.T) {
	pay := activity.New("pay", func(context.Context, int) (int, error) { return 7, nil })
	payer := workflow.New("payer", func(wf *workflow.Context, _ int) (int, error) {
		return workflow.Call(wf, pay, 0, activity.Through(gate.New("payments", 1)))
	})
	inBothModes(t, func(t *testing.T, w *world) {
		s, err := w.bare.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		g, err := s.Group(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		id := entity.Find(g, entity.Gate, "payments").WorkflowID
		m, err := message.FromRun(g, &core.Message{WorkflowID: id, Run: "child", Start: &history.Start{
			Kind: history.RunStarted, Format: history.Format, WorkflowID: id, Run: "child", Type: napper.Name(), Chain: "child", Attempt: 1,
			Created: 1, Parent: &history.Parent{WorkflowID: "parent", Run: "0198", Call: 1},
		}})
		m.ForOwner = true
		if err = errors.Join(err, s.Post(t.Context(), m), s.Close()); err != nil {
			t.Fatal(err)
		}
		e := w.start(pay, payer, napper)
		pass(time.Second)
		begin(t, e, payer, "after", 0)
		pass(time.Minute)
		if d := describe(t, e, "after"); d.Status != view.StatusCompleted {
			t.Fatalf("the gate is broken: %+v", d.Pending)
		}
		stop(t, e)
		if s, err = w.bare.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		waiting, err := s.Inbox(t.Context(), []int{m.Partition}, 0, 0)
		if err = errors.Join(err, s.Close()); err != nil || len(waiting) > 0 {
			t.Errorf("%+v wait, %v", waiting, err)
		}
	})
}
