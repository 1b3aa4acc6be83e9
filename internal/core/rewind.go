package core

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
	s.await(first)
}
