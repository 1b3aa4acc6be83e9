package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
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
