package workflow_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/workflow"
)

func TestE42_SelectGivesTheOthersUp(t *testing.T) {
	w, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		call, other := workflow.Async(wf, echo, "fast"), workflow.Async(wf, slow, "slow")
		timer, signal := workflow.NewTimer(wf, time.Hour), workflow.ReceiveAsync(wf, words)
		won := workflow.Select(wf, timer, other, signal, call)
		s, err := call.Get(wf)
		log("%d %s %v", won, s, err)
		_, err = other.Get(wf)
		log("%v", err)
		log("%v", timer.Wait(wf))
		_, err = signal.Get(wf)
		log("%v", err)
		return "", nil
	})
	expect(t, log, "3 fast <nil>",
		"slow was canceled in attempt 1 (execution): context canceled",
		"timer was canceled in attempt 1 (execution): context canceled",
		"words was canceled in attempt 1 (execution): context canceled")
	if w.now-start > int64(time.Minute) {
		t.Error("the run waited for those that lost")
	}
}

func TestE42_WaitAnyKeepsTheOthers(t *testing.T) {
	_, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		a, b := workflow.Async(wf, slow, "slow"), workflow.Async(wf, echo, "fast")
		log("%d", workflow.WaitAny(wf, a, b))
		log("%t %t", a.Ready(), b.Ready())
		s, err := a.Get(wf)
		log("%s %v", s, err)
		again, _ := a.Get(wf)
		log("%s", again)
		log("%d", workflow.WaitAny(wf, a, b)) // the second was first
		return "", nil
	})
	expect(t, log, "1", "false true", "slow <nil>", "slow", "1")
}

func TestE40_WaitAllWaitsForAll(t *testing.T) {
	_, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		ch := workflow.NewChannel[int](wf, 1)
		a, timer := workflow.Async(wf, slow, "slow"), workflow.NewTimer(wf, 2*time.Minute)
		workflow.Go(wf, func(wf *workflow.Context) {
			_ = workflow.Sleep(wf, time.Hour)
			_ = ch.Send(wf, 1)
		})
		workflow.WaitAll(wf, a, ch.Receivable(), timer)
		log("%t %t %s", a.Ready(), timer.Wait(wf) == nil, workflow.Now(wf).Format(time.TimeOnly))
		workflow.WaitAll(wf)
		return "", nil
	})
	expect(t, log, "true true 01:00:00")
}

func TestE42_SelectOfNothingPanics(t *testing.T) {
	for _, verb := range []func(*workflow.Context, ...workflow.Waitable) int{workflow.Select, workflow.WaitAny} {
		_, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
			defer logPanic(log)
			verb(wf)
			return "", nil
		})
		expect(t, log, "workflow: Select and WaitAny need at least one argument; without one they would wait for ever")
	}
}

// The same future twice wins and loses: its result stays.
func TestE42_SelectOfTheSameTwice(t *testing.T) {
	_, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		f := workflow.ReceiveAsync(wf, words)
		log("%d", workflow.Select(wf, f, f))
		s, err := f.Get(wf)
		log("%s %v", s, err)
		return "", nil
	}, send(time.Second, "hello"))
	expect(t, log, "0", "hello <nil>")
}

// What was refused before it began is ready from the beginning.
func TestE42_SelectOfWhatWasRefused(t *testing.T) {
	_, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		scope, cancel := workflow.WithCancel(wf)
		cancel()
		done := workflow.Async(wf, echo, "x")
		_, _ = done.Get(wf)
		refused := workflow.Async(scope, echo, "y")
		log("%d", workflow.Select(wf, done, refused))
		_, err := refused.Get(wf)
		log("%v", err)
		return "", nil
	})
	expect(t, log, "1", "echo was canceled in attempt 1 (execution): canceled")
}

// E40: no signal is lost to a race, and their order stays.
func TestE40_SignalsOfLostRacesStayInOrder(t *testing.T) {
	words := func(wf *workflow.Context) (string, error) { return workflow.Receive(wf, words) }
	absence := absence{500 * time.Millisecond, 1500 * time.Millisecond}
	_, log := playWith(t, func(wf *workflow.Context, log logger) (string, error) {
		timer := workflow.NewTimer(wf, time.Second)
		a, b := receive(wf), receive(wf)
		log("%d", workflow.Select(wf, timer, a, b)) // all of them in one turn
		for range 3 {
			s, err := words(wf)
			log("%s %v", s, err)
		}
		_, err := a.Get(wf)
		log("%v", err)
		return "", nil
	}, absence, send(1100*time.Millisecond, "one"), send(1200*time.Millisecond, "two"), send(2*time.Second, "three"))
	expect(t, log, "0", "one <nil>", "two <nil>", "three <nil>", "words was canceled in attempt 1 (execution): context canceled")
}

func receive(wf *workflow.Context) workflow.Future[string] { return workflow.ReceiveAsync(wf, words) }

// A signal that was read is not given back.
func TestE40_ReadSignalsAreNotGivenBack(t *testing.T) {
	_, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		a := receive(wf)
		s, _ := a.Get(wf)
		timer := workflow.NewTimer(wf, 0)
		_ = workflow.Sleep(wf, time.Second)
		log("%s %d", s, workflow.Select(wf, timer, a))
		b := receive(wf)
		log("%d", workflow.WaitAny(wf, b, workflow.NewTimer(wf, time.Hour)))
		return "", nil
	}, send(time.Second, "one"))
	expect(t, log, "one 1", "1")
}

func TestE40_SignalsAreTyped(t *testing.T) {
	_, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		_, err := workflow.Receive(wf, workflow.NewSignal[int]("words"))
		log("%v", err)
		_, err = workflow.Receive(wf, workflow.NewSignal[int]("words"))
		log("%v", err)
		return "", nil
	}, send(time.Second, "seven"), message{2 * time.Second, core.Control{Operation: core.SignalTheRun, Signal: "words"}})
	expect(t, log, `the result of "words": the recorded value does not fit type *int: json: cannot unmarshal string into Go value of type int`, "<nil>")
}
