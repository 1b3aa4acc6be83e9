package engine

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/perdure/perdure/store"
)

// storeAttributes are attributes in the store's words, by name.
func storeAttributes(all map[string]string) (out []store.Attribute) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, store.Attribute{Name: name, Value: all[name]})
	}
	return out
}

// viewAttributes are the attributes of a row.
func viewAttributes(row []store.Attribute) map[string]string {
	if len(row) == 0 {
		return nil
	}
	all := make(map[string]string, len(row))
	for _, a := range row {
		all[a.Name] = a.Value
	}
	return all
}

// idsAhead is how far a run ID is ahead of its time at most, as the filter by time takes
// it: IDs of a chain rise by a millisecond at least, however fast its runs follow each
// other.
const idsAhead = time.Hour

// boundedByTime gives a filter by time the bounds of run IDs that follow from it: runs are
// read in the order of their IDs.
func boundedByTime(f store.Filter) store.Filter {
	if !f.Since.IsZero() {
		f.Above = max(f.Above, runIDFloor(f.Since))
	}
	if !f.Until.IsZero() {
		if ceiling := runIDFloor(f.Until.Add(idsAhead)); f.Before == "" || ceiling < f.Before {
			f.Before = ceiling
		}
	}
	return f
}

// runIDFloor is not greater than the ID of any run that is created at this time or
// later.
func runIDFloor(at time.Time) string {
	ms := uint64(max(at.UnixMilli(), 0))
	return fmt.Sprintf("%08x-%04x", ms>>16&0xffffffff, ms&0xffff)
}
