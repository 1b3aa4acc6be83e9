package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
)

// TestE60_OfAnAttemptOutside: what people do to a call whose attempt goes on
// outside of all processes; whoever completes it later is told that it is too late.
func TestE60_OfAnAttemptOutside(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		d := newDesk(patient)
		e := w.start(d.flow, d.activity)
		for n, id := range []string{"skip", "fail", "pause", "late"} {
			begin(t, e, d.flow, id, n)
		}
		pass(time.Second)
		same(t, "state", onlyCall(t, e, "skip").State, "external")
		same(t, "it runs", verdicts(control(t, e, "skip", core.Control{Operation: core.RetryNow})), "[retry-now unchanged]")
		control(t, e, "skip", skipWith(t, "by hand"))
		control(t, e, "fail", failWith(errRefused))
		if out, err := finish[string](t, e, "skip"); out != "by hand" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
		if _, err := finish[string](t, e, "fail"); !errors.Is(err, errRefused) {
			t.Errorf("%v", err)
		}
		isError(t, say(t, e, d.token(t, "skip", 1), "yes"), request.ErrStaleToken)

		unbounded := retry.Policy{MaxAttempts: 3}
		_, err := e.Control(t.Context(), "pause", "", core.Control{Operation: core.EditPolicy, Policy: &unbounded})
		if _, refused := errors.AsType[*request.RefusedError](err); !refused {
			t.Errorf("a policy without an end: %v", err)
		}
		control(t, e, "pause", core.Control{Operation: core.PauseCall})
		control(t, e, "late", core.Control{Operation: core.PauseCall})
		isError(t, say(t, e, d.token(t, "pause", 1), "yes"), nil)
		if out, err := finish[string](t, e, "pause"); out != "yes" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
		pass(10 * time.Hour)
		c := onlyCall(t, e, "late")
		same(t, "after its timeout", c.State, "paused")
		same(t, "failures", c.Failures, 1)
		control(t, e, "late", core.Control{Operation: core.ResumeCall})
		pass(time.Second)
		isError(t, say(t, e, d.token(t, "late", 2), "at last"), nil)
		if out, err := finish[string](t, e, "late"); out != "at last" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
	})
}
