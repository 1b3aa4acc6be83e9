package schedule

import (
	"errors"
	"time"
	_ "time/tzdata" // for machines that have no database of time zones

	"github.com/perdure/perdure/internal/wall"
)

// Times are the nominal times of a Spec. They are safe for concurrent use.
type Times struct {
	every, offset time.Duration // of an interval
	cron          *expression   // else nil
	zone          *time.Location
}

// Times returns the nominal times, or an error if Cron, TimeZone, Every or Offset is
// invalid.
func (s Spec) Times() (*Times, error) {
	switch {
	case s.Cron == "" && s.Every == 0:
		return nil, wrong("Cron", "is empty, and so is Every; one of them says when to fire")
	case s.Cron != "" && s.Every != 0:
		return nil, wrong("Every", "is set beside Cron; make two schedules of it")
	case s.Cron != "":
		return s.cronTimes()
	}
	var faults []error
	if s.Every < MinEvery {
		faults = append(faults, wrong("Every", "is %s; it is at least %s", s.Every, MinEvery))
	}
	if s.Offset < 0 || s.Offset >= max(s.Every, MinEvery) {
		faults = append(faults, wrong("Offset", "is %s; it is zero or more, and less than Every", s.Offset))
	}
	if s.TimeZone != "" {
		faults = append(faults, wrong("TimeZone", "is set, but an interval is counted in UTC; use Cron, or Offset"))
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return &Times{every: s.Every, offset: s.Offset}, nil
}

func (s Spec) cronTimes() (*Times, error) {
	cron, ofCron := parseCron(s.Cron)
	zone, ofZone := loadZone(s.TimeZone)
	faults := []error{ofCron, ofZone}
	if s.Offset != 0 {
		faults = append(faults, wrong("Offset", "is set beside Cron; it belongs to Every"))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return &Times{cron: cron, zone: zone}, nil
}

// loadZone reads a time zone. "Local" means another one on each machine.
func loadZone(name string) (*time.Location, error) {
	if name == "Local" {
		return nil, wrong("TimeZone", `is "Local", which differs between machines; use a name of the IANA database, such as "Europe/Paris"`)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, wrong("TimeZone", "is %q, which is not known here (%v); use a name of the IANA database, such as %q", name, err, "Europe/Paris")
	}
	return zone, nil
}

// Next returns the first nominal time after the given one, or the zero Time if there is
// none that can be stored.
func (t *Times) Next(after time.Time) time.Time {
	if t.cron == nil {
		return t.nextInterval(after)
	}
	for shown := wall.Of(after, t.zone); ; {
		next, ok := t.cron.next(shown)
		if !ok || next >= lastSecond {
			return time.Time{}
		}
		if at := wall.Instant(next, t.zone); at.After(after) {
			return at.UTC()
		}
		shown = next // a clock showed it before
	}
}

// lastSecond is the end of what nanoseconds since 1970 can say, with room for jitter.
const lastSecond = 9_000_000_000

func (t *Times) nextInterval(after time.Time) time.Time {
	if s := after.Unix(); s >= lastSecond || s < -lastSecond {
		return time.Time{}
	}
	since := after.UnixNano() - int64(t.offset)
	k := since / int64(t.every)
	if since < 0 && since%int64(t.every) != 0 {
		k--
	}
	if k >= lastSecond*int64(time.Second)/int64(t.every)-1 {
		return time.Time{}
	}
	return time.Unix(0, (k+1)*int64(t.every)+int64(t.offset)).UTC()
}

// Upcoming returns the next n nominal times after the given one, or fewer if there are no
// more.
func (t *Times) Upcoming(after time.Time, n int) []time.Time {
	var times []time.Time
	for len(times) < n {
		if after = t.Next(after); after.IsZero() {
			break
		}
		times = append(times, after)
	}
	return times
}
