package core

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/history"
)

// Limits of one step: how many nominal times it fires, and how many it finds to be missed.
// The next step decides the rest.
const (
	maxFired  = 200
	maxMissed = 20_000
)

// advance decides the nominal times that are due by until and reports whether it decided
// all of them.
func (s *Timetable) advance(until int64) bool {
	fired, missed := 0, 0
	for s.detail.Next != 0 && s.calendar != nil && s.detail.Due <= until {
		if fired == maxFired || missed == maxMissed {
			return false
		}
		nominal, late := s.detail.Next, s.now-s.detail.Due
		s.detail.Decided = nominal
		s.setNext(s.calendar.After(nominal))
		if late > int64(s.detail.Spec.CatchUp) {
			s.detail.Missed++
			s.detail.Overlapped = 0
			missed++
			continue
		}
		if len(s.fires) > 0 && s.detail.Overlapped == 0 {
			s.detail.Overlapped = nominal
		}
		s.fire(Fire{Nominal: nominal, Overlap: s.detail.Spec.Overlap})
		fired++
	}
	return true
}

// fire starts a fire, or applies the overlap policy if other fires are open.
func (s *Timetable) fire(f Fire) {
	if s.foreseen {
		return
	}
	f.ID, f.At = cmp.Or(f.ID, FireID(s.config.Name, f.Nominal)), s.now
	if slices.ContainsFunc(s.fires, func(other *Fire) bool { return other.ID == f.ID }) {
		return // already fired
	}
	waiting := s.waiting()
	switch {
	case len(s.fires) == 0 || f.Overlap == OverlapAllow:
		s.start(s.add(f))
	case f.Overlap == OverlapBufferAll && waiting < maxBuffered, f.Overlap == OverlapBufferOne && waiting == 0:
		s.write(s.add(f))
	case f.Overlap == OverlapCancel || f.Overlap == OverlapTerminate:
		s.skipWaiting(func(*Fire) bool { return true })
		s.write(s.add(f))
		s.endEarlier(f.Overlap)
	default:
		s.detail.Skipped++
	}
}

func (s *Timetable) add(f Fire) *Fire {
	s.detail.Last++
	f.Number = s.detail.Last
	s.fires = append(s.fires, &f)
	return &f
}

// waiting counts the fires that have not started.
func (s *Timetable) waiting() (n int) {
	for _, f := range s.fires {
		if f.Run == "" {
			n++
		}
	}
	return n
}

// start starts a fire with the schedule's current spec.
func (s *Timetable) start(f *Fire) {
	spec := &s.detail.Spec
	f.Run, f.At = ChildRunID(s.config.Run, f.Number, s.now), s.now
	s.detail.Started++
	s.write(f)
	start := &history.Start{
		Kind: history.RunStarted, Format: history.Format,
		WorkflowID: f.ID, Run: f.Run, Type: spec.Workflow, Group: s.config.Group, Chain: f.Run, Attempt: 1,
		Input: spec.Input, Trace: spec.Trace, Created: s.now, Settings: spec.Settings,
		Initiator: history.FiredBySchedule,
		Parent:    &history.Parent{WorkflowID: s.config.ID, Run: s.config.Run, Call: f.Number},
		Scheduled: &history.Scheduled{Schedule: s.config.Name, Nominal: f.Nominal},
	}
	if spec.ChainTimeout > 0 {
		start.ChainDeadline = addTime(s.now, spec.ChainTimeout)
	}
	s.out.Messages = append(s.out.Messages, Message{WorkflowID: f.ID, Run: f.Run, Start: start})
}

// endEarlier asks the runs of earlier fires to end, once each.
func (s *Timetable) endEarlier(how string) {
	for _, f := range s.fires {
		if f.Run == "" || f.Asked == how || f.Asked == OverlapTerminate {
			continue
		}
		f.Asked = how
		s.write(f)
		reason := fmt.Sprintf("schedule %q fires again", s.config.Name)
		in := Control{Operation: CancelTheRun, Reason: reason, Chain: f.Run}
		if how == OverlapTerminate {
			in.Operation = TerminateTheRun
		}
		s.out.Messages = append(s.out.Messages, Message{WorkflowID: f.ID, Input: in})
	}
}

// skipWaiting drops the waiting fires that are chosen.
func (s *Timetable) skipWaiting(chosen func(*Fire) bool) {
	for at := len(s.fires) - 1; at >= 0; at-- {
		if f := s.fires[at]; f.Run == "" && chosen(f) {
			s.detail.Skipped++
			s.remove(at)
		}
	}
}

func (s *Timetable) remove(at int) {
	f := s.fires[at]
	s.fires = slices.Delete(s.fires, at, at+1)
	s.out.Rows = slices.DeleteFunc(s.out.Rows, func(r Row) bool { return r.Call == f.Number })
	s.out.Closed = append(s.out.Closed, f.Number)
}

// write puts the row of a fire into the turn.
func (s *Timetable) write(f *Fire) {
	row := Row{Call: f.Number, State: FireOpen, Name: f.ID, Due: f.Nominal, Data: seal(f)}
	if f.Run == "" {
		row.State = FireWaiting
	}
	s.out.Rows = slices.DeleteFunc(s.out.Rows, func(r Row) bool { return r.Call == f.Number })
	s.out.Rows = append(s.out.Rows, row)
}

// handleEnd notes how the run of a fire ended and starts a waiting fire.
func (s *Timetable) handleEnd(in FromChild, when int64) {
	at := slices.IndexFunc(s.fires, func(f *Fire) bool { return f.Number == in.Call && f.Run != "" })
	if at < 0 {
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

// setSpec puts a spec in force.
func (s *Timetable) setSpec(spec history.Schedule, at int64) {
	s.detail.Spec, s.detail.Set = spec, at
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
