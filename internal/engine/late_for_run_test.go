package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/workflow"
)

// TestE45_WhatComesTooLateForARunIsThereForTheNext: a signal, a request to cancel and
// an operation that the run reads in the turn in which its time is up are for whichever
// run of the chain is the latest. That is the next one, if the policy wants one.
func TestE45_WhatComesTooLateForARunIsThereForTheNext(t *testing.T) {
	deaf := activity.New("deaf", func(ctx context.Context, _ int) (int, error) {
		return 0, busy(ctx, 24*time.Hour)
	})
	// Its first run is in flight when its process dies, so what waits in the inbox is
	// read before the run is taken up.
	reads := workflow.New("reads", func(wf *workflow.Context, _ string) (string, error) {
		if workflow.GetInfo(wf).Attempt == 1 {
			if _, err := workflow.Call(wf, deaf, 0); err != nil {
				return "", err
			}
		}
		return workflow.Receive(wf, poke)
	}, workflow.RetryPolicy(exactRuns(5, time.Second)))
	inBothModes(t, func(t *testing.T, w *world) {
		e := w.start(reads, deaf)
		for _, id := range []string{"told", "canceled"} {
			beginWith(t, e, reads, id, "", request.Start{Settings: history.Settings{RunTimeout: time.Hour}})
		}
		settle()
		w.kill(e)
		pass(2 * time.Hour)
		client := w.open(w.config())
		signal(t, client, "told", poke.Name(), "once", "news")
		signal(t, client, "told", poke.Name(), "once", "news")
		if err := client.Cancel(t.Context(), "canceled", "", request.By{Who: "me", Why: "enough"}); err != nil {
			t.Fatal(err)
		}
		stop(t, client)
		e = w.start(reads, deaf)
		if got, err := finish[string](t, e, "told"); got != "news" || err != nil {
			t.Errorf("the next run was told %q, %v", got, err)
		}
		pass(time.Minute)
		if d := describe(t, e, "canceled"); d.Status != string(core.StatusCanceled) {
			t.Errorf("a run that was asked to cancel is %s", d.Status)
		}
		same(t, "turns that say that they dropped something", w.log.count("inputs were dropped"), 0)
	})
}
