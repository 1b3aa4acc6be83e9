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
)
