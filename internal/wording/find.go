package wording

import (
	"slices"

	"github.com/perdure/perdure/view"
)

// What runs are found by, in the order in which people are told. The slices must not be
// changed.
var (
	// OpenStatuses are those of runs that have not ended.
	OpenStatuses = []string{view.StatusRunning, view.StatusPaused, view.StatusWaitingForCode, view.StatusParked}
	// Statuses are all of runs.
	Statuses = slices.Concat(OpenStatuses, []string{
		view.StatusCompleted, view.StatusFailed, view.StatusCanceled, view.StatusTerminated, view.StatusTimedOut, view.StatusContinued,
	})
	// RetryingStates are those in which a call may wait for another attempt. In the first
	// each does.
	RetryingStates = []string{view.CallBackoff, view.CallGated, view.CallQueued, view.CallOffered}
	// PausedStates are those in which a call may be paused: by itself in the first, with its
	// activity in the others.
	PausedStates = []string{view.CallPaused, view.CallQueued, view.CallOffered}
)

// Retries reports whether a call has failed and waits for its next attempt.
func Retries(c *view.Call) bool {
	return c.Failures > 0 && slices.Contains(RetryingStates, c.State)
}

// Rests reports whether a call is paused, by itself or with its activity.
func Rests(c *view.Call) bool {
	return c.State == view.CallPaused || c.ActivityPaused != nil && slices.Contains(PausedStates, c.State)
}

// HasRetries reports whether a run that was found by a call in one of RetryingStates, and
// waits for something, has a call that Retries.
func HasRetries(state string, w *view.Wait) bool {
	return state == view.CallBackoff || w != nil && w.Retrying > 0
}

// HasRests is HasRetries for one of PausedStates and a call that Rests.
func HasRests(state string, w *view.Wait) bool {
	return state == view.CallPaused || w != nil && w.Paused > 0
}
