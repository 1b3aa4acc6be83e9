package core

import (
	"cmp"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/history"
)

// ScheduleWord is a request to a schedule.
type ScheduleWord string

// Requests to a schedule.
const (
	ScheduleSet      ScheduleWord = "set"      // do what Spec says; creates the schedule again if it was deleted
	SchedulePause    ScheduleWord = "pause"    // stop firing on time
	ScheduleResume   ScheduleWord = "resume"   // ends a pause
	ScheduleTrigger  ScheduleWord = "trigger"  // fire now
	ScheduleBackfill ScheduleWord = "backfill" // fire the nominal times from From to Until now
	ScheduleDelete   ScheduleWord = "delete"   // never fire again
)

// MaxBackfill is the maximum number of nominal times that one request fires.
const MaxBackfill = 1000

// ToSchedule is a request to a schedule. It may arrive twice.
type ToSchedule struct {
	Word ScheduleWord `json:"word"`
	At   int64        `json:"at"` // when it was made, ns
	// Request is an idempotency key, or empty. While the note of a request is kept, another
	// one with the same key and word has no effect.
	Request string `json:"request,omitempty"`
	By      string `json:"by,omitempty"`
	Why     string `json:"why,omitempty"`

	Spec    *history.Schedule `json:"spec,omitempty"`
	Overlap string            `json:"overlap,omitempty"` // for fires by hand; empty: that of the schedule
	From    int64             `json:"from,omitempty"`
	Until   int64             `json:"until,omitempty"`
}

func (ToSchedule) input() {}

// handle takes one input. It returns false if earlier nominal times have to be decided first
// and are too many for one step.
func (s *Timetable) handle(in Input) bool {
	switch in := in.(type) {
	case FromChild:
		// Nominal times up to the end are decided while the run was still open, later ones
		// as if the schedule had known of the end in time.
		ended := min(cmp.Or(in.Ended, s.now), s.now)
		if !s.advance(ended) {
			return false
		}
		s.handleEnd(in, ended)
	case ToSchedule:
		// Times due before the request are decided under the earlier rule.
		if !s.advance(min(in.At-1, s.now)) {
			return false
		}
		s.handleRequest(&in)
	default:
		s.out.Dropped++
	}
	return true
}

func (s *Timetable) handleRequest(in *ToSchedule) {
	if s.detail.Deleted && in.Word != ScheduleSet || s.Asked(string(in.Word), in.Request) != nil {
		s.out.Dropped++
		return
	}
	outcome, text := s.carryOut(in)
	if outcome == "" {
		return
	}
	s.log.add(s.out, Note{At: in.At, Word: string(in.Word), Request: in.Request, By: in.By, Why: in.Why, Outcome: outcome, Text: text})
}

// Foresee carries out a request that waits in the schedule's inbox, for a reader: whoever
// was told that a request is durable sees it. It neither decides nominal times nor starts
// runs; a request to fire is only noted. The machine must not be stepped afterwards.
func (s *Timetable) Foresee(in ToSchedule) {
	s.foreseen, s.now, s.out = true, max(s.now, in.At), &StandingTurn{}
	s.handleRequest(&in)
	s.out = nil
}

// carryOut carries out a request. It returns the note for the log; an empty outcome means no
// note.
func (s *Timetable) carryOut(in *ToSchedule) (outcome, text string) {
	switch in.Word {
	case ScheduleSet:
		return s.set(in)
	case SchedulePause:
		if s.detail.Pause != nil {
			return Unchanged, "it is paused already"
		}
		s.detail.Pause = &Pause{By: in.By, Reason: in.Why, At: in.At}
		s.detail.Next, s.detail.Due, s.detail.Overlapped = 0, 0, 0
		s.skipWaiting(func(f *Fire) bool { return f.Kind == "" })
	case ScheduleResume:
		if s.detail.Pause == nil {
			return Unchanged, "it is not paused"
		}
		s.detail.Pause = nil
		s.restart(in.At)
	case ScheduleTrigger:
		id := TriggerID(s.config.Name, in.At, in.Request)
		s.fire(Fire{ID: id, Nominal: in.At, Kind: string(in.Word), Overlap: cmp.Or(in.Overlap, s.detail.Spec.Overlap), By: in.By, Why: in.Why})
		return Applied, "workflow " + id
	case ScheduleBackfill:
		return s.backfill(in)
	case ScheduleDelete:
		s.skipWaiting(func(*Fire) bool { return true })
		s.detail.Deleted, s.detail.Pause, s.detail.Problem = true, nil, ""
		s.detail.Next, s.detail.Due, s.detail.Overlapped = 0, 0, 0
	default:
		s.out.Faults = append(s.out.Faults, fmt.Errorf("the word %q is not known to this version; run the newer one that wrote it", in.Word))
		return "", ""
	}
	return Applied, ""
}

// set changes the schedule's spec. Setting the same spec again changes nothing. Decided
// times stay decided, and the new nominal times begin after the moment of the request.
func (s *Timetable) set(in *ToSchedule) (outcome, text string) {
	if in.Spec == nil {
		s.out.Faults = append(s.out.Faults, fmt.Errorf("a schedule was to be set to nothing"))
		return "", ""
	}
	if !s.detail.Deleted && in.Spec.Equal(&s.detail.Spec) {
		if in.At == s.detail.Set && len(s.log.notes) == 0 { // created for this request
			return Applied, "it is new"
		}
		return "", "" // programs set it each time they start
	}
	if s.detail.Deleted {
		s.detail.Deleted = false
		s.detail.Started, s.detail.Skipped, s.detail.Missed, s.detail.Recent = 0, 0, 0, nil
	}
	before := s.detail.Spec
	s.detail.Overlapped = 0
	s.setSpec(*in.Spec)
	if s.detail.Next == 0 || !sameTimes(&before, in.Spec) {
		s.restart(in.At)
		return Applied, ""
	}
	s.setNext(s.detail.Next)
	return Applied, ""
}

// sameTimes reports whether two specs have the same nominal times.
func sameTimes(a, b *history.Schedule) bool {
	return a.Cron == b.Cron && a.TimeZone == b.TimeZone && a.Every == b.Every && a.Offset == b.Offset
}

// backfill fires past nominal times.
func (s *Timetable) backfill(in *ToSchedule) (outcome, text string) {
	if s.calendar == nil {
		s.out.Faults = append(s.out.Faults, fmt.Errorf("nothing can be fired for times of the past: %s", s.detail.Problem))
		return Refused, s.detail.Problem
	}
	n, nominal := 0, s.calendar.After(in.From-1)
	for ; nominal != 0 && nominal <= min(in.Until, in.At); n++ {
		if n == MaxBackfill {
			s.out.Faults = append(s.out.Faults, fmt.Errorf("more than %d times were due together; the rest is skipped", MaxBackfill))
			break
		}
		s.fire(Fire{Nominal: nominal, Kind: string(in.Word), Overlap: in.Overlap, By: in.By, Why: in.Why})
		nominal = s.calendar.After(nominal)
	}
	written := func(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339) }
	return Applied, fmt.Sprintf(backfilledText+" from %s to %s", n, written(in.From), written(in.Until))
}

// backfilledText is the beginning of a backfill's note.
const backfilledText = "%d times"

// Backfilled returns how many times a backfill fired, according to its note.
func (n *Note) Backfilled() (times int) {
	_, _ = fmt.Sscanf(n.Text, backfilledText, &times) // 0 if the note is damaged
	return times
}
