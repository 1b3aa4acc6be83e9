package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/workflow"
)

// TestE41_ChanceIsFoundInMemory: code that asks for something else the second time is found
// after the turn in which it did, although its run stays in memory, and while an attempt runs.
// Code that is deterministic is left alone, however long.
func TestE41_ChanceIsFoundInMemory(t *testing.T) {
	extent.Unwatched(t, "it varies what a workflow does by chance")
	inVirtualTime(t, func(t *testing.T, w *world) {
		slow := activity.New("slow", func(ctx context.Context, n int) (int, error) {
			time.Sleep(time.Minute)
			return n, nil
		})
		chance := 0
		casts := workflow.New("casts", func(wf *workflow.Context, _ int) (int, error) {
			chance++
			return workflow.Call(wf, slow, chance)
		})
		honest := workflow.New("honest", func(wf *workflow.Context, n int) (sum int, err error) {
			for i := range n {
				if err := workflow.Sleep(wf, time.Duration(i)*time.Second); err != nil {
					return 0, err
				}
				v := workflow.Rand(wf).IntN(10)
				sum += v
			}
			return workflow.Call(wf, slow, sum)
		})
		c := w.config(casts, honest, slow)
		c.CheckDeterminism = true
		e := w.startWith(c)
		begin(t, e, casts, "casts", 0)
		begin(t, e, honest, "honest", 150)
		pass(time.Second)
		d := describe(t, e, "casts")
		if d.Status != "parked" || !strings.Contains(d.Reason, `the code is not deterministic: replayed right after this turn it asked for something else`) || d.Mismatch == nil {
			t.Errorf("the run is %s: %s", d.Status, d.Reason)
		}
		pass(24 * time.Hour)
		for id, status := range map[string]string{"honest": "completed", "casts": "parked"} {
			if d := describe(t, e, id); d.Status != status {
				t.Errorf("%s is %s at the end: %s", id, d.Status, d.Reason)
			}
		}
	})
}
