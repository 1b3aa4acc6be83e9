package engine_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/view"
)

// endsOfCalls counts the events that close a call, by its number.
type endsOfCalls map[int64]int

// add looks at an event. A wait for a signal is closed by a signal that does not say
// whose it is, and so is not counted.
func (ends endsOfCalls) add(e *history.Event) {
	switch e.Kind {
	case history.CallCompleted, history.CallFailed, history.CallCanceled, history.TimerFired, history.TimerCanceled,
		history.SideEffectRecorded, history.VersionMarked, history.BlockStarted, history.SignalSent:
		ends[e.Call]++
	case history.CallCancelRequested:
		if e.Closed {
			ends[e.Call]++
		}
	}
}

// decodeEvent reads an event as it is recorded.
func decodeEvent(t *testing.T, view view.Event) (e history.Event) {
	t.Helper()
	raw, err := view.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(raw, &e)
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// judgeHistory holds a history of a run against E2 and I2: the numbers of its turns
// have no gap, a call begins once and ends once at most, after it began, and nothing
// follows the one event that ends the run.
func judgeHistory(t *testing.T, events []view.Event) {
	t.Helper()
	begun, ends := map[int64]int{}, endsOfCalls{}
	turn, over := int64(0), false
	for _, view := range events[1:] {
		e := decodeEvent(t, view)
		if view.Turn != turn && view.Turn != turn+1 {
			t.Errorf("Turn %d follows turn %d.", view.Turn, turn)
		}
		turn = view.Turn
		if over {
			t.Errorf("%s follows the end of the run.", e.Kind)
		}
		over = over || e.Kind.Terminal()
		switch e.Kind {
		case history.ActivityScheduled, history.StepScheduled, history.TimerStarted, history.SignalAwaited,
			history.SideEffectRecorded, history.VersionMarked, history.BlockStarted, history.SignalSent, history.ChildScheduled, history.DetachedScheduled:
			if begun[e.Call]++; begun[e.Call] > 1 {
				t.Errorf("Call %d begins twice.", e.Call)
			}
		}
		ends.add(&e)
		if e.Call > 0 && ends[e.Call] > 0 && begun[e.Call] == 0 {
			t.Errorf("Call %d ends and has not begun.", e.Call)
		}
		if ends[e.Call] > 1 {
			t.Errorf("Call %d ends %d times.", e.Call, ends[e.Call])
		}
	}
}

// TestE2_I2_HistoryIsAppendOnly looks at the history of several shapes again and
// again, through a crash after each of their writes: what was there before is there
// afterwards, byte by byte, and what it says is said once.
func TestE2_I2_HistoryIsAppendOnly(t *testing.T) {
	extent.NotInShort(t, "it compares what is durable many times over")
	for _, s := range shapes {
		switch s.name {
		case "retry-in-the-engine", "select-won-by-the-timer", "saga", "signals", "cancel-while-it-runs", "map":
		default:
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			stage := newStage(t, everywhere[0], s)
			perduretest.EveryWrite(t, perduretest.CrashAfter, func(t *testing.T, env *perduretest.Env) {
				var before []view.Event
				look := func() {
					now := env.Workflow(theID).History()
					judgeHistory(t, now)
					if !startsWith(now, before) {
						t.Errorf("The history was\n%v\nand is\n%v", before, now)
					}
					before = now
				}
				over, watched := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(watched)
					for wait := 700 * time.Millisecond; ; wait += wait / 8 { // a shape may take days
						select {
						case <-over:
							return
						case <-time.After(wait):
						}
						if _, err := env.Engine().Workflow(theID).Describe(t.Context()); err == nil {
							look()
						}
					}
				}()
				stage.play(t, env, s)
				close(over)
				<-watched
				look()
				if len(before) < 4 || !decodeEvent(t, before[len(before)-1]).Kind.Terminal() {
					t.Errorf("the history ends before the run: %v", before)
				}
			}, stage.options...)
		})
	}
}

// startsWith reports whether a history begins with all of another one.
func startsWith(now, before []view.Event) bool {
	if len(now) < len(before) {
		return false
	}
	for i, old := range before {
		a, _ := old.MarshalJSON()
		b, _ := now[i].MarshalJSON()
		if old.Turn != now[i].Turn || !bytes.Equal(a, b) {
			return false
		}
	}
	return true
}
