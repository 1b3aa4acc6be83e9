// Package schedule says when workflows are to be started over and over: by a cron
// expression or an interval, and what happens if a start would overlap with the one
// before, or was missed.
//
//	perdure.Schedule(ctx, eng, "nightly-report", Report, input, schedule.Spec{
//		Cron: "30 2 * * *", TimeZone: "Europe/Paris", Jitter: 5 * time.Minute,
//	})
//
// A [Spec] is plain data. Its times are nominal: [Spec.Times] tells which they are,
// without any engine. What happens at such a time is a fire; it starts the workflow
// ID "name/2026-11-22T01:30:00Z", the nominal time in UTC, so a time is fired once.
//
// # Time zones
//
// A cron expression is about the clock on the wall of its time zone, UTC if it names
// none. Each time of that clock is at most one nominal time:
//
//   - In the hour that a clock shows twice, when summer time ends, the first of the
//     two counts.
//   - A time that a clock leaves out, when summer time begins, is moved to the moment
//     at which it goes on: "30 2 * * *" is then fired at 3:00, and is one with
//     whatever else falls on that moment.
//
// So "0 * * * *" pauses for two hours once a year in such a zone. What must be steady
// belongs into UTC, or is an interval.
//
// The database of time zones is linked into the program, for machines without one. A
// machine's own is preferred, and nodes that disagree about a zone fire as the one
// that serves the schedule sees it.
//
// # Intervals
//
// Every counts from 1970-01-01T00:00:00Z, plus Offset: an interval of an hour fires
// on the hour in UTC, whenever the schedule was made.
package schedule
