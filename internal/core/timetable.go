package core

import (
	"slices"

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
	s.setSpec(spec)
	s.restart(now)
	s.updateState()
	return s
}

// LoadTimetable returns the machine of a schedule from its rows.
func LoadTimetable(config ScheduleConfig, rows []Row, state State) (*Timetable, error) {
	s := &Timetable{config: config, standing: standing{state: state}}
	rows = s.log.load(rows)
	if err := history.Unseal(state.Detail, &s.detail); err != nil {
		return nil, history.Damaged("the row of the schedule", err)
	}
	for _, row := range rows {
		f := &Fire{}
		if err := history.Unseal(row.Data, f); err != nil {
			return nil, history.Damaged("the row of a fire", err)
		}
		s.fires = append(s.fires, f)
	}
	slices.SortFunc(s.fires, func(a, b *Fire) int { return int(a.Number - b.Number) })
	s.compile()
	return s, nil
}

// Step implements Standing.
func (s *Timetable) Step(now int64, inputs []Input) *StandingTurn {
	s.now = max(s.now, now)
	s.out = &StandingTurn{Time: s.now}
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
	out := s.out
	s.out = nil
	return out
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
