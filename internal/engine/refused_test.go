package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/seal"
)

// choosy is an activity of which a process refuses calls.
type choosy struct {
	seal.Hidden[seal.ActivityDeclaration]
	name string
}

func (c choosy) Name() string { return c.name }

// TestE63_ARefusedCallIsLoggedOnce: once for each activity and reason, with a run for which it
// matters. Other calls of the activity run.
func TestE63_ARefusedCallIsLoggedOnce(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		fetch := activity.New("fetch", func(_ context.Context, n int) (int, error) { return n, nil })
		flow := calls(fetch)
		declared := *seal.Of[seal.ActivityDeclaration](fetch)
		declared.Refuse = func(a seal.Asked) string {
			var n int
			if err := a.Decode(&n); err != nil {
				return err.Error()
			}
			return map[int]string{1: "it may not reach this address", 2: "it may not read this file"}[n]
		}
		e := w.start(flow, choosy{seal.Hide(declared), fetch.Name()})
		for i, id := range []string{"fits", "address", "file", "address again"} {
			begin(t, e, flow, id, []int{0, 1, 2, 1}[i])
		}
		pass(time.Minute)
		if got, err := finish[int](t, e, "fits"); got != 0 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
		for _, id := range []string{"address", "file", "address again"} {
			same(t, "the call of "+id, onlyCall(t, e, id).State, "queued")
		}
		same(t, "records about refused calls", w.log.count("event=activity_refused"), 2)
		same(t, "those of the first reason", w.log.count(`event=activity_refused workflow_id=address activity=fetch reason="it may not reach this address"`), 1)
		same(t, "those of the second", w.log.count(`event=activity_refused workflow_id=file activity=fetch reason="it may not read this file"`), 1)
		same(t, "records about missing activities", w.log.count("event=activity_missing"), 0)
	})
}
