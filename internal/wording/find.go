package wording

import (
	"slices"

	"github.com/perdure/perdure/view"
)

// What runs can be found by, in the order of display. The slices must not be modified.
var (
	// OpenStatuses are the statuses of open runs.
	OpenStatuses = []string{view.StatusRunning, view.StatusPaused, view.StatusWaitingForCode, view.StatusParked}
	// Statuses are all statuses of runs.
	Statuses = slices.Concat(OpenStatuses, []string{
		view.StatusCompleted, view.StatusFailed, view.StatusCanceled, view.StatusTerminated, view.StatusTimedOut, view.StatusContinued,
	})
	// LastStatuses are those of the last runs of chains. A run that continued as new is a part of
	// the workflow whose last run is listed.
	LastStatuses = slices.DeleteFunc(slices.Clone(Statuses), func(s string) bool { return s == view.StatusContinued })
)
