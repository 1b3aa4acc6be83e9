package core

import (
	"cmp"
	"fmt"
	"slices"

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
		s.out.Dropped++ // already fired
		return
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
	data, _ := history.Seal(f) // strings and numbers only: cannot fail
	row := Row{Call: f.Number, State: FireOpen, Name: f.ID, Due: f.Nominal, Data: data}
	if f.Run == "" {
		row.State = FireWaiting
	}
	s.out.Rows = slices.DeleteFunc(s.out.Rows, func(r Row) bool { return r.Call == f.Number })
	s.out.Rows = append(s.out.Rows, row)
}
