package wording

import (
	"cmp"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/schedule"
)

// Times says briefly when a schedule fires.
func Times(s schedule.Spec) string {
	text := s.Cron
	if s.Every != 0 {
		text = "every " + human.Exact(s.Every)
	}
	if s.Offset != 0 {
		text += " + " + human.Exact(s.Offset)
	}
	if s.TimeZone != "" {
		text += " " + s.TimeZone
	}
	return text
}

// Overlaps says what the overlap policies mean; OverlapOrder is their order of display. They must
// not be modified.
var (
	Overlaps = map[schedule.Overlap]string{
		schedule.Skip: "nothing is fired while a run is open", schedule.BufferOne: "one fire waits for the run to end", schedule.BufferAll: "one run after the other",
		schedule.CancelOther: "the open run is asked to cancel", schedule.TerminateOther: "the open run is terminated", schedule.AllowAll: "runs are open beside each other",
	}
	OverlapOrder = []schedule.Overlap{
		schedule.Skip, schedule.BufferOne, schedule.BufferAll, schedule.CancelOther, schedule.TerminateOther, schedule.AllowAll,
	}
)

// OverlapOf is the overlap policy that counts: the given one, or that of a schedule.
func OverlapOf(given schedule.Overlap, s schedule.Spec) schedule.Overlap {
	return cmp.Or(given, s.Overlap, schedule.Skip)
}
