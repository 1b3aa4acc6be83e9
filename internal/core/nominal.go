package core

import (
	"time"

	"github.com/perdure/perdure/internal/history"
)

// setSpec puts a spec in force.
func (s *Timetable) setSpec(spec history.Schedule) {
	s.detail.Spec, s.detail.Set = spec, s.now
	s.compile()
}

// compileAgain is how long a schedule without nominal times waits before it tries again:
// another node may know its time zone.
const compileAgain = int64(time.Minute)

func (s *Timetable) compile() {
	calendar, err := s.config.Calendar(s.detail.Spec)
	s.calendar, s.detail.Problem, s.detail.Retry = calendar, "", 0
	if err != nil {
		s.calendar, s.detail.Problem = nil, err.Error()
	}
}

// restart starts the nominal times after a moment.
func (s *Timetable) restart(after int64) {
	s.detail.Next, s.detail.Due, s.detail.Overlapped = 0, 0, 0
	s.detail.Decided = max(after, s.detail.Decided)
	if s.calendar != nil && s.detail.Pause == nil && !s.detail.Deleted {
		s.setNext(s.calendar.After(s.detail.Decided))
	}
}

// setNext sets the next nominal time.
func (s *Timetable) setNext(nominal int64) {
	s.detail.Next, s.detail.Due = nominal, s.due(nominal)
}

// due returns when a nominal time fires.
func (s *Timetable) due(nominal int64) int64 {
	if nominal == 0 || s.detail.Spec.Jitter <= 0 {
		return nominal
	}
	span := int64(s.detail.Spec.Jitter)
	if following := s.calendar.After(nominal); following != 0 {
		span = min(span, following-nominal)
	}
	return nominal + int64(Uniform(s.config.Name, nominal, 0)*float64(span))
}

// Upcoming returns the next undecided nominal times and when each fires.
func (s *Timetable) Upcoming(n int) (nominal, due []int64) {
	ahead := *s
	for len(due) < n && ahead.detail.Next != 0 && ahead.calendar != nil {
		nominal, due = append(nominal, ahead.detail.Next), append(due, ahead.detail.Due)
		ahead.setNext(ahead.calendar.After(ahead.detail.Next))
	}
	return nominal, due
}

// Calendar computes nominal times.
type Calendar interface {
	// After returns the first nominal time after at, or 0 if there is none.
	After(at int64) int64
}
