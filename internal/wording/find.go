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
