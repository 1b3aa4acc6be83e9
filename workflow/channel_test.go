package workflow_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

type logger = func(format string, args ...any)

// logPanic is to be deferred. It says nothing when the code is only unwound.
func logPanic(log logger) {
	if v := recover(); v != nil {
		log("%v", v)
	}
}

func TestE40_UnbufferedChannelHandsOver(t *testing.T) {
	_, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		ch := workflow.NewChannel[int](wf, 0)
		workflow.Go(wf, func(wf *workflow.Context) {
			for i := range 2 {
				log("sending %d", i)
				err := ch.Send(wf, i)
				log("sent %d %v", i, err)
			}
			ch.Close(wf)
		})
		for {
			_ = workflow.Sleep(wf, time.Second)
			v, err := ch.Receive(wf)
			if errors.Is(err, workflow.ErrChannelClosed) {
				return "", nil
			}
			log("received %d", v)
		}
	})
	expect(t, log, "sending 0", "received 0", "sent 0 <nil>", "sending 1", "received 1", "sent 1 <nil>")
}

func TestE40_BufferedChannelWaitsWhenFull(t *testing.T) {
	_, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		ch := workflow.NewChannel[int](wf, 2)
		workflow.Go(wf, func(wf *workflow.Context) {
			for i := range 4 {
				_ = ch.Send(wf, i)
				log("sent %d", i)
			}
			ch.Close(wf)
			log("closed")
		})
		_ = workflow.Sleep(wf, time.Second)
		for {
			v, err := ch.Receive(wf)
			if err != nil {
				log("%v", err)
				return "", nil
			}
			log("received %d", v)
			_ = workflow.Sleep(wf, time.Second)
		}
	})
	expect(t, log, "sent 0", "sent 1", "received 0", "sent 2", "received 1", "sent 3", "closed", "received 2", "received 3", "the channel is closed")
}

func TestE40_ValuesArriveOnceAndInOrder(t *testing.T) {
	_, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		ch := workflow.NewChannel[string](wf, 0)
		for _, name := range []string{"a", "b", "c"} {
			workflow.Go(wf, func(wf *workflow.Context) {
				for _, n := range []string{"1", "2"} {
					_ = ch.Send(wf, name+n)
				}
			})
		}
		var got []string
		for range 6 {
			v, _ := ch.Receive(wf)
			got = append(got, v)
		}
		log("%s", strings.Join(got, " "))
		return "", nil
	})
	if len(log) != 1 || len(strings.Fields(log[0])) != 6 {
		t.Fatalf("%q", log)
	}
	for _, name := range []string{"a", "b", "c"} {
		if first, second := strings.Index(log[0], name+"1"), strings.Index(log[0], name+"2"); first < 0 || second < first {
			t.Errorf("the values of %s: %q", name, log)
		}
	}
}

func TestE40_CancelEndsWaitingForAChannel(t *testing.T) {
	w, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		full, empty := workflow.NewChannel[int](wf, 1), workflow.NewChannel[int](wf, 0)
		_ = full.Send(wf, 1)
		scope, cancel := workflow.WithCancel(wf)
		told := func(what string, err error) {
			var aborted *retry.AbortedError
			log("%s: %t %v", what, errors.As(err, &aborted), err)
		}
		workflow.Go(scope, func(wf *workflow.Context) { told("full", full.Send(wf, 2)) })
		workflow.Go(scope, func(wf *workflow.Context) { told("nobody receives", empty.Send(wf, 3)) })
		workflow.Go(scope, func(wf *workflow.Context) {
			_, err := workflow.NewChannel[int](wf, 0).Receive(wf)
			told("nobody sends", err)
		})
		_ = workflow.Sleep(wf, time.Second)
		cancel()
		_ = workflow.Sleep(wf, time.Second)
		told("canceled before", full.Send(scope, 4))
		v, err := full.Receive(scope) // there is a value
		log("%d %v", v, err)
		ready := workflow.NewTimer(wf, time.Second)
		log("withdrawn: %d", workflow.WaitAny(wf, empty.Receivable(), ready))
		return "", nil
	})
	expect(t, log,
		"full: true channel was canceled in attempt 1 (execution): canceled",
		"nobody receives: true channel was canceled in attempt 1 (execution): canceled",
		"nobody sends: true channel was canceled in attempt 1 (execution): canceled",
		"canceled before: true channel was canceled in attempt 1 (execution): canceled",
		"1 <nil>", "withdrawn: 1")
	if !w.ended {
		t.Error("the run did not end")
	}
}

func TestE40_ChannelPanicsLikeGos(t *testing.T) {
	for name, misuse := range map[string]func(wf *workflow.Context, ch *workflow.Channel[int]){
		"workflow: send on a closed channel":  func(wf *workflow.Context, ch *workflow.Channel[int]) { ch.Close(wf); _ = ch.Send(wf, 1) },
		"workflow: close of a closed channel": func(wf *workflow.Context, ch *workflow.Channel[int]) { ch.Close(wf); ch.Close(wf) },
	} {
		_, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
			defer logPanic(log)
			misuse(wf, workflow.NewChannel[int](wf, 1))
			return "", nil
		})
		expect(t, log, name)
	}
	// Also who waits for room when it is closed.
	_, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		ch := workflow.NewChannel[int](wf, 1)
		_ = ch.Send(wf, 1)
		workflow.Go(wf, func(wf *workflow.Context) {
			defer logPanic(log)
			_ = ch.Send(wf, 2)
		})
		_ = workflow.Sleep(wf, time.Second)
		ch.Close(wf)
		_ = workflow.Sleep(wf, time.Second)
		return "", nil
	})
	expect(t, log, "workflow: send on a closed channel")
}

func TestE42_SelectOnAChannel(t *testing.T) {
	_, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		ch := workflow.NewChannel[string](wf, 5)
		workflow.Go(wf, func(wf *workflow.Context) {
			_ = workflow.Sleep(wf, time.Second)
			_ = ch.Send(wf, "early")
		})
		timer := workflow.NewTimer(wf, 2*time.Second)
		_ = workflow.Sleep(wf, 3*time.Second) // both are ready, the channel for longer
		won := workflow.Select(wf, timer, ch.Receivable())
		v, err := ch.Receive(wf)
		log("%d %s %v", won, v, err)
		ch.Close(wf)
		log("%d", workflow.WaitAny(wf, workflow.NewTimer(wf, time.Hour), ch.Receivable()))
		return "", nil
	})
	expect(t, log, "1 early <nil>", "1")
}
