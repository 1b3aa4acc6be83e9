package core

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/history"
)

// Timetable is the step machine of one schedule: an entity like a gate, with an inbox, a
// wake time and rows, but without history and without an end. The runs it starts are its
// children: the message that starts a run is part of the turn that decides so, and a
// message back says how the run ended. It is not safe for concurrent use.
type Timetable struct {
	standing
	config   ScheduleConfig
	calendar Calendar // nil if the spec has no usable calendar
	detail   ScheduleDetail

	fires []*Fire // open or waiting, by number

	foreseen bool // nothing starts; see Foresee
}

// ScheduleConfig is what a schedule's row does not hold.
type ScheduleConfig struct {
	Name  string
	ID    string // workflow ID of its row
	Run   string // run ID of its row
	Group string
	// Calendar returns the nominal times of a spec. It needs time zones, which a machine
	// may lack.
	Calendar func(history.Schedule) (Calendar, error)
}

// Policies for overlapping fires. Package schedule describes them.
const (
	OverlapSkip      = "skip"
	OverlapBufferOne = "buffer_one"
	OverlapBufferAll = "buffer_all"
	OverlapCancel    = "cancel_other"
	OverlapTerminate = "terminate_other"
	OverlapAllow     = "allow_all"
)

// maxBuffered is the maximum number of waiting fires.
const maxBuffered = 1000

// ScheduleDetail is the document in a schedule's row: everything except its fires.
type ScheduleDetail struct {
	Spec    history.Schedule `json:"spec"`
	Set     int64            `json:"set"`               // when the spec was set, ns
	Next    int64            `json:"next,omitempty"`    // first undecided nominal time, 0 for none
	Due     int64            `json:"due,omitempty"`     // when Next fires, jitter included
	Decided int64            `json:"decided,omitempty"` // all nominal times up to here are decided
	// Overlapped is the first of the nominal times that were all decided because the run of
	// a fire was open, 0 for none. See rewind.
	Overlapped int64 `json:"overlapped,omitempty"`
	// LastEnd is the latest known end of a run while others are open, 0 if none is open:
	// ends may be heard out of order.
	LastEnd int64  `json:"last_end,omitempty"`
	Pause   *Pause `json:"pause,omitempty"`
	Deleted bool   `json:"deleted,omitempty"`
	// Problem says why there are no nominal times.
	Problem string `json:"problem,omitempty"`
	Retry   int64  `json:"retry,omitempty"` // when to try again

	Last    int64  `json:"last,omitempty"` // number of the last fire
	Started int64  `json:"started,omitempty"`
	Skipped int64  `json:"skipped,omitempty"` // because of overlap
	Missed  int64  `json:"missed,omitempty"`  // because no node served the schedule in time
	Recent  []Fire `json:"recent,omitempty"`  // ended fires, oldest first
}

// Fire is a nominal time that has come.
type Fire struct {
	Number  int64  `json:"number"`
	Nominal int64  `json:"nominal"`
	Kind    string `json:"kind,omitempty"` // empty if fired on time, else trigger or backfill
	ID      string `json:"id"`             // workflow ID
	Overlap string `json:"overlap,omitempty"`
	By      string `json:"by,omitempty"` // who asked for it
	Why     string `json:"why,omitempty"`

	Run   string `json:"run,omitempty"`   // first run; empty while the fire waits
	At    int64  `json:"at"`              // when it started, or began to wait
	Asked string `json:"asked,omitempty"` // what a later fire asked of it

	// The outcome of an ended fire.
	Status string `json:"status,omitempty"` // completed, failed, canceled, terminated, id-in-use
	Closed int64  `json:"closed,omitempty"`
	Error  string `json:"error,omitempty"`
}

// shownFires is how many ended fires the detail keeps.
const shownFires = 20

// States of a schedule's fires.
const (
	FireOpen    CallState = "#fired"
	FireWaiting CallState = "#buffered"
)

// NewTimetable returns the machine of a schedule that has no row yet.
func NewTimetable(config ScheduleConfig, spec history.Schedule, now int64) *Timetable {
	s := &Timetable{config: config, standing: standing{now: now, state: State{Status: StatusStanding, Wake: Never}}}
	s.setSpec(spec, now)
	s.restart(now)
	s.updateState()
	return s
}

// LoadTimetable returns the machine of a schedule from its rows.
func LoadTimetable(config ScheduleConfig, rows []Row, state State) (*Timetable, error) {
	s := &Timetable{config: config, standing: standing{state: state}}
	rows = s.log.load(rows)
	var err error
	if s.detail, err = decode[ScheduleDetail](state.Detail, "the row of the schedule"); err != nil {
		return nil, err
	}
	for _, row := range rows {
		f, err := decode[Fire](row.Data, "the row of a fire")
		if err != nil {
			return nil, err
		}
		s.fires = append(s.fires, &f)
	}
	slices.SortFunc(s.fires, func(a, b *Fire) int { return int(a.Number - b.Number) })
	s.compile()
	return s, nil
}

// Step implements Standing.
func (s *Timetable) Step(now int64, inputs []Input) *StandingTurn {
	s.begin(now)
	if s.calendar == nil && s.now >= s.detail.Retry {
		s.compile()
	}
	if s.detail.Next == 0 {
		s.restart(s.detail.Decided) // there may be a calendar by now
	}
	for _, in := range inputs {
		if in != nil && !s.handle(in) {
			break
		}
		s.out.Heard++
	}
	if s.out.Heard == len(inputs) {
		s.advance(s.now)
	}
	s.updateState()
	return s.end()
}

// updateState computes the state of the schedule's row at the end of a step.
func (s *Timetable) updateState() {
	s.detail.Retry = 0
	if s.calendar == nil && !s.detail.Deleted {
		s.detail.Retry = s.now + compileAgain
	}
	s.standing.updateState(s.detail, s.NextDue())
}

// NextDue returns when the schedule must be stepped if no message comes, or Never.
func (s *Timetable) NextDue() int64 {
	switch {
	case s.detail.Retry != 0:
		return s.detail.Retry
	case s.detail.Next != 0:
		return s.detail.Due
	}
	return Never
}

// Name is the schedule's name.
func (s *Timetable) Name() string { return s.config.Name }

// Detail returns what the schedule does and what it remembers besides its fires.
func (s *Timetable) Detail() ScheduleDetail { return s.detail }

// Fires returns the open and waiting fires, by number.
func (s *Timetable) Fires() []*Fire { return s.fires }

// AwaitsMessage returns false: a schedule need not stay in memory for its messages.
func (s *Timetable) AwaitsMessage() bool { return false }

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
	Base    int64             `json:"base,omitempty"`    // when the spec was set that Spec replaces, and no other; 0: any
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
	}
	return true
}

func (s *Timetable) handleRequest(in *ToSchedule) {
	if s.detail.Deleted && in.Word != ScheduleSet {
		return
	}
	s.obey(Note{At: in.At, Word: string(in.Word), Request: in.Request, By: in.By, Why: in.Why}, func() (outcome, text string) { return s.carryOut(in) })
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
	if s.Outdated(in.Base) {
		return Refused, "it was changed before"
	}
	if s.detail.Deleted {
		s.detail.Deleted = false
		s.detail.Started, s.detail.Skipped, s.detail.Missed, s.detail.Recent = 0, 0, 0, nil
	}
	before := s.detail.Spec
	s.detail.Overlapped = 0
	s.setSpec(*in.Spec, in.At)
	if s.detail.Next == 0 || !sameTimes(&before, in.Spec) {
		s.restart(in.At)
		return Applied, ""
	}
	s.setNext(s.detail.Next)
	return Applied, ""
}

// Outdated reports whether the spec is another one than that which was set at a time.
func (s *Timetable) Outdated(base int64) bool {
	return base != 0 && (s.detail.Deleted || base != s.detail.Set)
}

// LastSet returns who set the spec that the schedule has, nil if that is no longer in its log.
func (s *Timetable) LastSet() *Note {
	for i := len(s.log.notes) - 1; i >= 0; i-- {
		if n := &s.log.notes[i]; n.Word == string(ScheduleSet) && n.At == s.detail.Set {
			return n
		}
	}
	return nil
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
