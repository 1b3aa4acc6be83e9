package core_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/goldenfile"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// fulfil is a workflow with most verbs. change names one way in which its code
// differs from the code that made the history; the empty one is none.
func fulfil(change string) workflow.Func[int, string] {
	is := func(c string) bool { return change == c }
	pick := func(c, other, normal string) string {
		if is(c) {
			return other
		}
		return normal
	}
	return func(wf *workflow.Context, order int) (string, error) {
		if !is("side effect removed") {
			workflow.SideEffect(wf, pick("side effect renamed", "dice", "draw"), func() int { return 4 })
		}
		if is("activity added first") {
			workflow.Async(wf, notify, "hello")
		}
		if is("early return") {
			return "paid", nil
		}
		reserving := activity.Declare[int, string](pick("activity renamed", "book", "reserve"))
		input := order
		if is("input changed") {
			input++
		}
		var stock workflow.Future[string]
		switch change {
		case "activity becomes a step":
			stock = workflow.DoAsync(wf, "reserve", func(context.Context) (string, error) { return "", nil })
		case "policy and delays changed":
			stock = workflow.Async(wf, reserving, input, activity.Retry(exact(9)))
		case "activity removed":
		default:
			stock = workflow.Async(wf, reserving, input)
		}
		deadline := time.Minute
		if is("policy and delays changed") {
			deadline = time.Hour
		}
		var timer workflow.Timer
		if !is("timer removed") {
			timer = workflow.NewTimer(wf, deadline)
		}
		if is("timer added") {
			workflow.NewTimer(wf, time.Second)
		}
		switch change {
		case "activity removed":
			_ = timer.Wait(wf)
		case "timer removed":
			_, _ = stock.Get(wf)
		case "loser kept":
			workflow.WaitAny(wf, stock, timer)
		default:
			workflow.Select(wf, stock, timer)
		}
		ok, err := workflow.Receive(wf, workflow.NewSignal[string](pick("signal renamed", "consent", "approval")))
		if err != nil {
			return "", err
		}
		return deliver(wf, change, order, ok)
	}
}

// deliver is the second half of fulfil.
func deliver(wf *workflow.Context, change string, order int, ok string) (string, error) {
	is := func(c string) bool { return change == c }
	scope, cancel := workflow.WithCancel(wf)
	if is("scope shielded") {
		scope = workflow.Shield(wf)
	}
	var shipping, paying workflow.Future[string]
	switch change {
	case "activities reordered":
		paying = workflow.Async(wf, charge, order)
		shipping = workflow.Async(scope, ship, order)
	case "the other call canceled":
		shipping = workflow.Async(wf, ship, order)
		paying = workflow.Async(scope, charge, order)
	default:
		shipping = workflow.Async(scope, ship, order)
		paying = workflow.Async(wf, charge, order)
	}
	if is("another coroutine differs") {
		workflow.Go(wf, func(wf *workflow.Context) {
			_ = workflow.Sleep(wf, time.Second)
			workflow.Async(wf, undo, order)
		})
	}
	switch change {
	case "sleep becomes a timer":
		_ = workflow.NewTimer(wf, time.Second).Wait(wf)
	case "policy and delays changed":
		_ = workflow.Sleep(wf, time.Millisecond)
	default:
		_ = workflow.Sleep(wf, time.Second)
	}
	if !is("cancel removed") {
		cancel()
	}
	_, shipErr := shipping.Get(wf)
	paid, err := paying.Get(wf)
	if is("activity added last") {
		workflow.Async(wf, notify, "done")
	}
	switch {
	case is("other failure"):
		return "", errors.New("something else")
	case is("result instead of failure") || ok == "yes" && !is("failure instead of result"):
		if is("other result") {
			paid = "free"
		}
		return paid, err
	}
	return "", fmt.Errorf("not approved: %w", shipErr)
}

// record plays a history of fulfil. answer is the value of the signal.
func record(t *testing.T, answer string) *driver {
	d := newDriver(t, codeOf(fulfil("")), 7)
	play := func(inputs ...core.Input) {
		t.Helper()
		if _, err := d.step(inputs, anySlot); err != nil {
			t.Fatal(err)
		}
	}
	result, err := history.Encode(answer)
	if err != nil {
		t.Fatal(err)
	}
	paid, _ := history.Encode("paid")
	play()
	play(core.AttemptEnded{Call: 2, Attempt: 1, Outcome: core.Completed, Result: paid, Ended: d.now})
	play(core.Control{Operation: core.SignalTheRun, Signal: "approval", Value: result})
	d.now += int64(time.Second)
	play()
	play(core.AttemptEnded{Call: 5, Attempt: 1, Outcome: core.Failed, Failure: history.FromError(&scriptError{"Interrupted", "cut"}), Ended: d.now})
	play(core.AttemptEnded{Call: 6, Attempt: 1, Outcome: core.Completed, Result: paid, Ended: d.now})
	if !d.run.Ended() {
		t.Fatalf("the run did not end: %v", d.events())
	}
	return d
}

// TestE41_FirstDifference replays a history with code that differs in one way and
// compares what the machine says about it with testdata/mismatch.golden.
func TestE41_FirstDifference(t *testing.T) {
	incompatible := map[string][]string{
		"yes": {
			"side effect renamed", "side effect removed", "activity added first", "early return", "activity renamed",
			"input changed", "activity becomes a step", "activity removed", "timer removed", "timer added", "loser kept",
			"signal renamed", "scope shielded", "activities reordered", "the other call canceled", "cancel removed",
			"another coroutine differs", "sleep becomes a timer", "activity added last", "other result",
			"failure instead of result", "other failure",
		},
		"no": {"other failure", "result instead of failure"},
	}
	var b strings.Builder
	for _, answer := range []string{"yes", "no"} {
		d := record(t, answer)
		for _, change := range incompatible[answer] {
			mismatch := replayWith(t, d, codeOf(fulfil(change)))
			if mismatch == nil {
				t.Errorf("%q was not noticed", change)
				continue
			}
			fmt.Fprintf(&b, "answer %q, %s:\n  %v\n", answer, change, mismatch)
			checkDetail(t, mismatch)
		}
		if m := replayWith(t, d, codeOf(fulfil(""))); m != nil {
			t.Errorf("the code of before does not fit any more: %v", m)
		}
		if m := replayWith(t, d, codeOf(fulfil("policy and delays changed"))); m != nil {
			t.Errorf("changed delays and policies are not compatible: %v", m)
		}
	}
	goldenfile.Compare(t, "testdata/mismatch.golden", b.String())
}

// TestE41_FieldsMayChangePlaces: the inputs and the result of the code are values. A struct
// whose fields stand in another order than when the history was made fits it.
func TestE41_FieldsMayChangePlaces(t *testing.T) {
	type before struct {
		Item string
		N    int
	}
	type after struct {
		N    int
		Item string
	}
	d := newDriver(t, shipsValue(before{"hat", 1}), 7)
	for _, inputs := range [][]core.Input{nil, {core.AttemptEnded{Call: 1, Attempt: 1, Outcome: core.Completed, Ended: d.now}}} {
		if _, err := d.step(inputs, anySlot); err != nil {
			t.Fatal(err)
		}
	}
	if !d.run.Ended() {
		t.Fatalf("the run did not end: %v", d.events())
	}
	if m := replayWith(t, d, shipsValue(after{1, "hat"})); m != nil {
		t.Errorf("it does not fit: %v", m)
	}
	if m := replayWith(t, d, shipsValue(after{2, "hat"})); m == nil || !strings.Contains(m.Error(), "the input differs") {
		t.Errorf("another value: %v", m)
	}
}

// shipsValue is code that passes a value to an activity and returns it.
func shipsValue[T any](v T) maker {
	shipping := activity.Declare[T, string]("ship")
	return codeOf(func(wf *workflow.Context, _ int) (T, error) {
		_, err := workflow.Call(wf, shipping, v)
		return v, err
	})
}

// replayWith loads the whole history with other code.
func replayWith(t *testing.T, d *driver, c maker) *core.Mismatch {
	t.Helper()
	_, instance, err := d.load(c)
	<-instance.Close()
	if err == nil {
		return nil
	}
	var m *core.Mismatch
	if !errors.As(err, &m) {
		t.Fatalf("not a mismatch: %v", err)
	}
	return m
}

// checkDetail sees that a difference survives as the detail of a parked run.
func checkDetail(t *testing.T, m *core.Mismatch) {
	t.Helper()
	d, err := core.DecodeDetail(core.EncodeDetail(core.Detail{Mismatch: m}))
	if err != nil || d.Mismatch == nil || d.Mismatch.Error() != m.Error() {
		t.Errorf("the difference does not survive: %v, %v", d.Mismatch, err)
	}
}

// The code of a canceled run asks for cancellations before any of its coroutines
// runs; a difference there is one like any other.
func TestE41_DifferenceMadeByTheCancellation(t *testing.T) {
	shielded := func(shield bool) maker {
		return codeOf(func(wf *workflow.Context, order int) (string, error) {
			scope := wf
			if shield {
				scope = workflow.Shield(wf)
			}
			f := workflow.Async(scope, ship, order)
			_, err := workflow.Receive(wf, approval)
			if err != nil {
				_, err = f.Get(wf)
			}
			return "", err
		})
	}
	for _, shield := range []bool{true, false} {
		d := newDriver(t, shielded(shield), 7)
		for _, inputs := range [][]core.Input{nil, {core.Control{Operation: core.CancelTheRun}}} {
			if _, err := d.step(inputs, anySlot); err != nil {
				t.Fatal(err)
			}
		}
		m := replayWith(t, d, shielded(!shield))
		if m == nil || m.Turn != 2 || m.Command != 1 {
			t.Errorf("recorded with shield %t: %v", shield, m)
		}
	}
}

// E4: what the code learns of a failure is equal live and in replay, sentinels
// included, whichever way the call ended.
func TestE4_ErrorsAreEqualInReplay(t *testing.T) {
	var seen []string
	look := func(wf *workflow.Context, order int) (string, error) {
		_, err := workflow.Call(wf, charge, order)
		var exhausted *retry.ExhaustedError
		seen = append(seen, fmt.Sprintf("%v %t %t %+v", err, errors.Is(err, errDeclined), errors.As(err, &exhausted), retry.Classify(err)))
		return "", workflow.Sleep(wf, time.Hour)
	}
	d := newDriver(t, codeOf(look), 7)
	step := func(inputs ...core.Input) {
		t.Helper()
		if _, err := d.step(inputs, anySlot); err != nil {
			t.Fatal(err)
		}
	}
	step()
	for attempt := 1; attempt <= 3; attempt++ {
		step(core.AttemptEnded{
			Call: 1, Attempt: attempt, Outcome: core.Failed, Ended: d.now,
			Failure: history.FromError(fmt.Errorf("attempt %d: %w", attempt, errDeclined)),
		})
		d.now += int64(10 * time.Second)
		step()
	}
	if err := d.reload(d.code); err != nil {
		t.Fatal(err)
	}
	if len(seen) < 3 {
		t.Fatalf("the code saw the failure %d times", len(seen))
	}
	for _, s := range seen {
		if s != seen[0] || !strings.Contains(s, "true true") {
			t.Errorf("the code saw\n%s\nand then\n%s", seen[0], s)
		}
	}
}
