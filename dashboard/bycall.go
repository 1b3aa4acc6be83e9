package dashboard

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/view"
)

const (
	blockEvents = 1000  // events of a history that are read at a time
	aheadEvents = 5_000 // events after a page in which to look for the ends of its calls
)

// runRef identifies a run in an address. An empty run ID means the latest run of the
// workflow ID.
type runRef struct{ id, run string }

// beginning are the events that begin a call, or are all of it. The value says whether the
// call also has an end.
var beginning = map[string]bool{
	"ActivityScheduled": true, "StepScheduled": true, "TimerStarted": true, "ChildScheduled": true, "DetachedScheduled": true,
	"SignalAwaited": false, "SideEffectRecorded": false, "VersionMarked": false, "BlockStarted": false, "CallRefused": false, "SignalSent": false,
}

// ending are the events that end a call.
var ending = map[string]bool{"CallCompleted": true, "CallFailed": true, "CallCanceled": true, "TimerFired": true, "TimerCanceled": true}

// callSpan is a call from its first event to its last, or an event that belongs to no call.
type callSpan struct {
	first, last *view.Event
	unended     bool
}

// callSpans are the rows of a history page on which all events of a call are one row. A
// call is on the page on which it begins.
type callSpans struct {
	rows    []callSpan
	byCall  map[int64]int
	whole   bool       // the history was read from its beginning
	full    bool       // an event begins another row
	last    view.Place // place of the events before that one
	unended int
	ahead   int // events looked at since the page was full
}

// eventsByCall shows a part of the history, a row per call. It reads on until the calls on the
// page have ended, up to a limit.
func eventsByCall(q *request, p *historyPage, h perdure.Handle[view.Payload], part view.HistoryRange, of runRef) (next view.Place, err error) {
	s := callSpans{byCall: map[int64]int{}, whole: part.After == (view.Place{})}
	part.Limit = blockEvents
	for more := true; more && !s.done(); {
		events, err := h.HistoryRange(q.ctx, part)
		if err != nil {
			return next, err
		}
		for i := range events {
			s.add(&events[i])
		}
		if more = len(events) == blockEvents; more {
			part.After = events[blockEvents-1].Place()
		} else {
			s.ahead = 0 // everything was read: calls without an end are open
		}
	}
	for _, r := range s.rows {
		row := rowOfEvent(r.first, r.last, of)
		if r.unended && s.ahead > 0 {
			row.Ended = "still open " + human.Count(s.ahead) + " events later"
		}
		p.Events = append(p.Events, row)
	}
	if s.full {
		next = s.last
	}
	return next, nil
}

func (s *callSpans) done() bool { return s.full && (s.unended == 0 || s.ahead >= aheadEvents) }

// add adds the next event.
func (s *callSpans) add(e *view.Event) {
	if s.full {
		s.ahead++
	}
	row, known := s.byCall[e.Call]
	hasEnd, begins := beginning[e.Kind]
	switch {
	case known && e.Call != 0:
		r := &s.rows[row]
		if r.last = e; r.unended && ending[e.Kind] {
			r.unended = false
			s.unended--
		}
	case s.full:
		return
	case e.Call != 0 && !begins && !s.whole: // its row is on an earlier page
	case len(s.rows) == pageEvents:
		s.full = true
		return
	default:
		s.byCall[e.Call] = len(s.rows)
		s.rows = append(s.rows, callSpan{e, e, hasEnd})
		if hasEnd {
			s.unended++
		}
	}
	if !s.full {
		s.last = e.Place()
	}
}
