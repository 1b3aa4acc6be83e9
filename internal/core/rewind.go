package core

// rewind takes back what was decided of nominal times that came when the last open run had
// ended already, so that they are decided again. The message that it has ended may be
// heard before the schedule looks at such a time or after: after a downtime both wait, and
// a commit takes a moment. What becomes of a time depends on when it came and when the run
// ended, not on which of them is handled first. A time at which the run ends finds it open.
//
// Only Skip and BufferOne depend on that: the other policies start all fires, or the
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
			return // too many for one step: they stay as they are
		}
	}
	s.skipWaiting(func(f *Fire) bool { return f.Kind == "" && f.Nominal >= first })
	s.detail.Skipped = max(s.detail.Skipped-again, 0) // those that waited were counted just now
	s.detail.Decided = first - 1
	s.await(first)
}
