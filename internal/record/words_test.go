package record_test

import (
	"testing"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// TestStatesHaveOneWordEach: the core, the store and the views say the same of where a
// run or a call stands, so that a state is translated by its type alone.
func TestStatesHaveOneWordEach(t *testing.T) {
	for _, w := range []struct {
		core  core.Status
		store store.Status
		view  string
	}{
		{core.StatusRunning, store.Running, view.StatusRunning},
		{core.StatusPaused, store.OnHold, view.StatusPaused},
		{core.StatusWaitingForCode, store.WaitingForCode, view.StatusWaitingForCode},
		{core.StatusParked, store.Parked, view.StatusParked},
		{core.StatusCompleted, store.Completed, view.StatusCompleted},
		{core.StatusFailed, store.Failed, view.StatusFailed},
		{core.StatusCanceled, store.Canceled, view.StatusCanceled},
		{core.StatusTerminated, store.Terminated, view.StatusTerminated},
		{core.StatusTimedOut, store.TimedOut, view.StatusTimedOut},
		{core.StatusContinued, store.Continued, view.StatusContinued},
		{core.StatusStanding, store.Standing, string(store.Standing)},
	} {
		if string(w.core) != string(w.store) || w.view != string(w.store) {
			t.Errorf("one status of runs is %q, %q and %q", w.core, w.store, w.view)
		}
	}
	for _, w := range []struct {
		core  core.CallState
		store store.CallState
		view  string
	}{
		{core.Dispatched, store.Dispatched, string(store.Dispatched)},
		{core.Queued, store.Queued, view.CallQueued},
		{core.Gated, store.Gated, view.CallGated},
		{core.Backoff, store.Backoff, view.CallBackoff},
		{core.External, store.External, view.CallExternal},
		{core.Paused, store.Paused, view.CallPaused},
		{core.Quarantined, store.Quarantined, view.CallQuarantined},
		{core.TicketWaiting, store.TicketWaiting, string(store.TicketWaiting)},
		{core.TicketHolding, store.TicketHolding, string(store.TicketHolding)},
		{core.TicketResting, store.TicketResting, string(store.TicketResting)},
	} {
		if string(w.core) != string(w.store) || w.view != string(w.store) {
			t.Errorf("one state of calls is %q, %q and %q", w.core, w.store, w.view)
		}
	}
	if core.ShownState(core.Dispatched) != view.CallRunning {
		t.Errorf("a call that runs is shown as %q", core.ShownState(core.Dispatched))
	}
}
