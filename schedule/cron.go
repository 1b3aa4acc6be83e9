package schedule

import (
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// expression is a cron expression. Of the library only the parser is used, and its
// search for the next time on a clock that has no zone: what a zone makes of that is
// decided in instant.
type expression struct{ fields *cron.SpecSchedule }

var parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// maxCron is how long an expression may be, in bytes.
const maxCron = 1000

// parseCron reads an expression. What the library would understand and this package
// says otherwise (TZ=, @every) is refused, as is what names no time.
func parseCron(text string) (*expression, error) {
	switch {
	case len(text) > maxCron:
		return nil, wrong("Cron", "is %d bytes long; the limit is %d", len(text), maxCron)
	case strings.Contains(text, "="):
		return nil, wrong("Cron", "is %q; the time zone belongs into TimeZone", text)
	case strings.HasPrefix(text, "@every"):
		return nil, wrong("Cron", "is %q; an interval belongs into Every", text)
	}
	parsed, err := parser.Parse(text)
	if err != nil {
		return nil, wrong("Cron", "is %q: %v; it has five fields: minute, hour, day of month, month, day of week", text, err)
	}
	fields, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, wrong("Cron", "is %q, which is not an expression of five fields", text)
	}
	const star = 1 << 63 // says only that the field was one
	for _, bits := range []uint64{fields.Minute, fields.Hour, fields.Dom, fields.Month, fields.Dow} {
		if bits&^star == 0 {
			return nil, wrong("Cron", "is %q, of which a field names nothing", text)
		}
	}
	fields.Location = time.UTC
	x := &expression{fields}
	if _, ok := x.next(0); !ok {
		return nil, wrong("Cron", "is %q, a day that there is in no year", text)
	}
	return x, nil
}

// next is the first time on the wall after another one. The library looks at five
// years; 29 February may be eight years off.
func (x *expression) next(wall int64) (int64, bool) {
	at := time.Unix(wall, 0).UTC()
	for range 3 {
		if next := x.fields.Next(at); !next.IsZero() {
			return next.Unix(), true
		}
		at = at.AddDate(5, 0, 0)
	}
	return 0, false
}
