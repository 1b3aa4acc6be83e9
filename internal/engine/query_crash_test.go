package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/faulty"
)

// TestE40_QueriesUnderFaults: a question from another process is answered although
// any one write on its way fails, loses its answer, or ends the process that
// answers; and leaves nothing behind.
func TestE40_QueriesUnderFaults(t *testing.T) {
	inAGroupOf(t, 1, func(t *testing.T, w *world) {
		n := 0
		under := func(fault faulty.Fault, at int, client bool) {
			n++
			askUnder(t, w, fmt.Sprint("w", n), fault, at, client)
		}
		for _, fault := range []faulty.Fault{faulty.FailBefore, faulty.FailAfter} {
			for at := 1; at <= 3; at++ { // it posts, and takes until something is there
				under(fault, at, true)
			}
		}
		for _, fault := range []faulty.Fault{faulty.FailBefore, faulty.FailAfter, faulty.CrashBefore, faulty.CrashAfter} {
			under(fault, 1, false) // the owner writes once
		}
		pass(5 * time.Minute)
		e := w.start(questioned("1"))
		pass(2 * time.Minute)
		if n := w.inInbox(); n != 0 {
			t.Errorf("%d messages are left", n)
		}
		stop(t, e)
	})
}

// askUnder asks a run of its own while a fault awaits the client or the owner.
func askUnder(t *testing.T, w *world, id string, fault faulty.Fault, at int, client bool) {
	t.Helper()
	e := w.start(questioned("1"))
	asker := w.open(w.config())
	begin(t, e, questioned("1"), id, 1)
	settle()
	plan := w.plans[e]
	if client {
		plan = w.plans[asker]
	}
	plan.At(plan.Writes()+at, fault)
	type result struct {
		text string
		err  error
	}
	got := make(chan result, 1)
	go func() {
		text, err := query(t.Context(), asker, id, "progress", "")
		got <- result{text, err}
	}()
	select {
	case <-plan.Crashed():
		w.kill(e)
		e = w.start(questioned("1"))
	case <-time.After(5 * time.Second):
	}
	if r := <-got; r.err != nil || r.text != "0 of 1: " {
		t.Errorf("%s: write %d %s: the answer is %q, %v", id, at, fault, r.text, r.err)
	}
	stop(t, e)
	stop(t, asker)
}
