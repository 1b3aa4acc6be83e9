package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// Limits of the attributes of a run: each is a row and an entry of two indexes.
const (
	MaxAttributes     = 16
	maxAttributeName  = 64  // bytes
	maxAttributeValue = 256 // bytes
)

// checkAttributes refuses attributes that no run could be found by.
func checkAttributes(all map[string]string) error {
	if len(all) > MaxAttributes {
		return &history.InputError{What: "attributes", Problem: fmt.Sprintf("are %d; the limit is %d", len(all), MaxAttributes)}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := history.CheckName("attribute name", name); err != nil {
			return err
		}
		if len(name) > maxAttributeName {
			return &history.InputError{What: fmt.Sprintf("attribute name %q", name), Problem: fmt.Sprintf("is %d bytes long; the limit is %d", len(name), maxAttributeName)}
		}
		value := all[name]
		if len(value) > maxAttributeValue {
			return &history.InputError{What: fmt.Sprintf("attribute %q", name), Problem: fmt.Sprintf("has a value of %d bytes; the limit is %d", len(value), maxAttributeValue)}
		}
		if value != "" {
			if err := history.CheckID(fmt.Sprintf("value of attribute %q", name), value); err != nil {
				return err
			}
		}
	}
	return nil
}

// storeAttributes are attributes in the store's words, by name.
func storeAttributes(all map[string]string) (out []store.Attribute) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, store.Attribute{Name: name, Value: all[name]})
	}
	return out
}

// attributesOf are the attributes in an encoded start event.
func attributesOf(start []byte) map[string]string {
	var s struct {
		Attributes map[string]string `json:"attributes"`
	}
	if json.Unmarshal(start, &s) != nil { // whoever needs more of it says so
		return nil
	}
	return s.Attributes
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
