package engine_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/workflow"
)

// TestE121_BesideAnEndThatCannotBeReadNothingIsLost: the run hears of it in the turn in which it
// hears that another attempt has ended here. It is parked, and takes that end all the same: the
// attempt is not made again.
func TestE121_BesideAnEndThatCannotBeReadNothingIsLost(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		var ran atomic.Int64
		local := activity.New("local", func(ctx context.Context, d time.Duration) (int64, error) {
			return ran.Add(1), busy(ctx, d)
		})
		x := newRendering(time.Second)
		both := workflow.New("both", func(wf *workflow.Context, _ int) (string, error) {
			there, here := workflow.Async(wf, x.activity, 1), workflow.Async(wf, local, 2*time.Second)
			if _, err := workflow.Receive(wf, proceed); err != nil {
				return "", err
			}
			picture, err := there.Get(wf)
			if err != nil {
				return "", err
			}
			n, err := here.Get(wf)
			return fmt.Sprint(picture, ", ", n), err
		})
		clear := w.db
		defer func() { w.db = clear }()
		over := func(c codec.Codec) { w.db = codec.Over(clear, c) }
		over(secrets(t, "a"))
		db := blockTurns(w)
		e := w.owner(both, local)
		run := begin(t, e, both, "run", 0)
		settle()
		db.block(run)
		signal(t, e, "run", proceed.Name(), "", "now")
		over(secrets(t, "b", "a"))
		w.worker("c", "gpu", 9, x.activity)
		pass(10 * time.Second)
		db.release()
		pass(10 * time.Second)
		same(t, "status", describe(t, e, "run").Status, "parked")
		stop(t, e)
		over(secrets(t, "a", "b"))
		e = w.owner(both, local)
		if got, err := finish[string](t, e, "run"); got != "picture 1, 1" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
