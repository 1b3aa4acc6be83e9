package workflow_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// away keeps the code of a run away for a time: what comes meanwhile is on record, and the
// code sees it together. (The run is paused; a run that is parked does the same.)
func away(from, until time.Duration) []message {
	return []message{
		{from, core.Control{ID: "away", Operation: core.PauseTheRun, By: "test"}},
		{until, core.Control{ID: "back", Operation: core.ResumeTheRun, By: "test"}},
	}
}

// within10s is a block with a deadline after ten seconds.
func within10s(fn func(wf *workflow.Context) (string, error)) script {
	return func(wf *workflow.Context, log logger) (string, error) {
		s, err := workflow.Timeout(wf, 10*time.Second, fn)
		_, late := errors.AsType[*retry.TimeoutError](err)
		log("%q %v, late %t", s, err, late)
		return "", nil
	}
}

func hear(wf *workflow.Context) (string, error) { return workflow.Receive(wf, words) }

// TestE88_TheOrderOfHistoryDecidesWhetherADeadlineWasMet: code that was away while the
// deadline of a block passed and results came sees what it would have seen.
func TestE88_TheOrderOfHistoryDecidesWhetherADeadlineWasMet(t *testing.T) {
	for name, c := range map[string]struct {
		code     script
		messages []message
	}{
		"a call that ends later": {code: within10s(func(wf *workflow.Context) (string, error) { return workflow.Call(wf, slow, "x") })},
		"a timer that fires later": {code: within10s(func(wf *workflow.Context) (string, error) {
			return "slept", workflow.Sleep(wf, 20*time.Second)
		})},
		"a child that ends later": {
			code:     within10s(func(wf *workflow.Context) (string, error) { return workflow.RunChild(wf, kid, "x") }),
			messages: []message{ends(20*time.Second, 2, "completed", "grown", nil)},
		},
		"a child that fails later": {
			code:     within10s(func(wf *workflow.Context) (string, error) { return workflow.RunChild(wf, kid, "x") }),
			messages: []message{ends(20*time.Second, 2, "failed", "", errBroken)},
		},
		"a signal that comes later stays": {
			code: func(wf *workflow.Context, log logger) (string, error) {
				_, err := within10s(hear)(wf, log)
				s, err2 := hear(wf)
				log("%q %v %v", s, err, err2)
				return "", nil
			},
			messages: []message{send(20*time.Second, "first"), send(30*time.Second, "second")},
		},
		"a signal in time": {code: within10s(hear), messages: []message{send(7*time.Second, "now")}},
		"a failure in time": {
			code: within10s(func(wf *workflow.Context) (string, error) {
				s, _ := hear(wf)
				return "", fmt.Errorf("%s: %w", s, errBroken)
			}),
			messages: []message{send(7*time.Second, "now")},
		},
		"several coroutines, in time": {
			code: within10s(func(wf *workflow.Context) (string, error) {
				got, err := workflow.Map(wf, []int{1, 2}, func(wf *workflow.Context, _ int) (string, error) { return hear(wf) })
				return fmt.Sprint(got), err
			}),
			messages: []message{send(6*time.Second, "one"), send(7*time.Second, "two")},
		},
		"several coroutines, one of them late": {
			code: within10s(func(wf *workflow.Context) (string, error) {
				got, err := workflow.Map(wf, []int{1, 2}, func(wf *workflow.Context, _ int) (string, error) { return hear(wf) })
				return fmt.Sprint(got), err
			}),
			messages: []message{send(6*time.Second, "one"), send(20*time.Second, "two")},
		},
		"one after the other, the second late": {
			code: within10s(func(wf *workflow.Context) (string, error) {
				second := workflow.RunChildAsync(wf, kid, "x")
				s, err := hear(wf)
				if err != nil {
					return "", err
				}
				grown, err := second.Get(wf)
				return s + grown, err
			}),
			messages: []message{send(6*time.Second, "one"), ends(20*time.Second, 2, "completed", "grown", nil)},
		},
		"a block that makes do": {code: within10s(func(wf *workflow.Context) (string, error) {
			if s, err := workflow.Call(wf, slow, "x"); err == nil {
				return s, nil
			}
			return "made do", nil
		})},
		"the inner deadline first": {code: within10s(func(wf *workflow.Context) (string, error) {
			s, err := workflow.Timeout(wf, 7*time.Second, func(wf *workflow.Context) (string, error) { return workflow.Call(wf, slow, "x") })
			return s, fmt.Errorf("inner: %w", err)
		})},
		"the outer deadline first": {code: within10s(func(wf *workflow.Context) (string, error) {
			s, err := workflow.Timeout(wf, 20*time.Second, func(wf *workflow.Context) (string, error) { return workflow.Call(wf, slow, "x") })
			return s, fmt.Errorf("inner: %w", err)
		})},
		"a wait for several that begins with the deadline behind it": {code: within10s(func(wf *workflow.Context) (string, error) {
			a, b := workflow.Async(wf, slow, "a"), workflow.Async(wf, stuck, "b")
			if err := workflow.Sleep(wf, 7*time.Second); err != nil {
				return "", err
			}
			if n := workflow.Select(wf, a, b); n == 0 {
				return a.Get(wf)
			}
			return b.Get(wf)
		})},
		"canceled before": {code: within10s(hear), messages: []message{cancelRun(7 * time.Second)}},
		"canceled after":  {code: within10s(hear), messages: []message{cancelRun(20 * time.Second), send(15*time.Second, "late")}},
		"a shielded call is not in the block": {code: within10s(func(wf *workflow.Context) (string, error) {
			return workflow.Call(workflow.Shield(wf), slow, "x")
		})},
		"a try of a block": {code: func(wf *workflow.Context, log logger) (string, error) {
			s, err := workflow.Retry(wf, retry.Policy{MaxAttempts: 1, AttemptTimeout: 10 * time.Second}, func(wf *workflow.Context) (string, error) {
				return workflow.Call(wf, slow, "x")
			})
			log("%q %v", s, err)
			return "", nil
		}},
		"canceled before a sleep ends": {
			code:     within10s(func(wf *workflow.Context) (string, error) { return "slept", workflow.Sleep(wf, 8*time.Second) }),
			messages: []message{cancelRun(7 * time.Second)},
		},
		"canceled after a sleep ended": {
			code: within10s(func(wf *workflow.Context) (string, error) {
				return "slept", errors.Join(workflow.Sleep(wf, 6*time.Second), workflow.Sleep(wf, time.Second))
			}),
			messages: []message{cancelRun(6500 * time.Millisecond)},
		},
		"canceled before a signal comes, which stays": {
			code: func(wf *workflow.Context, log logger) (string, error) {
				_, err := within10s(hear)(wf, log)
				s, err2 := hear(workflow.Shield(wf))
				log("%q %v %v", s, err, err2)
				return "", nil
			},
			messages: []message{cancelRun(7 * time.Second), send(8*time.Second, "now")},
		},
		"canceled after a signal came": {code: within10s(hear), messages: []message{send(7*time.Second, "now"), cancelRun(8 * time.Second)}},
		"canceled, without a deadline": {
			code: func(wf *workflow.Context, log logger) (string, error) {
				s, err := hear(wf)
				log("%q %v %v", s, err, workflow.Sleep(wf, time.Second))
				return "", nil
			},
			messages: []message{cancelRun(7 * time.Second), send(8*time.Second, "late")},
		},
		"a call in flight is canceled": {
			code: func(wf *workflow.Context, log logger) (string, error) {
				s, err := workflow.Call(wf, stuck, "x")
				log("%q %v", s, err)
				return "", nil
			},
			messages: []message{cancelRun(7 * time.Second)},
		},
		"a shielded call in flight is not": {
			code: func(wf *workflow.Context, log logger) (string, error) {
				s, err := workflow.Call(workflow.Shield(wf), slow, "x")
				log("%q %v", s, err)
				return "", nil
			},
			messages: []message{cancelRun(7 * time.Second)},
		},
		"a call that succeeds although it is canceled": {
			code: func(wf *workflow.Context, log logger) (string, error) {
				s, err := workflow.Call(wf, echo, "x")
				log("%q %v", s, err)
				s, err = workflow.RunChild(wf, kid, "x")
				log("%q %v", s, err)
				return "", nil
			},
			messages: []message{cancelRun(7 * time.Second), ends(8*time.Second, 2, "completed", "grown", nil)},
		},
		"two timers, the second one first": {code: func(wf *workflow.Context, log logger) (string, error) {
			a, b := workflow.NewTimer(wf, 20*time.Second), workflow.NewTimer(wf, 10*time.Second)
			log("%d", workflow.Select(wf, a, b))
			return "", nil
		}},
		"a signal and a timer that is due later": {
			code: func(wf *workflow.Context, log logger) (string, error) {
				timer, word := workflow.NewTimer(wf, 10*time.Second), workflow.ReceiveAsync(wf, words)
				log("%d", workflow.Select(wf, timer, word))
				return "", nil
			},
			messages: []message{send(7*time.Second, "now")},
		},
		"a signal and a timer that was due before": {
			code: func(wf *workflow.Context, log logger) (string, error) {
				timer, word := workflow.NewTimer(wf, 10*time.Second), workflow.ReceiveAsync(wf, words)
				log("%d", workflow.Select(wf, word, timer))
				return "", nil
			},
			messages: []message{send(20*time.Second, "now")},
		},
		"a race": {code: func(wf *workflow.Context, log logger) (string, error) {
			call, timer := workflow.Async(wf, slow, "x"), workflow.NewTimer(wf, 10*time.Second)
			log("%d", workflow.Select(wf, call, timer))
			return "", nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			_, want := play(t, c.code, c.messages...)
			_, got := play(t, c.code, slices.Concat(c.messages, away(5*time.Second, 100*time.Second))...)
			if !slices.Equal(got, want) || len(want) == 0 {
				t.Errorf("after an absence the code logs\n%q\nand else\n%q", got, want)
			}
			// E9: no process served the run at all.
			if _, got := playWith(t, c.code, absence{5 * time.Second, 100 * time.Second}, c.messages...); !slices.Equal(got, want) {
				t.Errorf("when nobody served the code logs\n%q\nand else\n%q", got, want)
			}
		})
	}
}
