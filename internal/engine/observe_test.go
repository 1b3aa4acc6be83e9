package engine_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/faulty"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/view"
)

// audience is an observer that notes what it is told, and panics then.
type audience struct {
	mu        sync.Mutex
	turns     []string
	committed int
}

func (a *audience) Turn(start *history.Start, turn *core.Turn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if turn.Number > 0 { // else it adds nothing to history
		a.turns = append(a.turns, fmt.Sprintf("%s %d", start.WorkflowID, turn.Number))
	}
	panic("an observer may panic")
}

func (a *audience) Committed(turns int, _ time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.committed += turns
}

// TestE63_ObserversHearOfEachTurnOnce: of each that is durable, also if the answer of the database
// was lost, and in the order of history.
func TestE63_ObserversHearOfEachTurnOnce(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		a := &audience{}
		f := newFragile(slowRetry)
		f.broken.Store(false)
		config := w.config(f.flow, f.activity)
		config.Observers = append(config.Observers, a)
		e := w.startWith(config)
		w.plans[e].At(w.plans[e].Writes()+1, faulty.FailAfter).At(w.plans[e].Writes()+3, faulty.FailBefore)
		complete(t, e, f.flow, "x", 1)
		settle()
		r, err := e.Record(t.Context(), "x", "")
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, turn := range r.Turns {
			want = append(want, fmt.Sprintf("x %d", turn.Number))
		}
		if len(want) < 2 || !slices.Equal(a.turns, want) {
			t.Errorf("the observer heard of %q, want %q", a.turns, want)
		}
		if a.committed < len(want)+2 {
			t.Errorf("it heard of %d turns in transactions, also those that failed; %d are durable", a.committed, len(want))
		}
	})
}

// exporter is an observer that takes its time with the turn in which a call comes to wait.
type exporter struct{ takes time.Duration }

func (x exporter) Turn(_ *history.Start, turn *core.Turn) {
	if len(turn.Waiting) > 0 {
		time.Sleep(x.takes)
	}
}

func (exporter) Committed(int, time.Duration) {}

// TestE64_WhoIsStoppedTellsNobody: a call comes to wait for a person, and what follows is done only
// when the engine is stopped already. The hook is not called then, when the program may have ended
// what it needs for it: the next engine calls it.
func TestE64_WhoIsStoppedTellsNobody(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		var told atomic.Int64
		f := newFragile(pausing)
		config := w.config(f.flow, f.activity)
		config.OnPaused = func(view.PausedCall) { told.Add(1) }
		slow := config
		slow.Observers = append(slow.Observers, exporter{time.Minute})
		e := w.startWith(slow)
		begin(t, e, f.flow, "x", 1)
		pass(10 * time.Second)
		stop(t, e)
		pass(time.Minute)
		same(t, "told by the engine that was stopped", told.Load(), 0)
		e = w.startWith(config)
		pass(time.Minute)
		same(t, "state", onlyCall(t, e, "x").State, "paused")
		same(t, "told by the next", told.Load(), 1)
	})
}

// TestE63_WithoutAnEngineAllGaugesAreZero: metrics may be read before there is an engine.
func TestE63_WithoutAnEngineAllGaugesAreZero(t *testing.T) {
	if g := engine.None.Gauges(); g != (engine.Gauges{}) {
		t.Errorf("they are %+v", g)
	}
}
