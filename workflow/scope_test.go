package workflow_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

func TestE45_CanceledScopesDoNotRunCalls(t *testing.T) {
	w, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		scope, cancel := workflow.WithCancel(wf)
		log("%v", scope.Err())
		cancel()
		cancel() // again: nothing
		log("%v", scope.Err())
		_, err := workflow.Call(scope, echo, "x")
		log("%v", err)
		_, err = workflow.Receive(scope, words)
		log("%v", err)
		log("%v", workflow.Sleep(scope, time.Hour))
		log("%v", workflow.Sleep(scope, 0))
		log("%v", workflow.NewTimer(scope, time.Hour).Wait(scope))
		inner, _ := workflow.WithCancel(scope)
		log("%v", inner.Err())
		s, err := workflow.Call(workflow.Shield(scope), echo, "shielded")
		log("%s %v", s, err)
		log("%v", wf.Err())
		return "", nil
	})
	canceled := func(name string) string {
		return name + " was canceled in attempt 1 (execution): canceled"
	}
	expect(t, log, "<nil>", "canceled", canceled("echo"), canceled("words"), canceled("sleep"), canceled("sleep"),
		canceled("timer"), "canceled", "shielded <nil>", "<nil>")
	if !slices.Equal(w.kinds(), []string{"ActivityScheduled echo", "AttemptStarted", "CallCompleted", "RunCompleted"}) {
		t.Errorf("%q", w.kinds())
	}
}

func TestE45_CancelReachesInnerScopesAndWhatWaits(t *testing.T) {
	_, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		outer, cancel := workflow.WithCancel(wf)
		inner, cancelInner := workflow.WithCancel(outer)
		shield := workflow.Shield(inner)
		timer, signal := workflow.NewTimer(inner, time.Hour), workflow.ReceiveAsync(outer, words)
		running, kept := workflow.Async(inner, stuck, ""), workflow.Async(shield, slow, "kept")
		// Another coroutine cancels.
		workflow.Go(wf, func(wf *workflow.Context) {
			_ = workflow.Sleep(wf, time.Second)
			cancel()
			cancelInner()
		})
		log("%v", timer.Wait(wf))
		_, err := signal.Get(wf)
		log("%v", err)
		_, err = running.Get(wf)
		log("%v %t", err, retry.Classify(err).Canceled)
		s, err := kept.Get(wf)
		log("%s %v %v", s, err, shield.Err())
		return "", nil
	})
	expect(t, log,
		"timer was canceled in attempt 1 (execution): canceled",
		"words was canceled in attempt 1 (execution): canceled",
		"stuck was canceled in attempt 1 (execution): canceled true",
		"kept <nil> <nil>")
}

// E45: cancel is cooperative and sticky; the code decides how the run ends.
func TestE45_CanceledRuns(t *testing.T) {
	for name, c := range map[string]struct {
		fn     script
		result string
		err    string
	}{
		"gives up": {func(wf *workflow.Context, log logger) (string, error) {
			return "", workflow.Sleep(wf, time.Hour)
		}, "", "sleep was canceled in attempt 1 (execution): canceled: enough"},
		"cleans up": {func(wf *workflow.Context, log logger) (string, error) {
			err := workflow.Sleep(wf, time.Hour)
			s, cleanErr := workflow.Call(workflow.Shield(wf), echo, "clean")
			log("%s", s)
			return "", errors.Join(err, cleanErr)
		}, "", "sleep was canceled in attempt 1 (execution): canceled: enough"},
		"succeeds all the same": {func(wf *workflow.Context, log logger) (string, error) {
			err := workflow.Sleep(wf, time.Hour)
			var why *workflow.CancelError
			return fmt.Sprint(errors.As(err, &why), " ", why.Reason), nil
		}, "true enough", ""},
	} {
		w, _ := play(t, c.fn, cancelRun(time.Second))
		s, err := w.outcome()
		if s != c.result || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%s: %q, %v", name, s, err)
		}
		if want := c.err != ""; (w.has("RunCanceled") == 1) != want {
			t.Errorf("%s: %q", name, w.kinds())
		}
	}
}

// A failure of another kind after the cancellation is a failure.
func TestE45_FailingAfterTheCancellation(t *testing.T) {
	w, _ := play(t, func(wf *workflow.Context, log logger) (string, error) {
		_ = workflow.Sleep(wf, time.Hour)
		return "", errBroken
	}, cancelRun(time.Second))
	if _, err := w.outcome(); w.has("RunFailed") != 1 || !errors.Is(err, errBroken) {
		t.Errorf("%q, %v", w.kinds(), err)
	}
}

func TestE40_Timeout(t *testing.T) {
	_, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		told := func(s string, err error) {
			var timeout *retry.TimeoutError
			log("%q %t %v", s, errors.As(err, &timeout), err)
		}
		told(workflow.Timeout(wf, time.Minute, func(wf *workflow.Context) (string, error) { return workflow.Call(wf, echo, "in time") }))
		told(workflow.Timeout(wf, 2*time.Second, func(wf *workflow.Context) (string, error) { return workflow.Call(wf, stuck, "") }))
		told(workflow.Timeout(wf, 2*time.Second, func(wf *workflow.Context) (string, error) {
			_, _ = workflow.Call(wf, stuck, "")
			return "all the same", nil
		}))
		told(workflow.Timeout(wf, time.Minute, func(wf *workflow.Context) (string, error) { return "", errBroken }))
		told(workflow.Timeout(wf, 0, func(wf *workflow.Context) (string, error) { return workflow.Call(wf, slow, "no deadline") }))
		told(workflow.Timeout(wf, time.Hour, func(wf *workflow.Context) (string, error) {
			return workflow.Timeout(wf, time.Second, func(wf *workflow.Context) (string, error) { return "", workflow.Sleep(wf, time.Minute) })
		}))
		told(workflow.Timeout(wf, time.Second, func(wf *workflow.Context) (string, error) {
			return workflow.Timeout(wf, time.Hour, func(wf *workflow.Context) (string, error) { return "", workflow.Sleep(wf, time.Minute) })
		}))
		log("%v", wf.Err())
		return "", nil
	})
	expect(t, log,
		`"in time" false <nil>`,
		`"" true timeout: the attempt ran longer than 2s`,
		`"all the same" false <nil>`,
		`"" false broken`,
		`"no deadline" false <nil>`,
		`"" true timeout: the attempt ran longer than 1s`,
		`"" true timeout: the attempt ran longer than 1s`,
		`<nil>`)
}

// A timeout leaves no timer behind when it was not needed.
func TestE40_TimeoutRemovesItsTimer(t *testing.T) {
	w, _ := play(t, func(wf *workflow.Context, log logger) (string, error) {
		_, err := workflow.Timeout(wf, time.Hour, func(wf *workflow.Context) (string, error) { return workflow.Call(wf, echo, "x") })
		return "", errors.Join(err, workflow.Sleep(wf, time.Second))
	})
	if w.has("TimerCanceled") != 1 || w.now-start > int64(time.Minute) {
		t.Errorf("%q", w.kinds())
	}
}

func TestE43_RetryOfABlock(t *testing.T) {
	block := func(wf *workflow.Context, policy retry.Policy, fn func(try int, wf *workflow.Context) (string, error)) (string, error) {
		try := 0
		return workflow.Retry(wf, policy, func(wf *workflow.Context) (string, error) {
			try++
			return fn(try, wf)
		})
	}
	quick := retry.Policy{MaxAttempts: 3, Backoff: retry.None}
	_, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		told := func(s string, err error) {
			var exhausted *retry.ExhaustedError
			n := 0
			if errors.As(err, &exhausted) {
				n = len(exhausted.Records)
			}
			log("%q %v %t %d", s, err, errors.Is(err, errBroken), n)
		}
		told(block(wf, quick, func(try int, wf *workflow.Context) (string, error) {
			if try < 3 {
				return workflow.Call(wf, fails, fmt.Sprint("try ", try))
			}
			return workflow.Call(wf, echo, "third")
		}))
		told(block(wf, quick, func(try int, wf *workflow.Context) (string, error) { return workflow.Call(wf, fails, "always") }))
		told(block(wf, quick, func(try int, wf *workflow.Context) (string, error) {
			return fmt.Sprint("try ", try), retry.Terminal(errBroken)
		}))
		told(block(wf, retry.Policy{MaxAttempts: -1}, func(int, *workflow.Context) (string, error) { return "", nil }))
		told(block(wf, retry.Policy{QueueTimeout: time.Second}, func(int, *workflow.Context) (string, error) { return "", nil }))
		told(block(wf, retry.Policy{CrashLimit: 2}, func(int, *workflow.Context) (string, error) { return "", nil }))
		scope, cancel := workflow.WithCancel(wf)
		workflow.Go(wf, func(wf *workflow.Context) {
			_ = workflow.Sleep(wf, time.Second)
			cancel()
		})
		told(block(scope, retry.Policy{Backoff: retry.Fixed(time.Hour)}, func(try int, wf *workflow.Context) (string, error) { return "", errBroken }))
		return "", nil
	})
	expect(t, log,
		`"third" <nil> false 0`,
		`"" the block: gave up after 3 attempts (max attempts): fails: gave up after 1 attempt (max attempts): always: broken true 3`,
		`"" broken true 0`,
		log[3], log[4], log[5],
		`"" the call was canceled in attempt 1 (backoff): canceled; its last failure: broken true 0`)
	for i, want := range []string{"MaxAttempts", "QueueTimeout", "CrashLimit"} {
		if s := log[3+i]; !contains(s, want) || !contains(s, "the policy of workflow.Retry is not usable") {
			t.Errorf("%s", s)
		}
	}
}

// TestR17_ABlockRefusesWhatHasNoEffect: the error names the field and says where it
// belongs; nothing of the block runs, now and in every replay.
func TestR17_ABlockRefusesWhatHasNoEffect(t *testing.T) {
	for field, policy := range map[string]retry.Policy{
		"HeartbeatTimeout": {HeartbeatTimeout: time.Second},
		"OnExhausted":      {OnExhausted: retry.Pause},
		"QueueTimeout":     {QueueTimeout: time.Second},
		"CrashLimit":       {CrashLimit: 2},
	} {
		w, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
			_, err := workflow.Retry(wf, policy, func(wf *workflow.Context) (string, error) { return workflow.Call(wf, echo, "x") })
			log("%v, terminal %t", err, retry.IsTerminal(err))
			return "", nil
		})
		if len(log) != 1 || !contains(log[0], field) || !contains(log[0], "set it on the activities inside, terminal true") || w.has("ActivityScheduled echo") != 0 {
			t.Errorf("%s: %q, %q", field, log, w.kinds())
		}
	}
}

// Two blocks of a run back off at different times, and at the same in replay.
func TestE43_BlocksDrawTheirOwnJitter(t *testing.T) {
	w, _ := play(t, func(wf *workflow.Context, log logger) (string, error) {
		for range 2 {
			_, _ = workflow.Retry(wf, retry.Policy{MaxAttempts: 2, Jitter: retry.FullJitter}, func(wf *workflow.Context) (string, error) {
				return workflow.Call(wf, fails, "", activity.Retry(retry.Never))
			})
		}
		return "", nil
	})
	var delays []int64
	for _, turn := range w.turns {
		for _, e := range turn.Events {
			if e.Due != 0 {
				delays = append(delays, e.Due-turn.Time)
			}
		}
	}
	if len(delays) != 2 || delays[0] == delays[1] {
		t.Errorf("%v", delays)
	}
}

// TestE43_TheHistoryOfABlock: a block that fails, fails and succeeds leaves its calls
// and the timers between them in history, and no timer after the last failure of
// one that gives up. With an AttemptTimeout each try is raced against a timer of its
// own. The replay of every prefix goes the same way (play sees to that).
func TestE43_TheHistoryOfABlock(t *testing.T) {
	exponential := retry.Policy{MaxAttempts: 3, Backoff: retry.Exponential(100*time.Millisecond, 2, time.Minute), Jitter: retry.NoJitter}
	raced := exponential
	raced.AttemptTimeout = 10 * time.Second
	block := func(policy retry.Policy, calls ...activity.Activity[string, string]) script {
		return func(wf *workflow.Context, log logger) (string, error) {
			try := -1
			_, err := workflow.Retry(wf, policy, func(wf *workflow.Context) (string, error) {
				try++
				return workflow.Call(wf, calls[try], "x", once)
			})
			log("%v", err == nil)
			return "", nil
		}
	}
	failed := []string{"ActivityScheduled fails", "AttemptStarted", "CallFailed"}
	raceLost := []string{"TimerStarted timeout", "ActivityScheduled fails", "AttemptStarted", "CallFailed", "TimerCanceled"}
	timer := []string{"TimerStarted backoff", "TimerFired"}
	began := []string{"BlockStarted"}
	for name, c := range map[string]struct {
		code   script
		want   [][]string
		delays []time.Duration
		end    string
	}{
		"fail, fail, ok": {block(exponential, fails, fails, echo),
			[][]string{began, failed, timer, failed, timer, {"ActivityScheduled echo", "AttemptStarted", "CallCompleted", "RunCompleted"}},
			[]time.Duration{100 * time.Millisecond, 200 * time.Millisecond}, "true"},
		"given up": {block(exponential, fails, fails, fails),
			[][]string{began, failed, timer, failed, timer, failed, {"RunCompleted"}},
			[]time.Duration{100 * time.Millisecond, 200 * time.Millisecond}, "false"},
		"raced": {block(raced, fails, stuck, fails),
			[][]string{began, raceLost, timer,
				{"TimerStarted timeout", "ActivityScheduled stuck", "TimerFired", "CallCancelRequested"}, timer, raceLost, {"RunCompleted"}},
			[]time.Duration{10 * time.Second, 100 * time.Millisecond, 10 * time.Second, 200 * time.Millisecond, 10 * time.Second}, "false"},
	} {
		t.Run(name, func(t *testing.T) {
			w, log := play(t, c.code)
			expect(t, log, c.end)
			if got, want := w.kinds(), slices.Concat(c.want...); !slices.Equal(got, want) {
				t.Errorf("the history has\n%q\nand should have\n%q", got, want)
			}
			var delays []time.Duration
			for _, turn := range w.turns {
				for _, e := range turn.Events {
					if e.Due != 0 {
						delays = append(delays, time.Duration(e.Due-turn.Time))
					}
				}
			}
			if !slices.Equal(delays, c.delays) {
				t.Errorf("the timers take %v, want %v", delays, c.delays)
			}
		})
	}
}
