package schedule_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/schedule"
)

func times(t *testing.T, s schedule.Spec) *schedule.Times {
	t.Helper()
	all, err := s.Times()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// expectTimes demands the nominal times after a moment, as a clock in a zone shows
// them.
func expectTimes(t *testing.T, s schedule.Spec, after string, want ...string) {
	t.Helper()
	from, err := time.Parse(time.RFC3339, after)
	if err != nil {
		t.Fatal(err)
	}
	zone, err := time.LoadLocation(s.TimeZone)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, at := range times(t, s).Upcoming(from, len(want)) {
		got = append(got, at.In(zone).Format("2006-01-02 15:04 -07"))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q in %q after %s is\n  %s\nwant\n  %s", s.Cron, s.TimeZone, after, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// TestE49_DaylightSaving: a time that a clock shows twice is fired the first time, one
// that it leaves out when it goes on, and none twice.
func TestE49_DaylightSaving(t *testing.T) {
	const paris, newYork, lordHowe, saoPaulo, apia = "Europe/Paris", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia"
	cron := func(zone, text string) schedule.Spec { return schedule.Spec{Cron: text, TimeZone: zone} }

	// Paris leaves 02:00 to 03:00 out on 2026-03-29, and shows it twice on 2026-10-25.
	expectTimes(t, cron(paris, "30 2 * * *"), "2026-03-27T12:00:00Z", "2026-03-28 02:30 +01", "2026-03-29 03:00 +02", "2026-03-30 02:30 +02")
	expectTimes(t, cron(paris, "*/30 2,3 * * *"), "2026-03-29T00:00:00Z", "2026-03-29 03:00 +02", "2026-03-29 03:30 +02", "2026-03-30 02:00 +02")
	expectTimes(t, cron(paris, "30 2 * * *"), "2026-10-24T12:00:00Z", "2026-10-25 02:30 +02", "2026-10-26 02:30 +01")
	expectTimes(t, cron(paris, "*/30 * * * *"), "2026-10-24T23:45:00Z", "2026-10-25 02:00 +02", "2026-10-25 02:30 +02", "2026-10-25 03:00 +01", "2026-10-25 03:30 +01")
	// Asked in the second of the two hours, it tells none of the first.
	expectTimes(t, cron(paris, "*/30 * * * *"), "2026-10-25T01:10:00Z", "2026-10-25 03:00 +01")

	expectTimes(t, cron(newYork, "15 1 * * *"), "2026-10-31T12:00:00Z", "2026-11-01 01:15 -04", "2026-11-02 01:15 -05")
	expectTimes(t, cron(newYork, "0 2 8 3 *"), "2026-01-01T00:00:00Z", "2026-03-08 03:00 -04", "2027-03-08 02:00 -05")
	// A clock that moves by half an hour.
	expectTimes(t, cron(lordHowe, "*/15 2 * * *"), "2026-10-03T12:00:00Z", "2026-10-04 02:30 +11", "2026-10-04 02:45 +11", "2026-10-05 02:00 +11")
	expectTimes(t, cron(lordHowe, "45 1 * * *"), "2026-04-04T00:00:00Z", "2026-04-05 01:45 +11", "2026-04-06 01:45 +10")
	// Midnight is left out.
	expectTimes(t, cron(saoPaulo, "@daily"), "2018-11-02T12:00:00Z", "2018-11-03 00:00 -03", "2018-11-04 01:00 -02", "2018-11-05 00:00 -02")
	// A whole day is.
	expectTimes(t, cron(apia, "0 12 * * *"), "2011-12-29T12:00:00Z", "2011-12-29 12:00 -10", "2011-12-31 00:00 +14", "2011-12-31 12:00 +14")
}

// TestE49_TheEndOfTime: after the last time that there can be there is none, and never an early one.
func TestE49_TheEndOfTime(t *testing.T) {
	const year = 365 * 24 * time.Hour
	late := time.Unix(8_000_000_000, 0)
	for range 20 {
		for every := 10 * year; every <= 200*year; every += 10 * year {
			if next := times(t, schedule.Spec{Every: every}).Next(late); !next.IsZero() && next.Before(late) {
				t.Fatalf("every %s: %s comes after %s", every, next, late)
			}
		}
		late = late.Add(50_000_000 * time.Second)
	}
}

func TestCronFields(t *testing.T) {
	cron := func(text string) schedule.Spec { return schedule.Spec{Cron: text} }
	expectTimes(t, cron("0 9 * * MON-FRI"), "2026-11-20T09:00:00Z", "2026-11-23 09:00 +00", "2026-11-24 09:00 +00")
	expectTimes(t, cron("0 0 13 * FRI"), "2026-11-01T00:00:00Z", "2026-11-06 00:00 +00", "2026-11-13 00:00 +00", "2026-11-20 00:00 +00")
	expectTimes(t, cron("0 0 29 2 *"), "2096-03-01T00:00:00Z", "2104-02-29 00:00 +00") // 2100 is no leap year
	expectTimes(t, cron("@monthly"), "2026-11-01T00:00:00Z", "2026-12-01 00:00 +00")
	expectTimes(t, schedule.Spec{Every: 90 * time.Minute, Offset: 10 * time.Minute}, "2026-11-22T00:10:00Z", "2026-11-22 01:40 +00", "2026-11-22 03:10 +00")
	expectTimes(t, schedule.Spec{Every: time.Hour}, "1969-12-31T23:30:00Z", "1970-01-01 00:00 +00")
}

// TestE49_SpecsAreRefusedInWords: what a schedule could not do is refused, each fault
// by its field.
func TestE49_SpecsAreRefusedInWords(t *testing.T) {
	for want, s := range map[string]schedule.Spec{
		"schedule: Cron is empty, and so is Every; one of them says when to fire":    {},
		"schedule: Every is set beside Cron; make two schedules of it":               {Cron: "@daily", Every: time.Hour},
		"schedule: Every is 1ms; it is at least 1s":                                  {Every: time.Millisecond},
		"schedule: Every is -1h0m0s; it is at least 1s":                              {Every: -time.Hour},
		"schedule: Offset is 1h0m0s; it is zero or more, and less than Every":        {Every: time.Hour, Offset: time.Hour},
		"schedule: TimeZone is set, but an interval is counted in UTC":               {Every: time.Hour, TimeZone: "Europe/Paris"},
		"schedule: Offset is set beside Cron; it belongs to Every":                   {Cron: "@daily", Offset: 1},
		`schedule: Cron is "TZ=UTC"; the time zone belongs into TimeZone`:            {Cron: "TZ=UTC"},
		`schedule: Cron is "@every 1h"; an interval belongs into Every`:              {Cron: "@every 1h"},
		`schedule: Cron is "* * * *": expected exactly 5 fields, found 4`:            {Cron: "* * * *"},
		`schedule: Cron is "61 * * * *": end of range (61) above maximum (59)`:       {Cron: "61 * * * *"},
		`schedule: Cron is ", * * * *", of which a field names nothing`:              {Cron: ", * * * *"},
		`schedule: Cron is "0 0 31 2 *", a day that there is in no year`:             {Cron: "0 0 31 2 *"},
		`schedule: TimeZone is "Mars/Olympus", which is not known here`:              {Cron: "@daily", TimeZone: "Mars/Olympus"},
		`schedule: TimeZone is "Local", which differs between machines`:              {Cron: "@daily", TimeZone: "Local"},
		"schedule: Jitter is -1s; it is zero or more":                                {Cron: "@daily", Jitter: -time.Second},
		"schedule: CatchUp is 1s; it is at least 10s":                                {Cron: "@daily", CatchUp: time.Second},
		`schedule: Overlap is "queue"; it is skip, buffer_one, buffer_all, cancel_o`: {Cron: "@daily", Overlap: "queue"},
	} {
		err := s.Validate()
		fault := (*schedule.SpecError)(nil)
		if err == nil || !strings.HasPrefix(err.Error(), want) || !errors.As(err, &fault) {
			t.Errorf("%+v: got %v\nwant %s", s, err, want)
		}
	}
	if err := (schedule.Spec{Cron: "x", TimeZone: "y", Jitter: -1}).Validate(); strings.Count(err.Error(), "schedule: ") != 3 {
		t.Errorf("not each fault is named: %v", err)
	}
}

// FuzzSpec: no text makes a parser panic or a time come twice or go back.
func FuzzSpec(f *testing.F) {
	f.Add("*/5 1-3,7 * JAN-MAR mon", "Europe/Paris", int64(1_774_745_000), int64(0), int64(0))
	f.Add("", "", int64(-5), int64(time.Hour), int64(time.Minute))
	f.Add("@daily", "America/Sao_Paulo", int64(1_541_000_000), int64(0), int64(0))
	f.Add("TZ=", "", int64(0), int64(0), int64(0))
	f.Fuzz(func(t *testing.T, cron, zone string, after, every, offset int64) {
		s := schedule.Spec{Cron: cron, TimeZone: zone, Every: time.Duration(every), Offset: time.Duration(offset)}
		all, err := s.Times()
		if (err == nil) != (s.Validate() == nil) {
			t.Fatalf("Times says %v, Validate %v", err, s.Validate())
		}
		if err != nil {
			return
		}
		at := time.Unix(after%10_000_000_000, 0)
		for range 50 {
			next := all.Next(at)
			if next.IsZero() {
				return
			}
			if !next.After(at) {
				t.Fatalf("%s follows %s", next, at)
			}
			at = next
		}
	})
}

func ExampleSpec_Times() {
	spec := schedule.Spec{Cron: "30 2 * * *", TimeZone: "Europe/Paris"}
	times, err := spec.Times()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, at := range times.Upcoming(time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC), 3) {
		fmt.Println(at.Format(time.RFC3339))
	}
	// Output:
	// 2026-03-28T01:30:00Z
	// 2026-03-29T01:00:00Z
	// 2026-03-30T00:30:00Z
}
