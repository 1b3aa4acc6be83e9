package eval

import (
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/wall"
)

// forms are the letters of the forms of times, as Go writes them.
var forms = map[byte]string{
	'Y': "2006", 'm': "01", 'd': "02", 'H': "15", 'M': "04", 'S': "05", 'y': "06", 'B': "January", 'b': "Jan", 'A': "Monday", 'a': "Mon", 'I': "03", 'p': "PM", 'z': "-0700", 'Z': "MST", 'f': "000000", 'j': "002",
}

// formed calls do with each part of a form: a letter behind a percent sign, or a text.
func formed(form string, do func(letter byte, text string) error) error {
	for form != "" {
		text, rest, more := strings.Cut(form, "%")
		if text != "" {
			if err := do(0, text); err != nil {
				return err
			}
		}
		if !more {
			return nil
		}
		switch {
		case rest == "":
			return fault(TypeValue, "the form of a time ends with a %%")
		case rest[0] == '%':
			if err := do(0, "%"); err != nil {
				return err
			}
		case forms[rest[0]] == "":
			return fault(TypeValue, "the form of a time has no %%%c; it has %%Y %%m %%d %%H %%M %%S %%y %%B %%b %%A %%a %%I %%p %%z %%Z %%f %%j", rest[0])
		default:
			if err := do(rest[0], ""); err != nil {
				return err
			}
		}
		form = rest[1:]
	}
	return nil
}

const (
	dateForm = "2006-01-02"
	maxYear  = 9999
)

// timeOf is a number of seconds as a time in a zone. What a zone means is on record.
func (f *frame) timeOf(v Value, zone []Value) (time.Time, error) {
	seconds, ok := toFloat(v)
	if !ok {
		return time.Time{}, fault(TypeType, "a time is a number of seconds since 1970, and this is %s", kindOf(v))
	}
	if math.Abs(seconds) > 250e9 {
		return time.Time{}, fault(TypeValue, "the time is beyond the year %d", maxYear)
	}
	whole := math.Floor(seconds)
	return f.inZone(time.Unix(int64(whole), int64(math.Round((seconds-whole)*1e6))*1000).UTC(), zone)
}

// inZone is a time in the zone that the last argument of a builtin names.
func (f *frame) inZone(t time.Time, zone []Value) (time.Time, error) {
	if len(zone) == 0 {
		return t, nil
	}
	name, ok := zone[0].(string)
	if !ok {
		return t, fault(TypeType, "a time zone is a text such as \"Europe/Berlin\", and this is %s", kindOf(zone[0]))
	}
	if name == "UTC" {
		return t, nil
	}
	seconds, known := f.fx.Offset(name, t)
	if !known {
		return t, fault(TypeValue, "there is no time zone %.40q; their names are such as \"Europe/Berlin\"", name)
	}
	return t.In(time.FixedZone("", seconds)), nil
}

// secondsOf is a time as programs have it: whole if it is.
func secondsOf(t time.Time) Value {
	if t.Nanosecond() == 0 {
		return t.Unix()
	}
	return float64(t.UnixMicro()) / 1e6
}

func today(f *frame, a []Value) (Value, error) {
	t, err := f.inZone(f.fx.Now().UTC(), a)
	return t.Format(dateForm), err
}

func formatTime(f *frame, a []Value) (Value, error) {
	form := "%Y-%m-%dT%H:%M:%SZ"
	if len(a) > 1 {
		var ok bool
		if form, ok = a[1].(string); !ok {
			return nil, fault(TypeType, "the form of a time is a text such as \"%%Y-%%m-%%d\", and this is %s", kindOf(a[1]))
		}
	}
	t, err := f.timeOf(a[0], a[min(2, len(a)):])
	if err != nil {
		return nil, err
	}
	if err := f.spend(len(form)); err != nil {
		return nil, err
	}
	var b strings.Builder
	err = formed(form, func(letter byte, text string) error {
		switch {
		case letter == 'f': // Go has it behind a point only
			text = t.Format(".000000")[1:]
		case letter == 'Z' && t.Location() != time.UTC:
			text = f.fx.ZoneName(a[2].(string), t)
		case letter != 0:
			text = t.Format(forms[letter])
		}
		b.WriteString(text)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return limited(b.String())
}

// plainTimes are what parse_time reads without a form.
var plainTimes = []string{time.RFC3339Nano, dateForm, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", time.RFC1123Z, time.RFC1123}

// ofUTC are the names by which a text says that it is in UTC.
var ofUTC = map[string]bool{"UTC": true, "GMT": true, "UT": true, "Z": true}

// digits is a text that Go would take for a part of a layout.
var digits = regexp.MustCompile(`[0-9]|[A-Za-z]{3,}|[._,]0|[._,]9`)

func parseTime(f *frame, a []Value) (Value, error) {
	text, ok := a[0].(string)
	if !ok {
		return nil, fault(TypeType, "parse_time takes a text, and gets %s", kindOf(a[0]))
	}
	layouts := plainTimes
	if len(a) > 1 && a[1] != nil {
		form, ok := a[1].(string)
		if !ok {
			return nil, fault(TypeType, "the form of a time is a text such as \"%%Y-%%m-%%d\", and this is %s", kindOf(a[1]))
		}
		layout := ""
		err := formed(form, func(letter byte, text string) error {
			if letter == 'f' || digits.MatchString(text) {
				return fault(TypeValue, "parse_time reads no %%f, digits or words in a form; split the text before")
			}
			layout += text + forms[letter]
			return nil
		})
		if err != nil {
			return nil, err
		}
		layouts = []string{layout}
	}
	if err := f.spend(len(text) / 16); err != nil {
		return nil, err
	}
	for _, layout := range layouts {
		t, err := time.ParseInLocation(layout, strings.TrimSpace(text), time.UTC)
		if err != nil {
			continue
		}
		name, _ := t.Zone()
		switch {
		case strings.Contains(layout, "07"): // it says itself in which zone it is
			return secondsOf(t), nil
		case strings.Contains(layout, "MST") && !ofUTC[name]:
			return nil, fault(TypeValue, "%s in %.60q may be several time zones; leave it out of the text and name one: parse_time(text, form, \"Europe/Berlin\")", name, text)
		case strings.Contains(layout, "MST"):
			return secondsOf(t), nil
		}
		return f.wallClock(t, a[min(2, len(a)):])
	}
	return nil, fault(TypeValue, "%.60q is no time in this form", text)
}

// wallClock is the time at which the clocks of a zone show what t shows, by the rule of
// schedules: the first time if they show it twice, and that at which they go on if they
// leave it out.
func (f *frame) wallClock(t time.Time, zone []Value) (Value, error) {
	before, err := f.inZone(t.Add(-wall.Day*time.Second), zone)
	if err != nil {
		return nil, err
	}
	after, err := f.inZone(t.Add(wall.Day*time.Second), zone)
	if err != nil {
		return nil, err
	}
	_, offset := before.Zone()
	if _, other := after.Zone(); other != offset {
		at := f.fx.Instant(zone[0].(string), t.Unix())
		return secondsOf(at.Add(time.Duration(t.Nanosecond()))), nil
	}
	return secondsOf(t.Add(-time.Duration(offset) * time.Second)), nil
}

// addTime adds to a time, or to a date, which is a text and gives one.
func addTime(f *frame, a []Value) (Value, error) {
	n, whole := a[1].(int64)
	unit, text := a[2].(string)
	if !whole || !text || n > 4e11 || n < -4e11 {
		return nil, fault(TypeType, "add_time takes a whole number and a unit: add_time(now(), 3, \"days\")")
	}
	date, isDate := a[0].(string)
	var t time.Time
	var err error
	if isDate {
		if t, err = time.Parse(dateForm, date); err != nil {
			return nil, fault(TypeValue, "%.40q is no date; a date is a text such as \"2026-01-31\"", date)
		}
	} else if t, err = f.timeOf(a[0], a[3:]); err != nil {
		return nil, err
	}
	unit = strings.TrimSuffix(unit, "s")
	seconds := map[string]int64{"second": 1, "minute": 60, "hour": 3600}[unit]
	days := map[string]int64{"day": 1, "week": 7}[unit]
	months := map[string]int64{"month": 1, "year": 12}[unit]
	switch {
	case seconds > 0 && isDate:
		return nil, fault(TypeValue, "to a date days, weeks, months and years are added, and not %.20s", unit)
	case seconds > 0:
		t = time.Unix(t.Unix()+n*seconds, int64(t.Nanosecond())).UTC()
	case days > 0 && n < 4e6 && n > -4e6:
		t = t.AddDate(0, 0, int(n*days))
	case months > 0 && n < 2e5 && n > -2e5:
		day := t.Day()
		t = t.AddDate(0, int(n*months), 1-day) // the first of that month
		last := t.AddDate(0, 1, -1).Day()
		t = t.AddDate(0, 0, min(day, last)-1)
	default:
		return nil, fault(TypeValue, "add_time adds seconds, minutes, hours, days, weeks, months or years within the years up to %d, and not %d %.20s", maxYear, n, unit)
	}
	switch {
	case t.Year() < 0 || t.Year() > maxYear:
		return nil, fault(TypeValue, "the time is beyond the year %d", maxYear)
	case isDate:
		return t.Format(dateForm), nil
	case seconds > 0 || len(a) < 4:
		return secondsOf(t), nil
	}
	shown := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	return f.wallClock(shown, a[3:])
}

// Zones are the parts of Effects that tell of time zones, by what the database of this
// process says at the moment.
type Zones struct{}

// Offset is that of Effects.
func (Zones) Offset(zone string, at time.Time) (seconds int, known bool) {
	place := location(zone)
	if place == nil {
		return 0, false
	}
	_, seconds = at.In(place).Zone()
	return seconds, true
}

// Instant is that of Effects.
func (Zones) Instant(zone string, at int64) time.Time {
	if place := location(zone); place != nil {
		return wall.Instant(at, place)
	}
	return time.Unix(at, 0)
}

// ZoneName is that of Effects.
func (Zones) ZoneName(zone string, at time.Time) string {
	if place := location(zone); place != nil {
		zone, _ = at.In(place).Zone()
	}
	return zone
}

func location(zone string) *time.Location {
	if zone == "" || zone == "Local" {
		return nil
	}
	place, err := time.LoadLocation(zone)
	if err != nil {
		return nil
	}
	return place
}
