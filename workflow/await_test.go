package workflow_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// awaits are all the ways in which code waits, for something that does not come.
var awaits = map[string]func(wf *workflow.Context) error{
	"Sleep":      func(wf *workflow.Context) error { return workflow.Sleep(wf, time.Hour) },
	"Timer.Wait": func(wf *workflow.Context) error { return workflow.NewTimer(wf, time.Hour).Wait(wf) },
	"Call": func(wf *workflow.Context) error {
		_, err := workflow.Call(wf, stuck, "")
		return err
	},
	"Call in backoff": func(wf *workflow.Context) error {
		_, err := workflow.Call(wf, fails, "", activity.Retry(retry.Policy{Backoff: retry.Fixed(time.Hour)}))
		return err
	},
	"Future.Get": func(wf *workflow.Context) error {
		_, err := workflow.Async(wf, stuck, "").Get(wf)
		return err
	},
	"Do": func(wf *workflow.Context) error {
		_, err := workflow.Do(wf, "step", func(context.Context) (int, error) { return 0, errBroken }, activity.Retry(retry.Policy{Backoff: retry.Fixed(time.Hour)}))
		return err
	},
	"DoAsync": func(wf *workflow.Context) error {
		_, err := workflow.DoAsync(wf, "step", func(context.Context) (int, error) { return 0, errBroken }, activity.Retry(retry.Policy{Backoff: retry.Fixed(time.Hour)})).Get(wf)
		return err
	},
	"Receive": func(wf *workflow.Context) error {
		_, err := workflow.Receive(wf, words)
		return err
	},
	"ReceiveAsync": func(wf *workflow.Context) error {
		_, err := receive(wf).Get(wf)
		return err
	},
	"Select": func(wf *workflow.Context) error {
		timer := workflow.NewTimer(wf, time.Hour)
		workflow.Select(wf, timer, receive(wf), workflow.Async(wf, stuck, ""))
		return timer.Wait(wf)
	},
	"Select of a channel": func(wf *workflow.Context) error {
		if workflow.Select(wf, workflow.NewChannel[int](wf, 0).Receivable()) != -1 {
			return errors.New("an empty channel was ready")
		}
		return wf.Err()
	},
	"WaitAny": func(wf *workflow.Context) error {
		word := receive(wf)
		workflow.WaitAny(wf, word, workflow.NewTimer(wf, time.Hour))
		_, err := word.Get(wf)
		return err
	},
	"WaitAll": func(wf *workflow.Context) error {
		word := receive(wf)
		if err := workflow.WaitAll(wf, word, workflow.NewTimer(wf, time.Hour)); err != nil {
			return err
		}
		_, err := word.Get(wf)
		return err
	},
	"WaitAll of a channel": func(wf *workflow.Context) error {
		return workflow.WaitAll(wf, workflow.NewChannel[int](wf, 0).Receivable())
	},
	"Channel.Receive": func(wf *workflow.Context) error {
		_, err := workflow.NewChannel[int](wf, 0).Receive(wf)
		return err
	},
	"Channel.Send":         func(wf *workflow.Context) error { return workflow.NewChannel[int](wf, 0).Send(wf, 1) },
	"Channel.Send if full": func(wf *workflow.Context) error { return full(wf).Send(wf, 1) },
	"Map": func(wf *workflow.Context) error {
		_, err := workflow.Map(wf, []int{1, 2, 3}, func(wf *workflow.Context, n int) (int, error) { return n, workflow.Sleep(wf, time.Hour) })
		return err
	},
	"Saga": func(wf *workflow.Context) error {
		_, err := workflow.Saga(wf, func(wf *workflow.Context, undo *workflow.Undo) (int, error) {
			undo.Add("undo", func(wf *workflow.Context) error { return workflow.Sleep(wf, time.Second) }) // which no cancellation reaches
			return 0, workflow.Sleep(wf, time.Hour)
		})
		return err
	},
	"Retry in a try": func(wf *workflow.Context) error {
		_, err := workflow.Retry(wf, retry.Policy{}, func(wf *workflow.Context) (string, error) { return workflow.Receive(wf, words) })
		return err
	},
	"Retry in backoff": func(wf *workflow.Context) error {
		_, err := workflow.Retry(wf, retry.Policy{Backoff: retry.Fixed(time.Hour)}, func(wf *workflow.Context) (int, error) { return 0, errBroken })
		return err
	},
	"Timeout": func(wf *workflow.Context) error {
		_, err := workflow.Timeout(wf, time.Hour, func(wf *workflow.Context) (string, error) { return workflow.Receive(wf, words) })
		return err
	},
}

// full is a channel that holds as much as it can.
func full(wf *workflow.Context) *workflow.Channel[int] {
	ch := workflow.NewChannel[int](wf, 1)
	_ = ch.Send(workflow.Shield(wf), 0) // there is room
	return ch
}

// TestE45_CancelAtEveryAwait: wherever code waits, a cancellation ends that wait:
// one of the run, one of a scope by another coroutine, one that was there before.
// The error says that it is one, and a replay of every prefix comes to the same.
func TestE45_CancelAtEveryAwait(t *testing.T) {
	for name, await := range awaits {
		for how, c := range map[string]struct {
			code     code
			messages []message
		}{
			"of the run": {func(wf *workflow.Context, log logger) (string, error) {
				// Code that only waits for itself is parked; this might still wake it.
				workflow.Go(wf, func(wf *workflow.Context) { _ = workflow.Sleep(wf, time.Hour) })
				return "", await(wf)
			}, []message{cancelRun(5 * time.Second)}},
			"of a scope": {func(wf *workflow.Context, log logger) (string, error) {
				scope, cancel := workflow.WithCancel(wf)
				workflow.Go(wf, func(wf *workflow.Context) {
					_ = workflow.Sleep(wf, 5*time.Second)
					cancel()
				})
				return "", await(scope)
			}, nil},
			"before": {func(wf *workflow.Context, log logger) (string, error) {
				scope, cancel := workflow.WithCancel(wf)
				cancel()
				return "", await(scope)
			}, nil},
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				w, _ := play(t, c.code, c.messages...)
				_, err := w.outcome()
				if err == nil || !retry.Classify(err).Canceled {
					t.Errorf("got %v, want a cancellation", err)
				}
				if took := time.Duration(w.now - start); took > 10*time.Second {
					t.Errorf("it ended after %s", took)
				}
			})
		}
	}
}
