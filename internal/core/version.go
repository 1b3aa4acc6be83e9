package core

import (
	"fmt"

	"github.com/perdure/perdure/internal/history"
)

// Version returns which version of a change the code has in this run, from least
// to latest: the latest if the code comes here for the first time, and what was
// recorded then ever after. A run that had come by before there was a mark has
// version 0, of which nothing is on record. A version out of the range is a
// mismatch.
func (r *Run) Version(change string, least, latest int) int {
	recorded := r.next()
	if recorded != nil && (recorded.Kind != history.VersionMarked || recorded.Name != change) {
		recorded = nil
	}
	v, known := r.versions[change]
	switch {
	case known:
	case recorded != nil:
		v = recorded.Version
	case !r.onRecord():
		v = latest
	}
	if v < least || v > latest {
		r.unsupported(change, v, least, latest)
	}
	switch {
	case known:
	case recorded != nil || !r.onRecord():
		r.command(history.Event{Kind: history.VersionMarked, Call: r.lastCall + 1, Name: change, Version: v})
	default:
		r.versions[change] = v
	}
	return v
}

// unsupported stops code that cannot go on with the version that the run has.
func (r *Run) unsupported(change string, v, least, latest int) {
	expected := r.next()
	if v > 0 {
		expected = &history.Event{Kind: history.VersionMarked, Name: change, Version: v}
	}
	r.differ(expected, &history.Event{
		Kind: history.VersionMarked, Name: change, Note: fmt.Sprintf("a version from %d to %d", least, latest),
	})
}
