package schedule

import (
	"errors"
	"fmt"
	"time"
)

// Overlap is what becomes of a fire while the run of an earlier one is open. A run
// that is continued as new or retried is open until the last of its chain has ended.
type Overlap string

// The policies.
const (
	// Skip fires nothing. It is the default.
	Skip Overlap = "skip"
	// BufferOne fires when the run has ended; more than one that waits is skipped.
	BufferOne Overlap = "buffer_one"
	// BufferAll fires all of them one after the other, at most MaxBuffered wait.
	BufferAll Overlap = "buffer_all"
	// CancelOther asks the run to cancel and fires when it has ended. Of several that
	// wait, the latest is fired.
	CancelOther Overlap = "cancel_other"
	// TerminateOther ends the run immediately and fires then.
	TerminateOther Overlap = "terminate_other"
	// AllowAll fires beside the run, and any number of others.
	AllowAll Overlap = "allow_all"
)

// MaxBuffered is how many fires of a schedule can wait. More are skipped.
const MaxBuffered = 1000

// Limits and defaults of a Spec.
const (
	// DefaultCatchUp is the window of a Spec that names none.
	DefaultCatchUp = 24 * time.Hour
	// MinCatchUp is the smallest window: moving a schedule to another node after a
	// crash takes that long.
	MinCatchUp = 10 * time.Second
	// MinEvery is the smallest interval.
	MinEvery = time.Second
)

// Spec says when a schedule fires. Either Cron or Every must be set. In JSON its fields
// are cron, time_zone, every, offset, jitter, overlap and catch_up, durations are texts
// like "1h30m0s".
type Spec struct {
	// Cron is an expression of five fields: minute, hour, day of month, month, day of
	// week (0 or SUN is Sunday). A field is *, a number, a name (JAN, MON), a range
	// (1-5), a step (*/15, 8-18/2), or several of these with commas. If both days are
	// restricted, either will do. @hourly, @daily, @weekly, @monthly and @yearly are
	// expressions as well.
	Cron string
	// TimeZone is the time zone of Cron, by its name in the IANA database,
	// "Europe/Paris" for instance. Empty is UTC.
	TimeZone string

	// Every is the interval, counted from 1970 in UTC and plus Offset; at least
	// MinEvery. Offset is less than Every.
	Every  time.Duration
	Offset time.Duration

	// Jitter spreads fires: each is later than its nominal time by up to so much, but
	// never so late as the nominal time that follows. How much is a hash of the
	// schedule and the time, so it is the same on every node.
	Jitter time.Duration

	// Overlap is what becomes of a fire while the run of an earlier one is open.
	// Empty is Skip.
	Overlap Overlap

	// CatchUp is how late a fire may be after a downtime: all times that
	// were missed in this window are fired, in their order and as Overlap says; what
	// is older is counted as missed. A time that came while the run of an earlier fire
	// was open overlaps with it, one that came after its end does not, whenever the
	// schedule hears of that end. Zero is DefaultCatchUp.
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

// Validate returns what is wrong with the Spec, nil if nothing is: a *SpecError for
// each field, joined.
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
	if s.Overlap != "" && !s.Overlap.known() {
		faults = append(faults, wrong("Overlap", "is %q; it is %s, %s, %s, %s, %s or %s", s.Overlap, Skip, BufferOne, BufferAll, CancelOther, TerminateOther, AllowAll))
	}
	return errors.Join(faults...)
}

func (o Overlap) known() bool {
	switch o {
	case Skip, BufferOne, BufferAll, CancelOther, TerminateOther, AllowAll:
		return true
	}
	return false
}

// Check returns what is wrong with the policy, nil if nothing is.
func (o Overlap) Check() error { return Spec{Every: time.Second, Overlap: o}.validateRest() }
