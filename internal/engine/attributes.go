package engine

import (
	"time"

	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/store"
)

// idsAhead is how far a run ID is ahead of its time at most, as the filter by time takes
// it: IDs of a chain rise by a millisecond at least, however fast its runs follow each
// other.
const idsAhead = time.Hour

// boundedByTime gives a filter by time the bounds of run IDs that follow from it: runs are
// read in the order of their IDs.
func boundedByTime(f store.Filter) store.Filter {
	if !f.Since.IsZero() {
		f.Above = max(f.Above, ident.RunFloor(f.Since))
	}
	if !f.Until.IsZero() {
		if ceiling := ident.RunFloor(f.Until.Add(idsAhead)); f.Before == "" || ceiling < f.Before {
			f.Before = ceiling
		}
	}
	return f
}
