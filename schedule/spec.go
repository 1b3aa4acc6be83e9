package schedule

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Overlap says what happens to a fire while the run of an earlier one is open. A run that
// is continued as new or retried counts as open until the last run of its chain has
// ended.
type Overlap string

// The policies.
const (
	// Skip fires nothing. It is the default.
	Skip Overlap = "skip"
	// BufferOne fires when the run has ended. At most one fire waits; further ones are
	// skipped.
	BufferOne Overlap = "buffer_one"
	// BufferAll fires all of them one after the other. At most MaxBuffered wait.
	BufferAll Overlap = "buffer_all"
	// CancelOther asks the run to cancel and fires when it has ended. If several fires
	// wait, the latest is fired.
	CancelOther Overlap = "cancel_other"
	// TerminateOther terminates the run, then fires.
	TerminateOther Overlap = "terminate_other"
	// AllowAll fires immediately: any number of runs may be open.
	AllowAll Overlap = "allow_all"
)

var overlaps = []Overlap{Skip, BufferOne, BufferAll, CancelOther, TerminateOther, AllowAll}

// MaxBuffered is how many fires of a schedule can wait. Further ones are skipped.
const MaxBuffered = 1000

// Limits and defaults of a Spec.
const (
	// DefaultCatchUp is the CatchUp of a Spec that sets none.
	DefaultCatchUp = 24 * time.Hour
	// MinCatchUp is the smallest CatchUp: after a crash it takes that long until another
	// node serves the schedule.
	MinCatchUp = 10 * time.Second
	// MinEvery is the smallest interval.
	MinEvery = time.Second
)

// Spec says when a schedule fires. Exactly one of Cron and Every must be set. Its JSON
// fields are cron, time_zone, every, offset, jitter, overlap and catch_up; durations are
// strings such as "1h30m0s".
type Spec struct {
	// Cron is an expression of five fields: minute, hour, day of month, month, day of
	// week (0 or SUN is Sunday). A field is *, a number, a name (JAN, MON), a range
	// (1-5), a step (*/15, 8-18/2), or several of these with commas. If both day fields
	// are restricted, a day that matches either one counts. @hourly, @daily, @weekly,
	// @monthly and @yearly are expressions as well.
	Cron string
	// TimeZone is the time zone of Cron, a name of the IANA database such as
	// "Europe/Paris". Empty is UTC.
	TimeZone string

	// Every is the interval, at least MinEvery (1s), counted from 1970-01-01 UTC plus Offset.
	// Offset is less than Every.
	Every  time.Duration
	Offset time.Duration

	// Jitter delays each fire by up to this time after its nominal time, but never until
	// the next nominal time. The delay is a hash of the schedule and the time, so it is
	// the same on every node.
	Jitter time.Duration

	// Overlap says what happens to a fire while the run of an earlier one is open. Empty
	// is Skip.
	Overlap Overlap

	// CatchUp is how late a fire may be after a downtime: all times that were missed in
	// this window are fired, in order and as Overlap says; older ones are counted as
	// missed. A missed time overlaps with the run of an earlier fire if that run was open
	// at that time, whenever the schedule learns of its end. Zero is DefaultCatchUp
	// (24h), the minimum is MinCatchUp (10s).
	CatchUp time.Duration
}

// SpecError says what is wrong with a field of a Spec.
type SpecError struct {
	Field   string // Cron, Every ...
	Problem string // what is wrong, and what would be right
}

func (e *SpecError) Error() string { return "schedule: " + e.Field + " " + e.Problem }

func wrong(field, format string, args ...any) error {
	return &SpecError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

// Validate returns nil or the joined errors of all fields, each a *SpecError.
func (s Spec) Validate() error {
	_, err := s.Times()
	return errors.Join(err, s.validateRest())
}

// validateRest looks at what does not concern the nominal times.
func (s Spec) validateRest() error {
	var faults []error
	if s.Jitter < 0 {
		faults = append(faults, wrong("Jitter", "is %s; it is zero or more", s.Jitter))
	}
	if s.CatchUp != 0 && s.CatchUp < MinCatchUp {
		faults = append(faults, wrong("CatchUp", "is %s; it is at least %s, which a move to another node may take, or zero for %s", s.CatchUp, MinCatchUp, DefaultCatchUp))
	}
	if s.Overlap != "" && !slices.Contains(overlaps, s.Overlap) {
		faults = append(faults, wrong("Overlap", "is %q; it is %s, %s, %s, %s, %s or %s", s.Overlap, Skip, BufferOne, BufferAll, CancelOther, TerminateOther, AllowAll))
	}
	return errors.Join(faults...)
}

// Check returns an error if the policy is unknown.
func (o Overlap) Check() error { return Spec{Every: time.Second, Overlap: o}.validateRest() }
