package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/mark"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

var kid = workflow.Declare[string, string]("kid")

// ends says what becomes of a child, at a time after the start of its parent.
func ends(after time.Duration, call int64, status, result string, err error) message {
	in := core.FromChild{Call: call, Status: status, Run: "run-9", Failure: history.FromError(err)}
	if result != "" {
		in.Result, _ = history.Encode(result)
	}
	return message{after, in}
}

// TestE4_ChildErrorsReplay: each way in which a child can fail to complete is the same
// error live and in every replay, and through the end of its parent.
func TestE4_ChildErrorsReplay(t *testing.T) {
	w, log := play(t, func(wf *workflow.Context, log func(string, ...any)) (string, error) {
		var all []error
		for range 4 {
			_, err := workflow.RunChild(wf, kid, "in")
			child, _ := errors.AsType[*workflow.ChildError](err)
			used, _ := errors.AsType[*workflow.ChildIDInUseError](err)
			log("%v | %t %t | %t %t", err, child != nil, used != nil, errors.Is(err, errBroken), errors.Is(err, context.Canceled))
			all = append(all, err)
		}
		return "", errors.Join(all...)
	},
		ends(time.Second, 1, "failed", "", fmt.Errorf("no: %w", errBroken)),
		ends(2*time.Second, 2, "canceled", "", &workflow.CancelError{Reason: "enough"}),
		ends(3*time.Second, 3, "terminated", "", nil),
		ends(4*time.Second, 4, core.ChildIDInUse, "", nil))
	expect(t, log,
		`child "w/kid/1-1" of workflow "kid" failed: no: broken | true false | true false`,
		`child "w/kid/2-1" of workflow "kid" was canceled: canceled: enough | true false | false true`,
		`child "w/kid/3-1" of workflow "kid" was terminated | true false | false false`,
		`child of workflow "kid" was not started: workflow ID "w/kid/4-1" belongs to run run-9 (); a child needs an ID that no other run has | false true | false false`)
	_, err := w.outcome()
	child, _ := errors.AsType[*workflow.ChildError](err)
	used, _ := errors.AsType[*workflow.ChildIDInUseError](err)
	if !errors.Is(err, errBroken) || child == nil || child.RunID != "run-9" || child.Workflow != "kid" || child.Status != "failed" || !errors.Is(child, errBroken) || used == nil {
		t.Errorf("the run ended with %v: %+v, %+v", err, child, used)
	}
}

// TestE40_ChildrenAreWaitedForAsCallsAre: in Select, WaitAll, Map, Timeout and Retry.
func TestE40_ChildrenAreWaitedForAsCallsAre(t *testing.T) {
	_, log := play(t, func(wf *workflow.Context, log func(string, ...any)) (string, error) {
		a, b := workflow.RunChildAsync(wf, kid, "a"), workflow.RunChildAsync(wf, kid, "b", workflow.ChildID("bee"))
		log("%s %s, winner %d", a.ID(), b.ID(), workflow.Select(wf, a, b))
		_, lost := a.Get(wf)
		log("the loser: %v", lost)
		c, d := workflow.RunChildAsync(wf, kid, "c"), workflow.StartDetachedAsync(wf, kid, "d")
		if err := workflow.WaitAll(wf, c, d); err != nil {
			return "", err
		}
		x, err := c.Get(wf)
		y, err2 := d.Get(wf)
		log("%s %+v %v %v", x, y, err, err2)
		all, err := workflow.Map(wf, []string{"e", "f"}, func(wf *workflow.Context, in string) (string, error) {
			return workflow.RunChild(wf, kid, in)
		})
		log("%q %v", all, err)
		_, err = workflow.Timeout(wf, time.Minute, func(wf *workflow.Context) (string, error) {
			return workflow.RunChild(wf, kid, "slow")
		})
		_, late := errors.AsType[*retry.TimeoutError](err)
		log("late %t", late)
		tries := 0
		policy := retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter}
		out, err := workflow.Retry(wf, policy, func(wf *workflow.Context) (string, error) {
			tries++
			return workflow.RunChild(wf, kid, fmt.Sprint("try", tries))
		})
		log("%d tries: %s %v", tries, out, err)
		return "", err
	},
		ends(time.Second, 2, "completed", "B", nil),
		ends(2*time.Second, 4, core.ChildStarted, "", nil),
		ends(3*time.Second, 3, "completed", "C", nil),
		ends(4*time.Second, 6, "completed", "F", nil),
		ends(5*time.Second, 5, "completed", "E", nil),
		ends(2*time.Minute, 10, "failed", "", errBroken),
		ends(3*time.Minute, 12, "completed", "done", nil))
	expect(t, log,
		"w/kid/1-1 bee, winner 1",
		`the loser: kid was canceled in attempt 1 (execution): context canceled`,
		"C {WorkflowID:w/kid/4-1 RunID:run-9} <nil> <nil>",
		`["E" "F"] <nil>`,
		"late true",
		"2 tries: done <nil>")
}

// TestE45_WhatACancellationDoesToChildren: one that is waited for is canceled and its
// success kept, a detached one is not concerned, and nothing begins afterwards.
func TestE45_WhatACancellationDoesToChildren(t *testing.T) {
	w, log := play(t, func(wf *workflow.Context, log func(string, ...any)) (string, error) {
		awaited, detached := workflow.RunChildAsync(wf, kid, "a"), workflow.StartDetachedAsync(wf, kid, "d")
		run, err := detached.Get(wf)
		log("%s %v", run.RunID, err)
		out, err := awaited.Get(wf)
		log("%s %v", out, err)
		_, err = workflow.RunChild(wf, kid, "no more")
		log("%v", err)
		return "", err
	},
		cancelRun(time.Second),
		ends(2*time.Second, 2, core.ChildStarted, "", nil),
		ends(3*time.Second, 1, "completed", "all the same", nil))
	expect(t, log, "run-9 <nil>", "all the same <nil>", "kid was canceled in attempt 1 (execution): canceled: enough")
	if n := w.has("CallCancelRequested"); n != 1 {
		t.Errorf("%d cancellations are on record", n)
	}
}

// TestE40_ChildrenThatCannotBeStarted are refused with a reason, and nothing is on
// record.
func TestE40_ChildrenThatCannotBeStarted(t *testing.T) {
	w, log := play(t, func(wf *workflow.Context, log func(string, ...any)) (string, error) {
		policy := retry.Policy{AttemptTimeout: time.Second}
		for _, o := range []workflow.ChildOption{
			workflow.ChildID(""), workflow.ChildID(strings.Repeat("x", 1001)), workflow.Delay(-1), workflow.RetryPolicy(policy),
			workflow.Memo(func() {}), workflow.Memo(strings.Repeat("x", 17<<10)), workflow.OnParentClose("ignore"),
			workflow.RunTimeout(-1), workflow.ChainTimeout(-1),
			workflow.Attributes(map[string]string{"": "x"}), workflow.Priority(1001),
		} {
			_, err := workflow.RunChild(wf, kid, "in", o)
			log("%v", err)
			if _, is := errors.AsType[*mark.Terminal](err); !is {
				t.Errorf("%v is retried", err)
			}
		}
		_, err := workflow.RunChild(wf, kid, "in", workflow.RunTimeout(2), workflow.ChainTimeout(1))
		log("%v", err)
		_, err = workflow.RunChild(wf, workflow.Declare[func(), string]("odd"), nil)
		log("%v", err)
		_, err = workflow.RunChild(wf, workflow.Declare[string, string](""), "in")
		log("%v", err)
		return "", nil
	})
	for i, part := range []string{"is empty", "is 1001 bytes", "delay is -1ns", "AttemptTimeout is set", "memo: ", "memo is 17410 bytes", `is "ignore"`, "run timeout is -1ns", "chain timeout is -1ns", "attribute name is empty", "priority is 1001; it is between -1000 and 1000", "longer than the chain timeout", "its input: ", "workflow name is empty"} {
		if i >= len(log) || !strings.Contains(log[i], part) {
			t.Errorf("error %d has no %q:\n%s", i, part, strings.Join(log, "\n"))
		}
	}
	if got := w.kinds(); len(got) != 1 {
		t.Errorf("on record is %q", got)
	}
}
