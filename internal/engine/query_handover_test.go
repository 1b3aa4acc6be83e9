package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/workflow"
)

// TestE64_AQueryDuringAHandover: a partition stays with a node that drains because a body is
// busy, and a timer comes due there. Before it fires the node reads the inbox, in which a query
// of another node waits. That query is for the next owner, which answers it.
func TestE64_AQueryDuringAHandover(t *testing.T) {
	inAGroup(t, func(t *testing.T, w *world) {
		long := activity.New("long", func(ctx context.Context, _ int) (int, error) { return 1, busy(ctx, time.Minute) })
		asked := workflow.New("asked", func(wf *workflow.Context, _ int) (string, error) {
			stage := "asleep"
			workflow.HandleQuery(wf, progress, func(string) (string, error) { return stage, nil })
			body := workflow.Async(wf, long, 0)
			if err := workflow.Sleep(wf, 20*time.Second); err != nil {
				return "", err
			}
			stage = "awake"
			if _, err := body.Get(wf); err != nil {
				return "", err
			}
			stage = "at the end"
			return stage, workflow.Sleep(wf, time.Hour)
		})
		a := w.node("a", asked, long)
		begin(t, a, asked, "q", 0)
		settle()
		b := w.node("b", asked, long)
		pass(5 * time.Second)
		stopped := make(chan error, 1)
		go func() { stopped <- a.Stop(t.Context()) }()
		pass(5 * time.Second)
		w.wantShares(b, "a:1 b:15")
		brief, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if said, err := query(brief, b, "q", "progress", ""); !errors.Is(err, request.ErrUnanswered) {
			t.Errorf("who cannot wait for the next owner is told %q, %v", said, err)
		}
		answered := make(chan error, 1)
		var said string
		go func() {
			var err error
			patient, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			said, err = query(patient, b, "q", "progress", "")
			answered <- err
		}()
		pass(15 * time.Second) // the timer fires, and a takes a turn
		if err := <-answered; err != nil || said != "at the end" {
			t.Errorf("the answer is %q, %v", said, err)
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}
