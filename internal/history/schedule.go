package history

import (
	"reflect"
	"time"
)

// Schedule is the recorded spec of a schedule: when it fires, and what it starts. Durations
// are in nanoseconds.
type Schedule struct {
	Cron     string        `json:"cron,omitempty"`
	TimeZone string        `json:"time_zone,omitempty"`
	Every    time.Duration `json:"every,omitempty"`
	Offset   time.Duration `json:"offset,omitempty"`
	Jitter   time.Duration `json:"jitter,omitempty"`
	CatchUp  time.Duration `json:"catch_up"`
	Overlap  string        `json:"overlap"`

	Workflow string  `json:"workflow"` // name
	Input    Payload `json:"input,omitzero"`
	Trace    string  `json:"trace,omitempty"`
	Settings
}

// Equal reports whether two schedules do the same.
func (s *Schedule) Equal(t *Schedule) bool {
	a, b := *s, *t
	if !a.Input.Equal(b.Input) || !a.Memo.Equal(b.Memo) {
		return false
	}
	a.Input, a.Memo, b.Input, b.Memo = Payload{}, Payload{}, Payload{}, Payload{}
	return reflect.DeepEqual(a, b)
}

// FiredBySchedule is the initiator of a run that a schedule started.
const FiredBySchedule = "schedule"

// Scheduled says which fire of a schedule started a chain.
type Scheduled struct {
	Schedule string `json:"schedule"` // name
	Nominal  int64  `json:"nominal"`  // the nominal time that fired
}
