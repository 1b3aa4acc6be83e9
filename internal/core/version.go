package core

import (
	"fmt"

	"github.com/perdure/perdure/internal/history"
)

// Version returns the version of a change that this run has, between least and latest. It
// is latest when the code first gets here, and the recorded version afterwards. A run that
// passed this point before the code had the mark has version 0, which is not recorded. A
// version outside the range is a mismatch.
func (r *Run) Version(change string, least, latest int) int {
	recorded := r.nextRecorded()
	if recorded != nil && (recorded.Kind != history.VersionMarked || recorded.Name != change) {
		recorded = nil
	}
	v, known := r.versions[change]
	switch {
	case known:
	case recorded != nil:
		v = recorded.Version
	case !r.OnRecord():
		v = latest
	}
	if v < least || v > latest {
		r.stopUnsupported(change, v, least, latest)
	}
	switch {
	case known:
	case recorded != nil || !r.OnRecord():
		r.command(history.Event{Kind: history.VersionMarked, Call: r.calls.lastCall + 1, Name: change, Version: v})
	default:
		r.setVersion(change, v)
	}
	return v
}

// stopUnsupported stops code that does not support the run's version of a change.
func (r *Run) stopUnsupported(change string, v, least, latest int) {
	expected := r.nextRecorded()
	if v > 0 {
		expected = &history.Event{Kind: history.VersionMarked, Name: change, Version: v}
	}
	r.stopMismatched(expected, &history.Event{
		Kind: history.VersionMarked, Name: change, Note: fmt.Sprintf("a version from %d to %d", least, latest),
	})
}
