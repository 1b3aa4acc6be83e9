package core

import (
	"fmt"
	"slices"
	"strings"
)

// handleEnd notes how the run of a fire ended and starts a waiting fire.
func (s *Timetable) handleEnd(in FromChild, when int64) {
	at := slices.IndexFunc(s.fires, func(f *Fire) bool { return f.Number == in.Call && f.Run != "" })
	if at < 0 {
		s.out.Dropped++
		return
	}
	f := *s.fires[at]
	s.remove(at)
	s.detail.LastEnd = max(s.detail.LastEnd, when)
	if s.waiting() == len(s.fires) {
		s.rewind(s.detail.LastEnd)
		s.detail.LastEnd = 0
	}
	f.Status, f.Closed, f.Error = in.Status, s.now, clip(failureText(in))
	s.detail.Recent = append(s.detail.Recent, f)
	if n := len(s.detail.Recent) - shownFires; n > 0 {
		s.detail.Recent = slices.Delete(s.detail.Recent, 0, n)
	}
	if len(s.fires) > 0 && s.waiting() == len(s.fires) {
		s.start(s.fires[0])
	}
}

func failureText(in FromChild) string {
	switch {
	case in.Status == ChildIDInUse:
		return fmt.Sprintf("the workflow ID belongs to run %s (%s)", in.Run, in.Note)
	case in.Failure == nil:
		return in.Reason
	}
	text := in.Failure.Message
	for f := in.Failure; len(f.Causes) > 0; {
		if f = f.Causes[0]; !strings.Contains(text, f.Message) {
			text += ": " + f.Message
		}
	}
	return text
}

// rewind takes back the decisions about nominal times that came after the last open run had
// already ended, so that they are decided again. The schedule may learn of the end only
// after it decided such a time: after a downtime both wait to be handled, and a commit
// takes a moment. The outcome must depend on when the time came and when the run ended, not
// on which is handled first. A nominal time equal to the end finds the run open.
//
// Only Skip and BufferOne depend on that. The other policies start all fires, or the
// latest, in either order.
func (s *Timetable) rewind(ended int64) {
	since := s.detail.Overlapped
	s.detail.Overlapped = 0
	policy := s.detail.Spec.Overlap
	if since == 0 || s.calendar == nil || policy != OverlapSkip && policy != OverlapBufferOne {
		return
	}
	first := max(since, s.calendar.After(ended-int64(s.detail.Spec.Jitter)))
	for first != 0 && first <= s.detail.Decided && s.due(first) <= ended {
		first = s.calendar.After(first)
	}
	if first == 0 || first > s.detail.Decided {
		return
	}
	again := int64(0)
	for nominal := first; nominal != 0 && nominal <= s.detail.Decided; nominal = s.calendar.After(nominal) {
		if again++; again > maxMissed {
			return // too many for one step: the decisions stand
		}
	}
	s.skipWaiting(func(f *Fire) bool { return f.Kind == "" && f.Nominal >= first })
	s.detail.Skipped = max(s.detail.Skipped-again, 0) // the waiting ones were just counted
	s.detail.Decided = first - 1
	s.setNext(first)
}
