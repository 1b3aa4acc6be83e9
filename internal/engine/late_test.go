package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/workflow"
)

// deaf is an activity that takes its time whatever it is told, and then succeeds
// with its input.
var deaf = activity.New("deaf", func(_ context.Context, d time.Duration) (string, error) {
	time.Sleep(d)
	return d.String(), nil
})

// TestE42_SuccessThenLateTimer: an activity wins against a timer. The timer is gone: nothing
// happens when it would be due, and code that waits for another timer waits for that one.
func TestE42_SuccessThenLateTimer(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		flow := workflow.New("flow", func(wf *workflow.Context, _ int) (string, error) {
			began := workflow.Now(wf)
			call, timer := workflow.Async(wf, deaf, time.Second), workflow.NewTimer(wf, 10*time.Second)
			won := workflow.Select(wf, timer, call)
			out, err := call.Get(wf)
			lost := timer.Wait(wf)
			if err := workflow.Sleep(wf, time.Minute); err != nil {
				return "", err
			}
			return fmt.Sprintf("%d %s %v, %t after %s", won, out, err, lost != nil, workflow.Now(wf).Sub(began).Round(time.Second)), nil
		})
		e := w.start(flow, deaf)
		if got := complete(t, e, flow, "run", 0); got != "1 1s <nil>, true after 1m1s" {
			t.Errorf("got %q", got)
		}
		var fired []int64
		for _, ev := range eventsOf(t, e, "run") {
			if ev.Kind == history.TimerFired {
				fired = append(fired, ev.Call)
			}
		}
		if !slices.Equal(fired, []int64{3}) {
			t.Errorf("the timers %v fired, want only the third call", fired)
		}
	})
}

// TestE8_E42_TimerThenLateSuccess: a timer wins against an activity that does not
// listen. What that says in the end, while another call of the same activity is
// awaited, is dropped and counted, and is in no history.
func TestE8_E42_TimerThenLateSuccess(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		flow := workflow.New("flow", func(wf *workflow.Context, _ int) (string, error) {
			call := workflow.Async(wf, deaf, 10*time.Second)
			won := workflow.Select(wf, call, workflow.NewTimer(wf, time.Second))
			_, lost := call.Get(wf)
			next, err := workflow.Call(wf, deaf, time.Minute) // the late one comes meanwhile
			return fmt.Sprintf("%d %t %s", won, lost != nil, next), err
		})
		e := w.start(flow, deaf)
		if got := complete(t, e, flow, "run", 0); got != "1 true 1m0s" {
			t.Errorf("got %q", got)
		}
		if n := droppedInputs(w.log); n != 1 {
			t.Errorf("%d late results were counted, want 1", n)
		}
		if got := outcomes(t, e, "run"); got != "1.1 canceled canceled, 3.1 completed succeeded" {
			t.Errorf("the attempts are %s", got)
		}
		for _, ev := range eventsOf(t, e, "run") {
			if ev.Kind == history.CallCompleted && ev.Call != 3 {
				t.Errorf("the history has a result of call %d", ev.Call)
			}
		}
	})
}

// TestE8_E42_SeveralGenerations: generation after generation loses its race. The
// results of earlier ones come while later ones run, in another order, and none of
// them is taken for that of another.
func TestE8_E42_SeveralGenerations(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		flow := workflow.New("flow", func(wf *workflow.Context, _ int) (string, error) {
			// Each would end after 30, 25, 20, 15 s: the last ones first.
			for n := range 4 {
				call := workflow.Async(wf, deaf, time.Duration(30-5*n)*time.Second)
				if workflow.Select(wf, call, workflow.NewTimer(wf, time.Second)) == 0 {
					return "", fmt.Errorf("generation %d won", n)
				}
			}
			call := workflow.Async(wf, deaf, 40*time.Second)
			if workflow.Select(wf, workflow.NewTimer(wf, time.Minute), call) == 0 {
				return "", errors.New("the last generation lost")
			}
			return call.Get(wf)
		})
		e := w.start(flow, deaf)
		if got := complete(t, e, flow, "run", 0); got != "40s" {
			t.Errorf("got %q, want the result of the last generation", got)
		}
		if n := droppedInputs(w.log); n != 4 {
			t.Errorf("%d late results were counted, want 4", n)
		}
	})
}

// TestE42_SelectLosers: whatever loses is given up: an activity and a step that run,
// one in backoff, a timer. A signal that lost stays for whoever asks next.
func TestE42_SelectLosers(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		failing := activity.New("failing", func(context.Context, int) (string, error) { return "", errors.New("no") }, exactly(time.Hour, 3))
		news := workflow.NewSignal[string]("news")
		flow := workflow.New("flow", func(wf *workflow.Context, _ int) (string, error) {
			runs, backsOff := workflow.Async(wf, deaf, 20*time.Second), workflow.Async(wf, failing, 0)
			step := workflow.DoAsync(wf, "step", func(context.Context) (int, error) { time.Sleep(20 * time.Second); return 1, nil })
			timer, heard := workflow.NewTimer(wf, 20*time.Second), workflow.ReceiveAsync(wf, news)
			won := workflow.Select(wf, runs, backsOff, step, timer, heard, workflow.NewTimer(wf, 10*time.Second))
			if !runs.Ready() || !backsOff.Ready() || !step.Ready() || !heard.Ready() || timer.Wait(wf) == nil {
				return "", errors.New("a loser is still open")
			}
			word, err := workflow.Receive(wf, news)
			return fmt.Sprint(won, " ", word), err
		})
		e := w.start(flow, deaf, failing)
		begin(t, e, flow, "run", 0)
		pass(15 * time.Second)
		if d := describe(t, e, "run"); len(d.Pending) != 1 || d.Pending[0].Kind != "signal" {
			t.Errorf("after the race these calls are open: %+v", d.Pending)
		}
		pass(15 * time.Second)
		signal(t, e, "run", "news", "", "hello")
		if got, err := finish[string](t, e, "run"); got != "5 hello" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		if n := droppedInputs(w.log); n != 2 {
			t.Errorf("%d late results were counted, want those of the activity and the step", n)
		}
	})
}

// TestE42_HistoryPicksTheWinner: what came first wins, whatever its place among the
// arguments; of timers of one moment the first argument.
func TestE42_HistoryPicksTheWinner(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		flow := workflow.New("flow", func(wf *workflow.Context, _ int) (string, error) {
			late, early := workflow.Async(wf, deaf, 2*time.Second), workflow.Async(wf, deaf, time.Second)
			if err := workflow.Sleep(wf, time.Minute); err != nil { // both are over when the race begins
				return "", err
			}
			first := workflow.Select(wf, late, early)
			a, b := workflow.NewTimer(wf, time.Second), workflow.NewTimer(wf, time.Second)
			return fmt.Sprint(first, " ", workflow.Select(wf, b, a)), nil
		})
		e := w.start(flow, deaf)
		if got := complete(t, e, flow, "run", 0); got != "1 0" {
			t.Errorf("got %q, want the one that was first, and of two of one moment the first argument", got)
		}
	})
}

// TestE8_E41_StaleEventsInHistory: events about calls that are closed, which a
// machine that drops what is late never writes, change nothing in a replay either:
// code goes on with every recorded history that has them, anywhere.
func TestE8_E41_StaleEventsInHistory(t *testing.T) {
	stale, _ := history.Encode("stale")
	tried := 0
	for _, recorded := range recordings(t) {
		s, r := recorded.shape, recorded.history
		for turn := range r.Turns {
			var events []history.Event
			for _, call := range closedBefore(r, turn) {
				events = append(events,
					history.Event{Kind: history.CallCompleted, Call: call, Result: stale},
					history.Event{Kind: history.TimerFired, Call: call},
					history.Event{Kind: history.CallFailed, Call: call, Failure: history.FromError(errors.New("stale"))})
			}
			if len(events) == 0 || rejoins(r, turn) {
				continue
			}
			m := clone(t, r)
			m.Turns[turn].Events = append(events, m.Turns[turn].Events...)
			if err := replayed(m, s); err != nil {
				t.Errorf("%s with stale events in turn %d: %v", s.name, turn+1, err)
			}
			tried++
		}
	}
	if tried < 50 {
		t.Errorf("only %d histories had closed calls", tried)
	}
}

// rejoins reports whether in a turn a run that was reset or forked goes on live: before
// that it takes nothing.
func rejoins(r history.Recording, turn int) bool {
	base := r.Start.Base
	return base != nil && slices.ContainsFunc(base.Cuts, func(c history.Cut) bool { return c.Turn+1 == r.Turns[turn].Number })
}

// closedBefore are the calls of a recording that are closed when a turn begins.
func closedBefore(r history.Recording, turn int) []int64 {
	ends := endsOfCalls{}
	for _, t := range r.Turns[:turn] {
		for i := range t.Events {
			ends.add(&t.Events[i])
		}
	}
	var closed []int64
	for call, n := range ends {
		if n > 0 {
			closed = append(closed, call)
		}
	}
	slices.Sort(closed)
	return closed
}
