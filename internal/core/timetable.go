package core

import (
	"slices"
	"time"

	"github.com/perdure/perdure/internal/history"
)

// Timetable is the step machine of one schedule: an entity like a gate, with an
// inbox, a wake time and rows, but without a history and without an end. What it
// starts is a child of it: the message that starts the run is part of the turn that
// decides so, and how the run ended is a message back. It is not safe for concurrent
// use.
type Timetable struct {
	config   ScheduleConfig
	calendar Calendar // nil if there is none
	detail   ScheduleDetail
	state    State // as last committed or about to be

	fires []*Fire // that are open or wait, by number
	log   notebook
	now   int64
	out   *StandingTurn
}

// ScheduleConfig is what a schedule does not have on record.
type ScheduleConfig struct {
	Name  string
	ID    string // workflow ID of its row
	Run   string // run ID of its row
	Group string
	// Calendar makes the nominal times of what is on record. It needs to know time
	// zones, which not every machine may.
	Calendar func(history.Schedule) (Calendar, error)
}

// Calendar tells nominal times.
type Calendar interface {
	// After is the first nominal time after another one, 0 if there is none.
	After(at int64) int64
}

// Policies for fires that overlap, as package schedule describes them.
const (
	OverlapSkip      = "skip"
	OverlapBufferOne = "buffer_one"
	OverlapBufferAll = "buffer_all"
	OverlapCancel    = "cancel_other"
	OverlapTerminate = "terminate_other"
	OverlapAllow     = "allow_all"
)

// maxBuffered is how many fires can wait.
const maxBuffered = 1000

// ScheduleDetail is the document of a schedule's row: all but its fires.
type ScheduleDetail struct {
	Spec    history.Schedule `json:"spec"`
	Set     int64            `json:"set"`               // when the spec came to be, ns
	Next    int64            `json:"next,omitempty"`    // the nominal time that is not decided yet, 0 for none
	Due     int64            `json:"due,omitempty"`     // when it is fired: Next and jitter
	Decided int64            `json:"decided,omitempty"` // up to when all nominal times are
	// Overlapped is the first nominal time since which all were decided because the run of
	// a fire was open, 0 if none was: see rewind.
	Overlapped int64 `json:"overlapped,omitempty"`
	// LastEnd is the latest end of a run that was heard of while others were open, 0 if none
	// is: ends are not heard in their order.
	LastEnd int64  `json:"last_end,omitempty"`
	Pause   *Pause `json:"pause,omitempty"`
	Deleted bool   `json:"deleted,omitempty"`
	// Problem is why there are no nominal times.
	Problem string `json:"problem,omitempty"`
	Retry   int64  `json:"retry,omitempty"` // when the problem may be gone

	Last    int64  `json:"last,omitempty"` // number of the last fire
	Started int64  `json:"started,omitempty"`
	Skipped int64  `json:"skipped,omitempty"` // because of overlap
	Missed  int64  `json:"missed,omitempty"`  // because no node served the schedule in time
	Recent  []Fire `json:"recent,omitempty"`  // that have ended, oldest first
}

// Fire is a nominal time that came.
type Fire struct {
	Number  int64  `json:"number"`
	Nominal int64  `json:"nominal"`
	Kind    string `json:"kind,omitempty"` // empty if its time came by itself; trigger, backfill
	ID      string `json:"id"`             // workflow ID
	Overlap string `json:"overlap,omitempty"`
	By      string `json:"by,omitempty"` // who wanted it
	Why     string `json:"why,omitempty"`

	Run   string `json:"run,omitempty"`   // first run; empty as long as it waits
	At    int64  `json:"at"`              // when it was started, or began to wait
	Asked string `json:"asked,omitempty"` // what was asked of it for the sake of a later one

	// Of one that has ended.
	Status string `json:"status,omitempty"` // completed, failed, canceled, terminated, id-in-use
	Closed int64  `json:"closed,omitempty"`
	Error  string `json:"error,omitempty"`
}

// shownFires is how many fires that have ended are on record.
const shownFires = 20

// States of a schedule's fires.
const (
	FireOpen    CallState = "#fired"
	FireWaiting CallState = "#buffered"
)

// NewTimetable makes a schedule that has no row yet.
func NewTimetable(config ScheduleConfig, spec history.Schedule, now int64) *Timetable {
	s := &Timetable{config: config, now: now, state: State{Status: StatusStanding, Wake: Never}}
	s.adopt(spec)
	s.begin(now)
	s.settle()
	return s
}

// LoadTimetable makes a schedule's machine from its rows.
func LoadTimetable(config ScheduleConfig, rows []Row, state State) (*Timetable, error) {
	s := &Timetable{config: config, state: state}
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

// adopt makes the schedule do what a spec says.
func (s *Timetable) adopt(spec history.Schedule) {
	s.detail.Spec, s.detail.Set = spec, s.now
	s.compile()
}

// compileAgain is how long a schedule without nominal times waits before it asks for
// them again: another node may know its time zone.
const compileAgain = int64(time.Minute)

func (s *Timetable) compile() {
	calendar, err := s.config.Calendar(s.detail.Spec)
	s.calendar, s.detail.Problem, s.detail.Retry = calendar, "", 0
	if err != nil {
		s.calendar, s.detail.Problem = nil, err.Error()
	}
}

// begin lets the nominal times begin after a moment.
func (s *Timetable) begin(after int64) {
	s.detail.Next, s.detail.Due, s.detail.Overlapped = 0, 0, 0
	s.detail.Decided = max(after, s.detail.Decided)
	if s.calendar != nil && s.detail.Pause == nil && !s.detail.Deleted {
		s.await(s.calendar.After(s.detail.Decided))
	}
}

// await makes a nominal time the next one.
func (s *Timetable) await(nominal int64) {
	s.detail.Next, s.detail.Due = nominal, s.due(nominal)
}

// due is when a nominal time is fired.
func (s *Timetable) due(nominal int64) int64 {
	if nominal == 0 || s.detail.Spec.Jitter <= 0 {
		return nominal
	}
	span := int64(s.detail.Spec.Jitter)
	if following := s.calendar.After(nominal); following != 0 {
		span = min(span, following-nominal)
	}
	return nominal + int64(Draw(s.config.Name, nominal, 0)*float64(span))
}

// Step implements Standing.
func (s *Timetable) Step(now int64, inputs []Input) *StandingTurn {
	s.now = max(s.now, now)
	s.out = &StandingTurn{Time: s.now}
	if s.calendar == nil && s.now >= s.detail.Retry {
		s.compile()
	}
	if s.detail.Next == 0 {
		s.begin(s.detail.Decided) // there may be a calendar now
	}
	for _, in := range inputs {
		if in != nil && !s.hear(in) {
			break
		}
		s.out.Heard++
	}
	if s.out.Heard == len(inputs) {
		s.advance(s.now)
	}
	s.settle()
	out := s.out
	s.out = nil
	return out
}

// settle works out the state of the schedule's row at the end of a step.
func (s *Timetable) settle() {
	s.detail.Retry = 0
	if s.calendar == nil && !s.detail.Deleted {
		s.detail.Retry = s.now + compileAgain
	}
	data, _ := history.Seal(s.detail) // strings and numbers only: cannot fail
	next := State{Status: StatusStanding, Wake: s.NextDue(), Detail: data}
	if next.Wake != s.state.Wake || string(data) != string(s.state.Detail) {
		s.state = next
		if s.out != nil {
			s.out.State = &next
		}
	}
}

// NextDue is when the schedule must be stepped next without a message,
// Never if at no time.
func (s *Timetable) NextDue() int64 {
	switch {
	case s.detail.Retry != 0:
		return s.detail.Retry
	case s.detail.Next != 0:
		return s.detail.Due
	}
	return Never
}

// Upcoming are the next nominal times that are not decided yet, and when each is
// fired.
func (s *Timetable) Upcoming(n int) (nominal, due []int64) {
	ahead := *s
	for len(due) < n && ahead.detail.Next != 0 && ahead.calendar != nil {
		nominal, due = append(nominal, ahead.detail.Next), append(due, ahead.detail.Due)
		ahead.await(ahead.calendar.After(ahead.detail.Next))
	}
	return nominal, due
}

// Name is the schedule's name.
func (s *Timetable) Name() string { return s.config.Name }

// Detail is what the schedule does, and what it remembers beside its fires.
func (s *Timetable) Detail() ScheduleDetail { return s.detail }

// Fires are those that are open or wait, by number.
func (s *Timetable) Fires() []*Fire { return s.fires }

// Log is what people did to the schedule, oldest first.
func (s *Timetable) Log() []Note { return s.log.Log() }

// Ended reports that a schedule never ends.
func (s *Timetable) Ended() bool { return false }

// State is the state of the schedule's row as the last step left it.
func (s *Timetable) State() State { return s.state }

// Idle reports that a schedule holds nothing in memory that its rows do not.
func (s *Timetable) Idle() bool { return true }

// AwaitsMessage reports that a schedule need not stay in memory for its messages.
func (s *Timetable) AwaitsMessage() bool { return false }

// Asked returns the note of a request, nil if it is new: see notebook.Asked.
func (s *Timetable) Asked(word, request string) *Note { return s.log.Asked(word, request) }
